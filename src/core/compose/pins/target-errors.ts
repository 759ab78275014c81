import { UpdateError } from '../../errors/update-error.ts';
import type { ReleaseTarget } from '../../release/target.ts';
import { formatApplyTagAdvice, formatTagLocations, type Pin } from './pin.ts';

const createTargetError = (message: string, advice: string): UpdateError =>
  new UpdateError('pin-unsupported', message, { advice });

/** Matches the floating tag in any variant: `--target stable` also matches `stable-alpine`. */
export const isPinnedToFloatingTag = ({ tag }: Pin, word: string): boolean =>
  tag.text === word || (tag.kind === 'word' && tag.text === `${word}${tag.suffix}`);

export const createFloatingTagMismatchError = (pin: Pin, word: string, option = '--target'): UpdateError =>
  createTargetError(
    `${pin.service} is pinned to ${pin.tag.text} (${pin.location.description}), not to ${word}`,
    `Specify a release with ${option}, or set the tag ${word} manually, ${formatApplyTagAdvice(pin)}.`,
  );

export const createUnversionedTargetError = (pins: readonly Pin[], tag: string): UpdateError =>
  createTargetError(
    `${tag} is not a version and cannot be compared with the running version`,
    `Set the tag manually (${formatTagLocations(pins)}), ${pins.slice(0, 1).map(formatApplyTagAdvice)}.`,
  );

/** @param pins - the pins of all updated services */
export const createUnversionedPinError = (
  pin: Pin,
  target: ReleaseTarget,
  pins: readonly Pin[],
): UpdateError =>
  createTargetError(
    `${pin.service} is pinned to ${pin.tag.text} (${pin.location.description}), which is not a version and cannot be compared with ${target.tag}`,
    `Set the new tag manually (${formatTagLocations(pins)}), ${formatApplyTagAdvice(pin)}.`,
  );

export const createVariantMismatchError = (
  pin: Pin,
  { tag: requested, lead = '', suffix = '' }: ReleaseTarget,
): UpdateError =>
  createTargetError(
    `${pin.service} is pinned to ${pin.tag.text} (${pin.location.description}), but ${requested} is a different variant`,
    `Specify the release without ${[lead, suffix].filter(Boolean).join(' and ')}: each pin keeps its own variant. To change the variant, set the tag manually, ${formatApplyTagAdvice(pin)}.`,
  );

export const createDowngradeError = ({ service, tag, location }: Pin, target: ReleaseTarget): UpdateError =>
  new UpdateError(
    'downgrade',
    `${target.tag} is older than ${tag.text}, which ${service} is pinned to (${location.description})`,
  );
