import { type Change, type Draft, draftOf, withEdits, withVariable } from '../../compose/draft.ts';
import type { Edit } from '../../compose/edit.ts';
import { findPin, sharesPin } from '../../compose/find-pin.ts';
import type { Pin } from '../../compose/pin.ts';
import { movedReference, pinEdits } from '../../compose/pin-edits.ts';
import type { Model } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { compareVersions, isMajorChange } from '../../release/order.ts';
import { versionFromLabel } from '../../release/tag.ts';
import type { Installation } from '../inspect/installation.ts';
import { modelWith } from '../proof/proposed-model.ts';
import { type Expected, prove, refuseUnproven, substitutionsOf } from '../proof/prove.ts';
import { checkGenerated } from './generated.ts';
import { isOverride, type Move, majorAdvice, type UpdatePlan } from './plan-update.ts';
import { takeReleaseFiles } from './take-release-files.ts';

/** The second half of a plan: what only the pulled image can tell. */
export interface FilePlan {
  changes: readonly Change[];
  /** The model the instance will have. */
  model: Model;
  /** Image references of the moved services in that model. */
  references: ReadonlyMap<string, string>;
  /** `1.5.0` where the new app image's label says so. */
  version: string | null;
  warnings: readonly string[];
  /** Services that share a pin and move with their next recreate. */
  alsoMoved: readonly string[];
  /** Services that the new file brings; they are not started. */
  newServices: readonly string[];
}

/** Whether only the pulled images can tell what is to be written. */
export const needsImages = (installation: Installation, plan: UpdatePlan): boolean =>
  installation.kind === 'generated' || plan.moves.some(({ pin }) => pin.reference.digest !== null);

/** The model that the instance will have, for those who have nothing else to do yet; null where images must tell first. */
export async function askModelEarly(installation: Installation, plan: UpdatePlan): Promise<Model | null> {
  if (needsImages(installation, plan)) return null;
  const { draft } = editPins(draftOf(installation.files), installation, plan.moves, new Map());
  return draft.changes.length === 0 ? null : draftModel(installation, draft);
}

const draftModel = ({ compose }: Installation, { files, changes }: Draft): Promise<Model> =>
  modelWith(
    compose,
    files,
    changes.map(({ path }) => path),
  );

/**
 * Decides every byte to be written, and proves it by compose's own model; touches nothing.
 * `images` are the local images behind the moves' references, `backup` is where files will be kept, for people, `ahead` is
 * what `modelAhead` gave.
 * Refusals: downgrade, release-file, no-marker, shared-definition. Failure: proof-failed.
 */
export async function planFiles(
  engine: Engine,
  installation: Installation,
  plan: UpdatePlan,
  images: ReadonlyMap<string, Image>,
  backup: string,
  ahead: Promise<Model | null> = Promise.resolve(null),
): Promise<FilePlan> {
  const appImage = images.get(plan.moves[0]?.to ?? '');
  const version = versionFromLabel(appImage?.labels[versionLabel]);
  const { runningVersion } = installation;
  if (version && runningVersion && compareVersions(version, runningVersion) < 0) {
    throw new UpdateError(
      'downgrade',
      `${plan.moves[0]?.to} is v${version}, older than v${runningVersion}, which runs`,
    );
  }
  const major = floatingMajorWarnings(plan, runningVersion, version);
  const warnings: string[] = [];
  let begun = draftOf(installation.files);
  if (installation.kind === 'generated' && appImage) {
    const taken = await takeReleaseFiles(engine, installation, appImage, backup);
    warnings.push(...taken.warnings);
    begun = plan.target
      ? withVariable(taken.draft, installation.versionVariable, plan.target.tag)
      : taken.draft;
  }
  const { draft, edits } = editPins(begun, installation, plan.moves, images);
  const planned: Expected = {
    images: plannedImages(draft, installation, plan.moves, images),
    substitutions: substitutionsOf(draft.files, edits),
    shares: (service) => sharesPin(installation.files, service, installation.pins),
  };
  if (draft.changes.length === 0) {
    return {
      ...imagesAfter(installation, installation.model, planned.images),
      changes: [],
      version,
      warnings: major,
      alsoMoved: [],
      newServices: [],
    };
  }
  const model =
    (await ahead) ??
    (await draftModel(installation, draft).catch((error) => {
      if (installation.kind !== 'generated' || !(error instanceof UpdateError)) throw error;
      throw new UpdateError('release-file', `with the release's compose file ${error.message}`, {
        detail: error.detail,
        cause: error,
      });
    }));
  const proof = prove(installation.model, model, planned);
  if (installation.kind === 'generated') checkGenerated(installation, model, planned, plan.moves);
  else refuseUnproven(proof, draft.files, edits);
  const moved = new Set([
    ...plan.moves.map(({ service }) => service),
    ...installation.followers.map(({ name }) => name),
  ]);
  return {
    ...imagesAfter(installation, model, planned.images),
    changes: draft.changes,
    version,
    warnings: [...warnings, ...major],
    alsoMoved: proof.alsoMoved.filter((name) => !moved.has(name)),
    newServices: Object.keys(model.services).filter((name) => !(name in installation.model.services)),
  };
}

