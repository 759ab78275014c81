import { servicesReading } from '../../../core/compose/layers.ts';
import { versionOfLabel } from '../../../core/release/pin-tag.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import type { Image } from '../../../engine/container.ts';
import { labelledVersion, refuseOlder, type ServiceUpdate } from '../../plan/release-plan.ts';
import {
  awaitedEnds,
  type Installation,
  otherContainers,
  replacedServices,
} from '../inspect/installation.ts';
import { findMajorChanges } from '../inspect/services/major-changes.ts';
import { migrationsOf } from '../inspect/services/migrations.ts';
import { prove, refuseUnproven } from '../proof/prove.ts';
import type { draftFiles } from './draft-files.ts';
import { checkGenerated, type NewDefinitions, stayingServices } from './generated.ts';
import { missingServices } from './new-services.ts';
import type { Plan, PreparedPlan } from './plan.ts';
import { majorWarnings } from './plan-update.ts';

/** The new files, and compose's model of them. */
interface Proposal
  extends NewDefinitions,
    ReturnType<typeof draftFiles>,
    Pick<PreparedPlan, 'images' | 'version'> {
  /** The model without the new settings, if it is another. */
  unset?: Model | null;
}

/**
 * Checks that compose's model of the draft contains only the planned changes. Changes nothing. If the draft changes no
 * file, the model is the current one.
 * Refusals: shared-definition, pin-unsupported. Failure: proof-failed.
 */
export function planFiles(whole: Plan, proposal: Proposal): PreparedPlan {
  const { installation } = whole;
  const { draft, expected, model, images, version } = proposal;
  // The containers of services that a release no longer has are removed.
  const plan = { ...whole, updates: whole.updates.filter(({ service }) => service in model.services) };
  const proof = draft.changes.length > 0 ? proven(plan, proposal) : { alsoMoved: [], warnings: [] };
  const before = missingServices(installation, installation.model);
  const needed = missingServices(installation, model).filter((name) => !before.includes(name));
  // A new service that runs to its end is a migration, whatever its image.
  const ending = needed.filter((name) => Object.values(model.services).flatMap(awaitedEnds).includes(name));
  const migrations = [...new Set([...migrationsOf(installation, model), ...ending])];
  const added = needed.filter((name) => !migrations.includes(name));
  const own = [...replacedServices(installation).map(({ name }) => name), ...migrations, ...added];
  const dumpFirst = findMajorChanges(otherContainers(installation), model);
  const others = (names: readonly string[]) =>
    names.filter((name) => !own.includes(name) && !dumpFirst.has(name));
  return {
    ...plan,
    images,
    model,
    migrations,
    added,
    references: imagesAfter(installation, model, expected.images, [...migrations, ...added]),
    changes: draft.changes,
    settings: [],
    version,
    dumpFirst: [...dumpFirst.values()],
    laterWarnings: [
      // With a floating tag, a new major version is only detected after the pull.
      ...(plan.release ? [] : majorWarnings(plan.prefix, installation.runningVersion, version)),
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

function proven(
  { installation, updates }: Plan,
  { expected, unset, ...definitions }: Proposal,
): { alsoMoved: string[]; warnings: string[] } {
  const proof = prove(installation.model, unset ?? definitions.model, expected);
  const { alsoMoved } = proof;
  if (installation.kind === 'generated') {
    return { alsoMoved, warnings: checkGenerated(installation, definitions, expected, updates) };
  }
  refuseUnproven(proof, expected);
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
export function pulledVersion(plan: Plan, images: ReadonlyMap<string, Image>): string | null {
  const { installation, app } = plan;
  const image = images.get(app.to);
  const used = installation.imagesInUse.get(installation.app.containers[0]?.imageId ?? '');
  const label = labelledVersion(app, image);
  // A base image leaves its variable in images built from it, so a tag or label is never compared with a variable.
  const [running, pulled] =
    installation.runningVersion || label
      ? [installation.runningVersion, label]
      : [ownVariable(app, used), ownVariable(app, image)];
  refuseOlder(plan, app, pulled ?? null, running ?? null);
  return label;
}

/** Official images state their version in a variable instead of a label, such as `NEXTCLOUD_VERSION`. */
function ownVariable({ pin }: ServiceUpdate, image: Image | undefined): string | null {
  const name = pin.reference.repository.replace(/^.*\//, '').replaceAll(/\W/g, '_');
  return versionOfLabel(image?.env.get(`${name.toUpperCase()}_VERSION`));
}

/** A follower that shares the pin is also updated: it is recreated with the service that it follows. */
function imagesAfter(
  { followers, model: before }: Installation,
  model: Model,
  expected: ReadonlyMap<string, string>,
  started: readonly string[],
): ReadonlyMap<string, string> {
  const image = (name: string) => model.services[name]?.image;
  const moved = followers.filter(({ name }) => image(name) !== before.services[name]?.image);
  const names = [...expected.keys(), ...moved.map(({ name }) => name), ...started].filter(image);
  return new Map(names.map((name) => [name, image(name) ?? ''] as const));
}
