import { findServicesByEnvFile } from '../../../../core/compose/include-tree.ts';
import { parseVersionLabel } from '../../../../core/release/pin-tag.ts';
import type { ComposeModel } from '../../../../engine/cli/compose.ts';
import type { Image } from '../../../../engine/objects/container.ts';
import { labeledVersionOf, requireNoDowngrade, type ServiceUpdate } from '../../../plan/release-plan.ts';
import {
  completionDependenciesOf,
  type Installation,
  replacedServicesOf,
  unreplacedContainersOf,
} from '../../inspect/installation.ts';
import { findImageMajorVersionWarnings } from '../../inspect/services/image-major-versions.ts';
import { migrationServicesOf } from '../../inspect/services/migrations.ts';
import { compareComposeModels, requireExpectedModelChanges } from '../../verify-edit/compare-models.ts';
import { findMissingDependencies } from '../new-services.ts';
import { findMajorVersionWarnings } from '../plan-update.ts';
import type { PreparedPlan, ProjectUpdatePlan } from '../prepared-plan.ts';
import {
  checkReleaseDefinitions,
  type ReleaseDefinitions,
  unreplacedServicesOf,
} from './check-release-definitions.ts';
import type { draftFileChanges } from './draft-file-changes.ts';

/** Drafted new files, and compose's model of them. */
interface Proposal
  extends ReleaseDefinitions,
    ReturnType<typeof draftFileChanges>,
    Pick<PreparedPlan, 'images' | 'version'> {
  /**
   * Compose's model of the files without the new settings. If `unset` is null or missing, `model` is checked instead.
   */
  unset?: ComposeModel | null;
}

/**
 * Checks that the draft makes only the planned changes, and completes the plan. Writes nothing. If the draft changes no
 * file, compose's model of the current files is used.
 */
export function createPreparedPlan(whole: ProjectUpdatePlan, proposal: Proposal): PreparedPlan {
  const { installation } = whole;
  const { draft, expected, model, images, version } = proposal;
  // Services that the release no longer has are not updated: their containers are removed.
  const plan = { ...whole, updates: whole.updates.filter(({ service }) => service in model.services) };
  const proof =
    draft.changes.length > 0 ? checkModelChanges(plan, proposal) : { alsoMoved: [], warnings: [] };
  const before = findMissingDependencies(installation, installation.model);
  const needed = findMissingDependencies(installation, model).filter((name) => !before.includes(name));
  // A new service that must complete before other services start is a migration, regardless of its image.
  const outcome = needed.filter((name) =>
    Object.values(model.services).flatMap(completionDependenciesOf).includes(name),
  );
  const migrations = [...new Set([...migrationServicesOf(installation, model), ...outcome])];
  const added = needed.filter((name) => !migrations.includes(name));
  const own = [...replacedServicesOf(installation).map(({ name }) => name), ...migrations, ...added];
  const dumpFirst = findImageMajorVersionWarnings(unreplacedContainersOf(installation), model);
  const others = (names: readonly string[]) =>
    names.filter((name) => !own.includes(name) && !dumpFirst.has(name));
  return {
    ...plan,
    images,
    model,
    migrations,
    added,
    references: newImageReferencesOf(installation, model, expected.images, [...migrations, ...added]),
    changes: draft.changes,
    settings: [],
    version,
    dumpFirst: [...dumpFirst.values()],
    laterWarnings: [
      // With a floating tag, a new major version is detected only after the pull.
      ...(plan.release ? [] : findMajorVersionWarnings(plan.prefix, installation.runningVersion, version)),
      ...proof.warnings,
      ...dumpFirst.values(),
    ],
    alsoMoved: others(proof.alsoMoved),
    newServices: others(Object.keys(model.services)).filter((name) => !(name in installation.model.services)),
    changedServices: others(changedServices(installation, proposal)).filter(
      (name) => !proof.alsoMoved.includes(name),
    ),
  };
}

function checkModelChanges(
  { installation, updates }: ProjectUpdatePlan,
  { expected, unset, ...definitions }: Proposal,
): { alsoMoved: string[]; warnings: string[] } {
  const proof = compareComposeModels(installation.model, unset ?? definitions.model, expected);
  const { alsoUpdatedServices: alsoMoved } = proof;
  if (installation.kind === 'generated') {
    return { alsoMoved, warnings: checkReleaseDefinitions(installation, definitions, expected, updates) };
  }
  requireExpectedModelChanges(proof, expected);
  return { alsoMoved, warnings: [] };
}

/**
 * Returns the services that the draft changes but the update does not replace. A service with a changed `env_file`
 * always counts as changed, because compose's model still comes from the old file.
 */
function changedServices(installation: Installation, { draft, model }: Proposal): string[] {
  const { services: before } = installation.model;
  const reading = findServicesByEnvFile(
    draft.files,
    draft.changes.map(({ path }) => path),
  );
  const isOther = (name: string) => JSON.stringify(before[name]) !== JSON.stringify(model.services[name]);
  return unreplacedServicesOf(installation).filter(
    (name) => name in before && name in model.services && (isOther(name) || reading.includes(name)),
  );
}

/**
 * Returns the version label of the pulled app image, such as `1.5.0`; null if the image has none.
 * @throws UpdateError downgrade
 */
export function findPulledVersion(
  plan: ProjectUpdatePlan,
  images: ReadonlyMap<string, Image>,
): string | null {
  const { installation, app } = plan;
  const image = images.get(app.to);
  const used = installation.imagesInUse.get(installation.app.containers[0]?.imageId ?? '');
  const label = labeledVersionOf(app, image);
  // Never compare a tag or label with a version variable, because images inherit their base image's variable.
  const [running, pulled] =
    installation.runningVersion || label
      ? [installation.runningVersion, label]
      : [ownVariable(app, used), ownVariable(app, image)];
  requireNoDowngrade(plan, app, pulled ?? null, running ?? null);
  return label;
}

/** Reads the version from a variable such as `NEXTCLOUD_VERSION`, which official images have instead of a label. */
function ownVariable({ pin }: ServiceUpdate, image: Image | undefined): string | null {
  const name = pin.reference.repository.replace(/^.*\//, '').replaceAll(/\W/g, '_');
  return parseVersionLabel(image?.env.get(`${name.toUpperCase()}_VERSION`));
}

/**
 * Returns the new image references, keyed by service. Services that share an updated service's pin and namespace are
 * recreated, so they are included.
 */
function newImageReferencesOf(
  { followers, model: before }: Installation,
  model: ComposeModel,
  expected: ReadonlyMap<string, string>,
  started: readonly string[],
): ReadonlyMap<string, string> {
  const image = (name: string) => model.services[name]?.image;
  const moved = followers.filter(({ name }) => image(name) !== before.services[name]?.image);
  const names = [...expected.keys(), ...moved.map(({ name }) => name), ...started].filter(image);
  return new Map(names.map((name) => [name, image(name) ?? ''] as const));
}