/** A floating tag tells only after the pull that it brings a new major version. */
function floatingMajorWarnings(plan: UpdatePlan, from: string | null, to: string | null): string[] {
  if (plan.target?.kind === 'release' || !from || !to) return [];
  return isMajorChange(from, to) ? [majorAdvice(from, to)] : [];
}

/** The image of a follower moves, too, where it shares the pin: it is recreated with the service it follows. */
function imagesAfter(
  { followers, model: before }: Installation,
  model: Model,
  planned: ReadonlyMap<string, string>,
): Pick<FilePlan, 'model' | 'references'> {
  const image = (name: string) => model.services[name]?.image;
  const moved = followers.filter(({ name }) => image(name) !== before.services[name]?.image);
  const names = [...planned.keys(), ...moved.map(({ name }) => name)];
  return {
    model,
    references: new Map(names.map((name) => [name, image(name) ?? planned.get(name) ?? ''] as const)),
  };
}

function editPins(
  draft: Draft,
  installation: Installation,
  moves: readonly Move[],
  images: ReadonlyMap<string, Image>,
): { draft: Draft; edits: Edit[] } {
  const edits = pinEdits(
    draft.files,
    moves.flatMap((move) => {
      const pin = pinOf(draft, installation, move.service);
      if (installation.kind === 'generated' && !isOverride(installation, pin)) return [];
      const digest = newDigest(pin, move, images);
      const tag = pin.reference.tag ?? 'latest';
      if (tag === move.tag && (digest === undefined || digest === pin.reference.digest)) return [];
      return [{ pin, tag: move.tag, ...(digest === undefined ? {} : { digest }) }];
    }),
  );
  return { draft: withEdits(draft, edits), edits };
}

/** The pin in the files as they will be. Refusal: release-file, where the new file has no such service. */
function pinOf(draft: Draft, { kind }: Installation, service: string): Pin {
  try {
    return findPin(draft.files, service);
  } catch (error) {
    if (kind !== 'generated' || !(error instanceof UpdateError) || error.code !== 'no-app') throw error;
    throw new UpdateError(
      'release-file',
      `the release's compose file has no service ${service}, which this install runs`,
    );
  }
}

/** The digest of the new release where the pin carries one. */
function newDigest(pin: Pin, move: Move, images: ReadonlyMap<string, Image>): string | undefined {
  if (pin.reference.digest === null) return undefined;
  const digests = images.get(move.to)?.digests.map((text) => text.split('@')) ?? [];
  const { repository } = pin.reference;
  const [, digest] =
    digests.find(([name]) => name === repository || name?.endsWith(`/${repository}`)) ?? digests[0] ?? [];
  if (digest !== undefined) return digest;
  throw new UpdateError(
    'proof-failed',
    `the registry gave no digest for ${move.to}, and ${pin.place.description} pins one`,
  );
}

/** What each service must resolve to; only a generated file may name another repository. */
function plannedImages(
  draft: Draft,
  installation: Installation,
  moves: readonly Move[],
  images: ReadonlyMap<string, Image>,
): Map<string, string> {
  return new Map(
    moves.map((move) => {
      if (installation.kind === 'generated') {
        return [move.service, pinOf(draft, installation, move.service).referenceText] as const;
      }
      const digest = newDigest(move.pin, move, images);
      return [
        move.service,
        movedReference({ ...move, ...(digest === undefined ? {} : { digest }) }),
      ] as const;
    }),
  );
}
