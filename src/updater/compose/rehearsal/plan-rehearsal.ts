import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import type { ComposeModel, ComposeService } from '../../../engine/cli/compose.ts';
import { normalizeContainerPath } from '../../../engine/containers/container-snapshot.ts';
import { type Container, type Image, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { type Json, toObject, toStrings } from '../../../engine/objects/json.ts';
import type { DataCoverage } from '../../data/data-context.ts';
import {
  isSavableMount,
  isServiceContainer,
  mountSourceOf,
  type UncheckedMount,
} from '../../data/selection/choose-mounts.ts';
import { completionDependenciesOf } from '../inspect/installation.ts';
import { migrationServicesOf } from '../inspect/services/migrations.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import type { DataSurvey } from '../restore-point/plan-restore-point.ts';
import type { DataCopy } from './copy-data.ts';
import {
  buildRehearsalProject,
  findUnsupportedKeys,
  type RehearsedMount,
  rehearsedMountsOf,
} from './rehearsal-project.ts';
import type { RehearsedVersion } from './run-version.ts';
import { selectRehearsedServices } from './select-services.ts';

/** Services of one version to start on the copies. */
export interface RehearsalSelection {
  model: ComposeModel;
  services: readonly string[];
  migrations: readonly string[];
}

/** Services of both versions. */
export interface RehearsalSelections {
  running: RehearsalSelection;
  next: RehearsalSelection;
}

/**
 * Selects the services of the running version and of the new version.
 * @throws UpdateError rehearsal-unsupported
 */
export function selectRehearsal(plan: PreparedPlan, { covered }: DataCoverage): RehearsalSelections {
  const { installation } = plan;
  const { app, workers, containers } = installation;
  if (app.running === 0)
    throw new UpdateError(
      'rehearsal-unsupported',
      `${app.name} is stopped, so there is no running version to compare with`,
    );
  const existing = new Set(containers.map(serviceOf));
  const up = new Set(containers.filter(isUp).map(serviceOf));
  const select = (model: ComposeModel, migrations: readonly string[], added: readonly string[]) => {
    const services = Object.keys(model.services);
    const excludedWorkers = workers.map(({ name }) => name).filter((name) => !migrations.includes(name));
    const values = new Map(services.map((name) => [name, variableValuesOf(model, containers, name)]));
    const names = new Map(services.map((name) => [name, namesOf(model, containers, name)]));
    const available = new Set([...up, ...added]);
    const input = { app: app.name, workers: excludedWorkers, covered, migrations, available, values, names };
    return { model, migrations, services: selectRehearsedServices(model, input) };
  };
  const existingMigrations = migrationServicesOf(installation).filter((name) => existing.has(name));
  const running = select(installation.model, existingMigrations, []);
  const next = select(plan.model, plan.migrations, plan.added);
  const unsupported = [running, next].flatMap(({ model, services }) => findUnsupportedKeys(model, services));
  if (unsupported.length === 0) return { running, next };
  const message = `these parts of the compose file cannot be rehearsed: ${[...new Set(unsupported)].join(', ')}`;
  throw new UpdateError('rehearsal-unsupported', message);
}

/** Values of a service's variables in the model, and in its containers, which also have those of env files. */
function variableValuesOf(model: ComposeModel, containers: readonly Container[], service: string): string[] {
  const own = containers.filter((each) => serviceOf(each) === service);
  const written = Object.values(model.services[service]?.environment ?? {});
  return [...written.map(String), ...own.flatMap(({ env }) => [...env.values()])];
}

const containerNamesOf = (containers: readonly Container[], service: string): string[] =>
  containers.flatMap((each) => (serviceOf(each) === service ? [each.name] : []));

/** Names by which another service may reach a service. */
function namesOf(model: ComposeModel, containers: readonly Container[], service: string): string[] {
  const { container_name, hostname, networks } = (model.services[service] ?? {}) as ComposeService & Json;
  const aliases = Object.values(toObject(networks)).flatMap((each) => toStrings(toObject(each).aliases));
  const names = [service, container_name, hostname, ...aliases, ...containerNamesOf(containers, service)];
  return names.filter((name) => typeof name === 'string');
}

/**
 * Returns the bind mounts that are new in the new version and whose source must be copied too.
 * @throws UpdateError rehearsal-unsupported for a system path, such as the engine's socket
 */
export function findAddedMounts(
  { running, next }: RehearsalSelections,
  containers: readonly Container[],
): UncheckedMount[] {
  // Only mounts of containers are copied with the data.
  const started = new Set([...running.services, ...next.services]);
  const copied = new Set(containers.map(serviceOf).filter((service) => started.has(service)));
  const known = new Set(
    [...copied].flatMap((service) =>
      rehearsedMountsOf(running.model, service).map((mount) => keyOf(service, mount)),
    ),
  );
  return next.services.flatMap((service) =>
    rehearsedMountsOf(next.model, service).flatMap((mount) => {
      if (mount.type !== 'bind' || known.has(keyOf(service, mount))) return [];
      const where = `${service}:${mount.target}`;
      const path = normalizeContainerPath(mount.source);
      if (!isSavableMount({ ...mount, destination: mount.target, writable: true }, []))
        throw new UpdateError(
          'rehearsal-unsupported',
          `the new version mounts ${JSON.stringify(path)} at ${where}, which a rehearsal cannot provide`,
        );
      return [{ service, where, volume: '', path, subpath: '', excluded: [] }];
    }),
  );
}

/** Finds the copy of each mount. */
export class CopyFinder {
  readonly #bySource = new Map<string, string>();
  readonly #copies: readonly Pick<DataCopy, 'path' | 'copy'>[];
  /** Copies of volumes that only the image declares, keyed by service and path inside the container. */
  readonly imageVolumeCopies = new Map<string, Map<string, string>>();
  /** Mounts that are empty in the rehearsal, such as `app:/var/run/docker.sock`. */
  readonly empty = new Set<string>();

  /** @param services - services of both versions */
  constructor(
    { model }: RehearsalSelection,
    services: readonly string[],
    { mountContext, containers }: Pick<DataSurvey, 'mountContext' | 'containers'>,
    copies: readonly Pick<DataCopy, 'path' | 'copy'>[],
  ) {
    this.#copies = copies;
    // A bind mount that is new in the new version is found by its host path.
    for (const { path, copy } of copies) this.#bySource.set(bindKeyOf(path), copy);
    for (const container of containers) {
      const service = serviceOf(container);
      if (!services.includes(service) || !isServiceContainer(container, mountContext.project)) continue;
      const listed = rehearsedMountsOf(model, service);
      for (const mount of container.storage.filter(({ type }) => type !== 'tmpfs')) {
        const target = normalizeContainerPath(mount.destination);
        const { path } = mountSourceOf(mount, mountContext);
        const copy = copies.find((each) => each.path === path)?.copy;
        const own = listed.find((each) => each.target === target);
        if (own) {
          if (copy === undefined) this.#bySource.delete(keyOf(service, own));
          else this.#bySource.set(keyOf(service, own), copy);
        } else if (copy !== undefined) {
          const known = this.imageVolumeCopies.get(service) ?? new Map<string, string>();
          this.imageVolumeCopies.set(service, known.set(target, copy));
        }
      }
    }
  }

  /** Returns the copies of mounts whose source is inside the source of a copied mount, with their paths in it. */
  listNestedCopies(copy: string): { path: string; copy: string }[] {
    const outer = this.#copies.find((each) => each.copy === copy)?.path;
    return this.#copies.flatMap((each) =>
      outer !== undefined && each.path !== outer && isWithin(each.path, outer)
        ? [{ path: relative(outer, each.path), copy: each.copy }]
        : [],
    );
  }

  /** Finds a copy by the mount's source: the new version may mount the same data elsewhere. */
  find(service: string, mount: RehearsedMount): string | null {
    const copy = this.#bySource.get(keyOf(service, mount)) ?? null;
    if (copy === null) this.empty.add(`${service}:${mount.target}`);
    return copy;
  }
}

