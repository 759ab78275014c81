import { UpdateError } from '../progress/update-error.ts';
import type { ReleaseTarget } from '../release/target.ts';
import type { Pin } from './pin.ts';

const byHand = 'then docker compose pull && docker compose up -d';

const refused = (message: string, advice: string): UpdateError =>
  new UpdateError('pin-unsupported', message, { advice });

/** `--target stable` means what is pinned to it, in whatever variant. */
export const isPinnedTo = ({ tag }: Pin, word: string): boolean =>
  tag.text === word || (tag.kind === 'word' && tag.text === `${word}${tag.suffix}`);

export const notPinnedTo = ({ service, tag, place }: Pin, word: string, option = '--target'): UpdateError =>
  refused(
    `${service} is at ${tag.text} (${place.description}), not at ${word}`,
    `Name a release with ${option}; or write ${word} there by hand, ${byHand}.`,
  );

export const noVersion = ({ place }: Pin, tag: string): UpdateError =>
  refused(
    `${tag} is no version: whether it is newer than what runs cannot be told`,
    `Write it by hand (${place.description}), ${byHand}.`,
  );

export const unversionedPin = ({ service, tag, place }: Pin, target: ReleaseTarget): UpdateError =>
  refused(
    `${service} is pinned to ${tag.text} (${place.description}), which is no version: whether ${target.tag} is newer cannot be told`,
    `Write the new tag there by hand, ${byHand}.`,
  );

export const otherVariant = (
  { service, tag, place }: Pin,
  { tag: asked, lead = '', suffix = '' }: ReleaseTarget,
): UpdateError =>
  refused(
    `${asked} is not of the variant of ${service}, which is at ${tag.text} (${place.description})`,
    `Name the release without ${[lead, suffix].filter(Boolean).join(' and ')}: each pin keeps its own variant; or write the other variant there by hand, ${byHand}.`,
  );

export const partIsNewer = ({ service, tag, place }: Pin, target: ReleaseTarget): UpdateError =>
  new UpdateError(
    'downgrade',
    `${target.tag} is older than ${tag.text}, which ${service} is at (${place.description})`,
  );
