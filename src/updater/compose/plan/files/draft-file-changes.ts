import {
  applyEditsToDraft,
  createDraft,
  type ProjectDraft,
  setDraftFileText,
  setDraftVariable,
} from '../../../../core/compose/draft.ts';
import { isPinShared, requirePin } from '../../../../core/compose/pins/find-pin.ts';
import type { Pin } from '../../../../core/compose/pins/pin.ts';
import { planPinEdits, updatedReferenceOf } from '../../../../core/compose/pins/plan-pin-edits.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import type { Image } from '../../../../engine/objects/container.ts';
import type { ServiceUpdate } from '../../../plan/release-plan.ts';
import { type InspectedProject, updatedServicesOf } from '../../inspect/installation.ts';
import {
  type ExpectedModelChanges,
  listVariableLocations,
  listVariableSubstitutions,
} from '../../verify-edit/compare-models.ts';
import { isPinInUserFile, type PlannedProject } from '../plan-update.ts';
import type { ComposeFileReplacement } from '../release/plan-compose-file-replacements.ts';

/** Whether the file changes depend on the pulled images. */
export const hasChangesFromPulledImages = ({ installation, updates }: PlannedProject): boolean =>
  installation.kind === 'generated' || updates.some(({ pin }) => pin.reference.digest !== null);

/**
 * Computes all file changes, and the resulting changes in compose's model. Writes nothing.
 * @param images - the local images, keyed by the references in the plan
 * @param release - the release's files, if the installation is generated
 * @throws UpdateError release-file; pin-unsupported, for example if a pinned digest cannot be replaced
 */
export function draftFileChanges(
  { installation, target, updates }: PlannedProject,
  images: ReadonlyMap<string, Image> = new Map(),
  release: readonly ComposeFileReplacement[] = [],
): { draft: ProjectDraft; expected: ExpectedModelChanges } {
  const { kind, files, versionVariable } = installation;
  const released = release.reduce(
    (draft, { path, text, description }) =>
      setDraftFileText(draft, { path, text }, description, 'linkedFiles'),
    createDraft(files),
  );
  const begun =
    kind === 'generated' && target ? setDraftVariable(released, versionVariable, target.tag) : released;
  const edits = planPinEdits(
    begun.files,
    updates.flatMap((update) => {
      const pin = pinOf(begun, installation, update.service);
      if (pin === null) return [];
      if (kind === 'generated' && !isPinInUserFile(installation, pin)) return [];
      const moved = { pin, tag: update.tag, ...newDigest(pin, update, images) };
      const { tag, digest } = pin.reference;
      return moved.tag === (tag ?? 'latest') && (moved.digest ?? null) === digest ? [] : [moved];
    }),
  );
  const draft = applyEditsToDraft(begun, edits);
  const pins = updatedServicesOf(installation).map(({ pin }) => pin);
  const expected: ExpectedModelChanges = {
    images: new Map(
      updates.flatMap((update) => {
        const reference = expectedReference(draft, installation, update, images);
        return reference === null ? [] : [[update.service, reference] as const];
      }),
    ),
    substitutions: listVariableSubstitutions(draft.files, edits),
    variableLocations: listVariableLocations(draft.files, edits),
    hasSharedPin: (service) => isPinShared(files, service, pins),
  };
  return { draft, expected };
}

/**
 * Returns a service's new image reference; null if the release no longer has the service. Only a release's compose file
 * may change the repository.
 */
function expectedReference(
  draft: ProjectDraft,
  installation: InspectedProject,
  update: ServiceUpdate,
  images: ReadonlyMap<string, Image>,
): string | null {
  if (installation.kind === 'generated')
    return pinOf(draft, installation, update.service)?.referenceText ?? null;
  return updatedReferenceOf({ ...update, ...newDigest(update.pin, update, images) });
}

/**
 * Finds a service's pin in the new files; null if the release no longer has the service.
 * @throws UpdateError release-file if this service is the app
 */
function pinOf(draft: ProjectDraft, { kind, app }: InspectedProject, service: string): Pin | null {
  try {
    return requirePin(draft.files, service);
  } catch (error) {
    if (kind !== 'generated' || !(error instanceof UpdateError)) throw error;
    // If an override file still contains the service, compose will reject the files.
    if (service !== app.name && ['no-app', 'compose-invalid'].includes(error.code)) return null;
    if (error.code !== 'no-app') throw error;
    const message = `the release's compose file has no service ${service}, which is running here`;
    throw new UpdateError('release-file', message);
  }
}

/** Returns an empty object if the pin contains no digest. */
function newDigest(pin: Pin, update: ServiceUpdate, images: ReadonlyMap<string, Image>): { digest?: string } {
  if (pin.reference.digest === null) return {};
  const image = images.get(update.to);
  const digests = image?.digests.map((text) => text.split('@')) ?? [];
  const { repository } = pin.reference;
  const own = digests.filter(([name]) => name === repository || name?.endsWith(`/${repository}`));
  if (image?.isUnclear && own.length > 1) {
    const message = `Podman has ${own.length} digests for ${update.to} and does not report which one belongs to the tag`;
    const advice = 'Set the new tag and its digest manually, or remove @sha256:… from the pin.';
    throw new UpdateError('pin-unsupported', message, { advice });
  }
  const [, digest] = own[0] ?? digests[0] ?? [];
  if (digest !== undefined) return { digest };
  const message = `the engine has no digest for ${update.to}, but ${pin.location.description} pins a digest`;
  const advice =
    'Remove @sha256:… from the pin, or use the containerd image store, the only store that has digests for images loaded from an archive.';
  throw new UpdateError('pin-unsupported', message, { advice });
}