const bindKeyOf = (path: string): string => JSON.stringify(['bind', path, '']);

/** Key of a mount's source. An anonymous volume belongs to one service, so its key contains the service. */
const keyOf = (service: string, { type, source, subpath, target }: RehearsedMount): string =>
  source === '' ? JSON.stringify([type, service, target]) : JSON.stringify([type, source, subpath]);

interface VersionInput {
  name: string;
  token: string;
  selection: RehearsalSelection;
  images: ReadonlyMap<string, Image>;
  finder: CopyFinder;
  app: string;
  memory: number;
  /** Containers of the instance. */
  containers: readonly Container[];
}

/** Returns the compose project of a version, and the services that run once. */
export function buildVersion({
  selection: { model, services, migrations },
  finder,
  memory,
  containers,
  ...input
}: VersionInput): Pick<RehearsedVersion, 'project' | 'services' | 'runOnce' | 'restartedServices'> {
  const project = buildRehearsalProject({
    ...{ ...input, model, services, migrations, imageVolumeCopies: finder.imageVolumeCopies },
    containerNames: new Map(services.map((service) => [service, containerNamesOf(containers, service)])),
    findCopy: (service, mount) => finder.find(service, mount),
    listNestedCopies: (copy) => finder.listNestedCopies(copy),
    limits: { memory, cpus: availableParallelism() / 2 },
  });
  const awaited = services.flatMap((service) => completionDependenciesOf(model.services[service]));
  const isRestarted = (service: string) =>
    !['no', undefined].includes((model.services[service] as Json | undefined)?.restart as string | undefined);
  const runOnce = [...new Set([...awaited, ...migrations])];
  return { project, services, runOnce, restartedServices: services.filter(isRestarted) };
}
