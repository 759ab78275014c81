import * as z from 'zod/mini';
import { HostPaths } from '../../core/mounts/host-paths.ts';
import { svcProduct } from '../../core/names/product.ts';
import { createJsonTextSchema } from '../../core/text/json-text.ts';
import type { ContainerSpec, MountSpec } from '../../engine/api-objects.ts';
import type { Container } from '../../engine/objects/container.ts';
import { isUp } from '../../engine/objects/container.ts';
import { parseRun } from '../../wire/api-client/parse-responses.ts';
import type { Run } from '../../wire/status.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import type { Deployment } from './read-deployment.ts';

const labels = {
  project: 'svc-updater.project',
  directory: 'svc-updater.directory',
  run: 'svc-updater.run',
  kind: 'svc-updater.kind',
  by: 'svc-updater.by',
  from: 'svc-updater.from',
  to: 'svc-updater.to',
  startedAt: 'svc-updater.started-at',
  undone: 'svc-updater.undone',
} as const;

export const runIdLabel = labels.run;

export const prefetchAttemptsLabel = 'svc-updater.tries';

/** Fields of a run that are known before the updater logs its first line. */
export type InitialRunFacts = Pick<Run, 'id' | 'from' | 'to' | 'startedAt'> &
  Partial<Pick<Run, 'by' | 'kind' | 'upgradePath'>> & {
    /** The run that a rollback undoes. The restored data may contain the store, in which this run has not ended. */
    undone?: Run | null | undefined;
  };

const undoneRunSchema = createJsonTextSchema(z.transform(parseRun));

const secondsToStop = 120;

/** Maximum number of times that the engine restarts a failed updater. */
export const maxUpdaterRestarts = 3;

/** Properties of an updater container that depend on its run. */
interface UpdaterInvocation {
  /** Command of the updater, for example `update`, `fetch` or `rollback`, with its options. */
  command: readonly [word: string, ...options: string[]];
  image: string;
  /** Services to update, app first; null if the updater chooses them. */
  services: readonly string[] | null;
  initialFacts: InitialRunFacts;
}

/** Returns the specification of an updater container (docs/contract.md 8.10). */
export function buildUpdaterContainerSpec(
  deployment: Deployment,
  settings: ValidatedInstanceOptions,
  { command, image, services, initialFacts: origin }: UpdaterInvocation,
): ContainerSpec {
  const { product, containerName, updaterEnvironment } = settings;
  const { restorePoint, maxDowntimeSeconds, removeOldImages } = settings;
  const environment = {
    // If services are given, the updater must not add any other service.
    ...(services !== null && { SVC_UPDATER_EXCLUDE: '*' }),
    // Without this variable, the updater uses the names and labels of svc.
    ...(product !== svcProduct && { SVC_UPDATER_PRODUCT: JSON.stringify({ ...product, containerName }) }),
    ...(restorePoint && { SVC_UPDATER_RESTORE_POINT: '1' }),
    ...(maxDowntimeSeconds !== null && { SVC_UPDATER_MAX_DOWNTIME: String(Math.ceil(maxDowntimeSeconds)) }),
    ...(removeOldImages && { SVC_UPDATER_REMOVE_OLD_IMAGES: '1' }),
    ...updaterEnvironment,
    // The updater has no network, so the server sends the notifications about its runs.
    SVC_UPDATER_NOTIFY: 'none',
    // The id of the server's container identifies the instance, because container labels are not trusted.
    SVC_UPDATER_CONTAINER: deployment.container.id,
  };
  return {
    name: containerName,
    Image: image,
    // A health check of `svc-updater serve` in the image.
    Healthcheck: { Test: ['NONE'] },
    Cmd: [
      ...command,
      ...['--project', deployment.project, '--dir', deployment.directory, '--log', 'json'],
      ...(services ?? []).flatMap((name) => ['--service', name]),
    ],
    Env: [
      `DOCKER_HOST=unix://${deployment.socket}`,
      ...Object.entries(environment).map(([key, value]) => `${key}=${value}`),
    ],
    StopTimeout: secondsToStop,
    Labels: {
      [labels.project]: deployment.project,
      [labels.directory]: deployment.directory,
      [labels.run]: origin.id,
      [labels.kind]: origin.kind ?? 'update',
      [labels.by]: origin.by ?? '',
      [labels.from]: origin.from ?? '',
      [labels.to]: origin.to ?? '',
      [labels.startedAt]: origin.startedAt,
      ...(origin.undone && { [labels.undone]: JSON.stringify(origin.undone) }),
    },
    HostConfig: {
      Mounts: buildUpdaterMounts(deployment),
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'],
      SecurityOpt: ['no-new-privileges', 'label=disable'],
      UsernsMode: 'host',
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: maxUpdaterRestarts },
      AutoRemove: false,
      // Do not depend on the engine's default log driver, because the server reads the container's log.
      LogConfig: { Type: 'json-file', Config: {} },
    },
  };
}

