import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ComposeModel, ComposeService } from '../../../engine/cli/compose.ts';
import type { Image } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { ContainerRecord, Rollout, UpdatedService } from '../../run/state/rollout.ts';
import {
  completionDependenciesOf,
  type Installation,
  type InstalledService,
  replacedServicesOf,
  updatedServicesOf,
} from '../inspect/installation.ts';
import { findAffectedContainerWarnings, findProxiedContainers } from './affected-containers.ts';
import { describeNewService } from './new-services.ts';
import type { PreparedPlan } from './prepared-plan.ts';
import { findReleaseCommand } from './release/release-label.ts';
import {
  describeRunningServices,
  findVersionMismatchWarnings,
  newVersionNameOf,
  previousVersionNameOf,
} from './version-sentences.ts';

/**
 * Plans which containers to replace, and prepares the log messages about them. Changes nothing.
 * @param containers - all containers of the project, recorded right before the first file is changed
 */
export function planRollout(plan: PreparedPlan, containers: readonly ContainerRecord[]): Rollout {
  const { installation, migrations, added, dumpFirst, references, model, images } = plan;
  const { app, followers } = installation;
  requireNoRunningMigration(migrations, containers);
  const following = followers.map(nameOf);
  const isGone = (name: string) => installation.kind === 'generated' && !(name in model.services);
  const moved = (name: string): UpdatedService => {
    const reference = references.get(name) ?? '';
    const image = images.get(reference);
    const { depends_on, pre_start } = model.services[name] ?? {};
    return {
      name,
      isApp: name === app.name,
      follows: following.includes(name),
      image: image === undefined ? null : movedTo(reference, image),
      awaits: [app.name, ...added].filter((each) => depends_on?.[each]?.condition === 'service_healthy'),
      ...(pre_start && pre_start.length > 0 && { hasStartHook: true }),
      ...(migrations.includes(name) && { runsOnce: true }),
      ...(added.includes(name) && { added: describeNewService(name, plan) }),
      ...(isGone(name) && { isRemoved: true }),
    };
  };
  const running = new Set(containers.flatMap(({ service, runs }) => (runs ? [service] : [])));
  const stoppedWorkers = installation.workers.map(nameOf).filter((name) => !running.has(name));
  const toRunManually = findManualMigrations(plan, running);
  const ready = findReleaseCommand(plan, images.get(plan.app.to), 'ready');
  return {
    moved: [...sortServices(updatedServicesOf(installation).map(nameOf), plan), ...following].map(moved),
    // Record migrations as stopped: a rollback must not run them on another version's data.
    containers: containers.map((each) =>
      migrations.includes(each.service) ? { ...each, runs: false, well: false } : each,
    ),
    ...(ready !== null && { ready }),
    words: {
      from: previousVersionNameOf(plan),
      goal: plan.to,
      reached: newVersionNameOf(plan),
      runs: describeRunningServices(plan, stoppedWorkers),
      warnings: [...findVersionMismatchWarnings(plan), ...findAffectedContainerWarnings(plan)],
      addresses: findProxiedContainers(installation),
      alsoMoved: plan.alsoMoved,
      newServices: plan.newServices,
      changedServices: plan.changedServices,
      restartedByHand: findServicesToRestart(installation, model, running),
      ...(toRunManually.length > 0 && { runByHand: toRunManually }),
      ...(dumpFirst.length > 0 && { dumpFirst }),
    },
  };
}

const nameOf = ({ name }: InstalledService): string => name;

/**
 * Requires that no migration is running, because migrations must not be interrupted. @throws UpdateError compose-busy
 */
function requireNoRunningMigration(
  migrations: readonly string[],
  containers: readonly ContainerRecord[],
): void {
  const running = containers.filter(({ service, down }) => migrations.includes(service) && !down);
  if (running.length === 0) return;
  const names = joinWithAnd(running.map(({ name }) => name));
  throw new UpdateError(
    'compose-busy',
    `${names} ${running.length > 1 ? 'are' : 'is'} still running, and other services are waiting for ${running.length > 1 ? 'them' : 'it'} to finish`,
    {
      advice: `Wait until ${names} ${running.length > 1 ? 'have' : 'has'} finished (docker logs -f ${running[0]?.name}), then run {command} again.`,
    },
  );
}

/**
 * Sorts the services. The app comes first, but migrations and new services come before the services that need them, and
 * after their own dependencies.
 */
function sortServices(
  moved: readonly string[],
  { migrations, added, model: { services } }: PreparedPlan,
): string[] {
  const all = [...new Set([...moved, ...migrations, ...added])];
  const order = new Set<string>();
  const visit = (name: string): void => {
    if (order.has(name)) return;
    const isLasting = moved.includes(name) && !migrations.includes(name);
    const first = [...completionDependenciesOf(services[name]), ...added];
    for (const need of Object.keys(services[name]?.depends_on ?? {}))
      if (!isLasting || first.includes(need)) visit(need);
    order.add(name);
  };
  for (const name of all) visit(name);
  return [...order].filter((name) => all.includes(name));
}

const movedTo = (reference: string, { id, manifests }: Image): UpdatedService['image'] => ({
  reference,
  id,
  ...(manifests.length > 0 && { manifests }),
});

/**
 * Returns the running services that compose would restart (`restart: true` in `depends_on`). The update does not
 * restart them.
 */
function findServicesToRestart(
  installation: Installation,
  { services }: ComposeModel,
  running: ReadonlySet<string>,
): string[] {
  const moved = new Set(replacedServicesOf(installation).map(nameOf));
  const asks = ({ depends_on }: ComposeService) =>
    Object.entries(depends_on ?? {}).some(([name, { restart }]) => restart === true && moved.has(name));
  return Object.keys(services).filter(
    (name) => !moved.has(name) && asks(services[name] ?? {}) && running.has(name),
  );
}

/** Returns the new version's migrations that an updated service waits for, but that the update does not run. */
function findManualMigrations(
  { installation, model, alsoMoved, migrations }: PreparedPlan,
  running: ReadonlySet<string>,
): string[] {
  const moved = updatedServicesOf(installation).map(nameOf);
  const once = new Set(moved.flatMap((name) => completionDependenciesOf(model.services[name])));
  return [...new Set([...moved, ...alsoMoved])].filter(
    (name) => once.has(name) && !migrations.includes(name) && !running.has(name),
  );
}
