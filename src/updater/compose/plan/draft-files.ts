import {
  draftOf,
  type ProjectDraft,
  withEdits,
  withText,
  withVariable,
} from '../../../core/compose/draft.ts';
import type { Edit } from '../../../core/compose/edit.ts';
import { findPin } from '../../../core/compose/find-pin.ts';
import type { Pin } from '../../../core/compose/pin.ts';
import { movedReference, pinEdits } from '../../../core/compose/pin-edits.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import type { Image } from '../../../engine/container.ts';
import type { Installation } from '../inspect/installation.ts';
import { isOverride, type Move, movesOf, type UpdatePlan } from './plan-update.ts';
import type { ReleaseText } from './release-texts.ts';

/** What is known once the images are pulled. */
export interface PulledFacts {
  /** Local images by the references of the moves. */
  images: ReadonlyMap<string, Image>;
  /** The files that a generated install takes from the release. */
  release: readonly ReleaseText[];
}

/** The new project files, before compose has resolved them. */
export interface FileDraft extends ProjectDraft {
  edits: readonly Edit[];
  /** The complete new image reference of each service. */
  references: ReadonlyMap<string, string>;
}

/** Whether the changes depend on the pulled images. */
export const needsImages = (installation: Installation, plan: UpdatePlan): boolean =>
  installation.kind === 'generated' || movesOf(plan).some(({ pin }) => pin.reference.digest !== null);

/**
 * Computes all file changes without writing them.
 * Refusals: release-file; pin-unsupported, also if there is no new digest for a pinned one.
 */
export function draftFiles(installation: Installation, plan: UpdatePlan, pulled: PulledFacts): FileDraft {
  const { kind, files, versionVariable } = installation;
  const moves = movesOf(plan);
  const released = pulled.release.reduce(
    (draft, { path, text, description }) => withText(draft, { path, text }, description, 'linkedFiles'),
    draftOf(files),
  );
  const begun =
    kind === 'generated' && plan.target ? withVariable(released, versionVariable, plan.target.tag) : released;
  const edits = pinEdits(
    begun.files,
    moves.flatMap((move) => {
      const pin = pinOf(begun, installation, move.service);
      if (kind === 'generated' && !isOverride(installation, pin)) return [];
      const moved = { pin, tag: move.tag, ...newDigest(pin, move, pulled.images) };
      const { tag, digest } = pin.reference;
      return moved.tag === (tag ?? 'latest') && (moved.digest ?? null) === digest ? [] : [moved];
    }),
  );
  const draft = withEdits(begun, edits);
  const references = new Map(
    moves.map((move) => [move.service, expectedReference(draft, installation, move, pulled.images)] as const),
  );
  return { ...draft, edits, references };
}

/** The image that a service must resolve to; only a generated file may change the repository. */
function expectedReference(
  draft: ProjectDraft,
  installation: Installation,
  move: Move,
  images: ReadonlyMap<string, Image>,
): string {
  if (installation.kind === 'generated') return pinOf(draft, installation, move.service).referenceText;
  return movedReference({ ...move, ...newDigest(move.pin, move, images) });
}

/** The pin in the new files. Refusal: release-file, if the new file has no such service. */
function pinOf(draft: ProjectDraft, { kind }: Installation, service: string): Pin {
  try {
    return findPin(draft.files, service);
  } catch (error) {
    if (kind !== 'generated' || !(error instanceof UpdateError) || error.code !== 'no-app') throw error;
    throw new UpdateError(
      'release-file',
      `the release's compose file has no service ${service}, which is running here`,
    );
  }
}

/** The digest of the new release, if the pin has a digest. */
function newDigest(pin: Pin, move: Move, images: ReadonlyMap<string, Image>): { digest?: string } {
  if (pin.reference.digest === null) return {};
  const image = images.get(move.to);
  const digests = image?.digests.map((text) => text.split('@')) ?? [];
  const { repository } = pin.reference;
  const own = digests.filter(([name]) => name === repository || name?.endsWith(`/${repository}`));
  if (image?.isUnclear && own.length > 1) {
    const message = `Podman has ${own.length} digests for ${move.to} and does not report which one belongs to the tag`;
    const advice = 'Set the new tag and its digest manually, or remove @sha256:… from the pin.';
    throw new UpdateError('pin-unsupported', message, { advice });
  }
  const [, digest] = own[0] ?? digests[0] ?? [];
  if (digest !== undefined) return { digest };
  throw new UpdateError(
    'pin-unsupported',
    `the engine has no digest for ${move.to}, but ${pin.place.description} pins a digest`,
    {
      advice:
        'Remove @sha256:… from the pin, or use the containerd image store: only that store has digests for loaded images.',
    },
  );
}