/** Purpose of an additional updater container, and part of its name. */
export type AdditionalUpdaterPurpose = 'rollback' | 'prefetch' | 'report' | 'rehearsal';

/** Includes the project in the name, because each container name must be unique on its engine. */
export const createAdditionalUpdaterName = (
  word: AdditionalUpdaterPurpose,
  { containerName }: Pick<ValidatedInstanceOptions, 'containerName'>,
  { project }: Pick<Deployment, 'project'>,
): string => `${containerName}-${word}-${project}`;

/** Like `buildUpdaterContainerSpec`, but the engine never restarts the container. */
export function buildAdditionalUpdaterSpec(
  word: AdditionalUpdaterPurpose,
  deployment: Deployment,
  settings: ValidatedInstanceOptions,
  order: UpdaterInvocation,
): ContainerSpec {
  const spec = buildUpdaterContainerSpec(deployment, settings, order);
  const RestartPolicy = { Name: 'no', MaximumRetryCount: 0 };
  return {
    ...spec,
    name: createAdditionalUpdaterName(word, settings, deployment),
    HostConfig: { ...spec.HostConfig, RestartPolicy },
  };
}

type HostMountSources = Pick<Deployment, 'socket' | 'directories' | 'credentials'>;

/** Mounts are not passed as `Binds`, because the engine would create missing directories for them. */
export function buildUpdaterMounts({ socket, directories, credentials }: HostMountSources): MountSpec[] {
  return [
    bind(socket),
    ...directories.map((directory) => bind(directory)),
    ...(credentials === null ? [] : [bind(credentials, '/root/.docker/config.json', true)]),
  ];
}

const bind = (source: string, target = source, readOnly = false): MountSpec => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: readOnly,
});

/** Whether a container is or was an updater of this instance. */
export function isUpdaterOfInstance(
  { labels: given, requestedMounts }: Container,
  deployment: Deployment,
): boolean {
  // Any user of the engine can choose names and labels. Only a user who controls the host can mount this directory.
  if (new HostPaths(requestedMounts).fromHost(deployment.directory) === null) return false;
  const [project, directory] = [given[labels.project], given[labels.directory]];
  // A manually started updater has no labels.
  if (project === undefined && directory === undefined) return true;
  return project === deployment.project && directory === deployment.directory;
}

/** Maximum time in milliseconds between the creation and the start of a container. */
const startingMs = 60_000;

/** Whether the updater is running or about to start or restart. */
export function isUpdaterActive(container: Container, now = Date.now()): boolean {
  if (isUp(container)) return true;
  return container.status === 'created' && now - Date.parse(container.createdAt) < startingMs;
}

/**
 * Describes an unrelated running container with the updater's name. Returns a message and the container's creation
 * time.
 */
export function describeUnrelatedContainer({ id, name, labels: given, createdAt }: Container) {
  const project = given[labels.project];
  const where =
    project === undefined ? id.slice(0, 12) : `labelled as project ${project} in ${given[labels.directory]}`;
  return {
    message: `container ${name} (${where}) has the name of this instance's updater but does not belong to this instance. Wait until the container has finished, or rename it`,
    since: new Date(createdAt).toISOString(),
  };
}

/** Reads the facts from labels and arguments. Manually started updaters lack some labels, so some facts are null. */
export function initialRunFactsOf(container: Container): InitialRunFacts {
  const text = (key: keyof typeof labels) => container.labels[labels[key]] || null;
  const at = container.args.indexOf('--target');
  return {
    id: text('run') ?? container.id.slice(0, 12),
    kind: container.args[0] === 'rollback' ? 'rollback' : 'update',
    from: text('from'),
    to: text('to') ?? (at < 0 ? null : (container.args[at + 1] ?? null)),
    startedAt: text('startedAt') ?? new Date(container.createdAt).toISOString(),
    by: text('by'),
    undone: undoneRunSchema.safeParse(container.labels[labels.undone]).data,
  };
}
