import type { Change } from '../../../core/compose/draft.ts';
import { sharesPin } from '../../../core/compose/find-pin.ts';
import { servicesReading } from '../../../core/compose/layers.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { compareTold, isMajorChange } from '../../../core/release/order.ts';
import { versionOfLabel } from '../../../core/release/pin-tag.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import type { Image } from '../../../engine/container.ts';
import { type Installation, movedServices, replacedServices } from '../inspect/installation.ts';
import { migrationsOf } from '../inspect/services/migrations.ts';
import { type Expectation, prove, refuseUnproven, substitutionsOf } from '../proof/prove.ts';
import type { FileDraft } from './draft-files.ts';
import { checkGenerated, type NewDefinitions, stayingServices } from './generated.ts';
import { labelledVersion, type Move, majorAdvice, movesOf, type UpdatePlan } from './plan-update.ts';

/** The second half of a plan, which depends on the pulled images. */
export interface FilePlan {
  changes: readonly Change[];
  /** The model of the new files. */
  model: Model;
  /** The migrations of that model. */
  migrations: readonly string[];
  /** Image references of the moved services, and of the migrations, in that model. */
  references: ReadonlyMap<string, string>;
  /** `1.5.0`, from the label of the new app image. */
  version: string | null;
  warnings: readonly string[];
  /** Services that share a pin and are updated when they are next recreated. */
  alsoMoved: readonly string[];
  /** Services that are new in the file; they are not started. */
  newServices: readonly string[];
  /** Services that the new files change but the update does not recreate. */
  changedServices: readonly string[];
}

/** The new files, and compose's model of them. */
interface Proposal extends NewDefinitions {
  draft: FileDraft;
}

/**
 * Checks that compose's model of the draft contains only the planned changes. Changes nothing. If the draft changes no
 * file, the model is the current one.
 * Refusals: shared-definition, pin-unsupported. Failure: proof-failed.
 */
export function planFiles(
  installation: Installation,
  plan: UpdatePlan,
  proposal: Proposal,
  version: string | null,
): FilePlan {
  const { draft, model } = proposal;
  const pins = movedServices(installation).map(({ pin }) => pin);
  const expected: Expectation = {
    images: draft.references,
    substitutions: substitutionsOf(draft.files, draft.edits),
    shares: (service) => sharesPin(installation.files, service, pins),
  };
  const proof =
    draft.changes.length > 0
      ? proven(installation, plan, proposal, expected)
      : { alsoMoved: [], warnings: [] };
  const migrations = migrationsOf(installation, model);
  const own = [...replacedServices(installation).map(({ name }) => name), ...migrations];
  const others = (names: readonly string[]) => names.filter((name) => !own.includes(name));
  return {
    model,
    migrations,
    references: imagesAfter(installation, model, expected.images, migrations),
    changes: draft.changes,
    version,
    warnings: [...floatingMajorWarnings(plan, installation.runningVersion, version), ...proof.warnings],
    alsoMoved: others(proof.alsoMoved),
    newServices: others(Object.keys(model.services)).filter((name) => !(name in installation.model.services)),
    changedServices: others(changedServices(installation, proposal)).filter(
      (name) => !proof.alsoMoved.includes(name),
    ),
  };
}

function proven(
  installation: Installation,
  plan: UpdatePlan,
  { draft, ...definitions }: Proposal,
  expected: Expectation,
): Pick<FilePlan, 'alsoMoved' | 'warnings'> {
  const proof = prove(installation.model, definitions.model, expected);
  const { alsoMoved } = proof;
  if (installation.kind === 'generated') {
    return { alsoMoved, warnings: checkGenerated(installation, definitions, expected, movesOf(plan)) };
  }
  refuseUnproven(proof, draft.files, draft.edits);
  return { alsoMoved, warnings: [] };
}

/** The model does not have the new values of an `env_file`, because compose reads that file from the disk. */
function changedServices(installation: Installation, { draft, model }: Proposal): string[] {
  const { services: before } = installation.model;
  const reading = servicesReading(
    draft.files,
    draft.changes.map(({ path }) => path),
  );
  const isOther = (name: string) => JSON.stringify(before[name]) !== JSON.stringify(model.services[name]);
  return stayingServices(installation).filter(
    (name) => name in before && name in model.services && (isOther(name) || reading.includes(name)),
  );
}

/** The version label of the pulled app image, `1.5.0`; null if it has none. Refusal: downgrade. */
export function pulledVersion(
  installation: Installation,
  plan: UpdatePlan,
  images: ReadonlyMap<string, Image>,
): string | null {
  const { app, prefix } = plan;
  const image = images.get(app.to);
  const used = installation.imagesInUse.get(installation.app.containers[0]?.imageId ?? '');
  const label = labelledVersion(app, image);
  // A base image leaves its variable in images built from it, so a tag or label is never compared with a variable.
  const [running, pulled] =
    installation.runningVersion || label
      ? [installation.runningVersion, label]
      : [ownVariable(app, used), ownVariable(app, image)];
  if (pulled && running && compareTold(pulled, running) < 0) {
    throw new UpdateError(
      'downgrade',
      `${app.to} points to ${prefix}${pulled}, which is older than the running version ${prefix}${running}`,
    );
  }
  return label;
}

/** Official images state their version in a variable instead of a label, such as `NEXTCLOUD_VERSION`. */
function ownVariable({ pin }: Move, image: Image | undefined): string | null {
  const name = pin.reference.repository.replace(/^.*\//, '').replaceAll(/\W/g, '_');
  return versionOfLabel(image?.env.get(`${name.toUpperCase()}_VERSION`));
}

/** With a floating tag, a new major version is only detected after the pull. */
function floatingMajorWarnings(plan: UpdatePlan, from: string | null, to: string | null): string[] {
  if (plan.target?.kind === 'release' || !from || !to) return [];
  return isMajorChange(from, to) ? [majorAdvice(plan.prefix, from, to)] : [];
}

/** A follower that shares the pin is also updated: it is recreated with the service that it follows. */
function imagesAfter(
  { followers, model: before }: Installation,
  model: Model,
  expected: ReadonlyMap<string, string>,
  migrations: readonly string[],
): ReadonlyMap<string, string> {
  const image = (name: string) => model.services[name]?.image;
  const moved = followers.filter(({ name }) => image(name) !== before.services[name]?.image);
  const names = [...expected.keys(), ...moved.map(({ name }) => name), ...migrations];
  return new Map(names.map((name) => [name, image(name) ?? expected.get(name) ?? ''] as const));
}
