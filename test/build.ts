// Builders for the states from which plans are made: complete defaults, of which a test changes the relevant fields.

import { requirePin } from '../src/core/compose/pins/find-pin.ts';
import type { ProjectFiles } from '../src/core/compose/project-files.ts';
import { HostPaths } from '../src/core/mounts/host-paths.ts';
import { svcProduct } from '../src/core/names/product.ts';
import { exitCodes, type Outcome } from '../src/core/progress/outcome.ts';
import { Compose, type ComposeModel, type ComposeProject } from '../src/engine/cli/compose.ts';
import { Engine } from '../src/engine/cli/engine.ts';
import type { ContainerSnapshot } from '../src/engine/containers/container-snapshot.ts';
import {
  type Container,
  containerNumberOf,
  type Image,
  isUp,
  toContainer,
  toImage,
} from '../src/engine/objects/container.ts';
import { composeLabels } from '../src/engine/objects/labels.ts';
import type { FoundInstance } from '../src/updater/compose/inspect/find-project/find-instance.ts';
import type {
  Installation,
  InstalledService,
  PinnedService,
} from '../src/updater/compose/inspect/installation.ts';
import type { RunOutcome } from '../src/updater/run/log/run-outcome.ts';
import { initialJournalFields, type JournalData } from '../src/updater/run/state/journal.ts';
import type { ContainerRecord, Rollout, UpdatedService } from '../src/updater/run/state/rollout.ts';

export const began = '2026-11-21T10:00:00Z';
/** The engine's timestamp for "never". */
export const never = '0001-01-01T00:00:00Z';

export const project: ComposeProject = {
  name: 'svc',
  directory: '/opt/svc',
  files: ['/opt/svc/compose.yaml'],
  envFiles: [],
};

/** A container by service and number, such as `app-1`; running since `began` from `sha256:old`. */
export function container(place: string, changes: Partial<Container> = {}): Container {
  const [, service = '', number = '1'] = /^([a-z]+)-(\d+)/.exec(place) ?? [];
  const status = changes.status ?? 'running';
  const base = toContainer({
    Id: place,
    Name: `/svc-${service}-${number}`,
    Image: 'sha256:old',
    State: { Status: status, StartedAt: status === 'created' ? never : began },
    Config: {
      Image: 'acme/svc:v1.0.0',
      Labels: { [composeLabels.service]: service, [composeLabels.number]: number },
    },
  });
  return { ...base, ...changes };
}

/**
 * Parses containers: `app-1` is running, `app-1!` has exited. A plus means created by the run from `sha256:new`:
 * `app-1+` is running, `app-1+!` has exited, `app-1+_` was never started.
 */
export const containers = (places: string): Container[] =>
  places
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const place = word.replace(/[!_]$/, '');
      const status = word.endsWith('!') ? 'exited' : word.endsWith('_') ? 'created' : 'running';
      return container(place, { status, ...(place.endsWith('+') ? { imageId: 'sha256:new' } : {}) });
    });

export const image = (id: string, changes: Partial<Image> = {}): Image => ({
  ...toImage({ Id: id }),
  ...changes,
});

/** Record of a container before the run; `runs` and `well` are true if it was running. */
export function record(from: Container, changes: Partial<ContainerRecord> = {}): ContainerRecord {
  const service = from.labels[composeLabels.service] ?? '';
  const { id, name, imageId, imageManifest, imageReference: reference, startedAt } = from;
  const image = { imageId, ...(imageManifest !== null && { imageManifest }) };
  const isRunning = isUp(from);
  const state = { runs: isRunning, down: !isRunning, well: isRunning };
  return {
    id,
    name,
    service,
    number: containerNumberOf(from),
    ...image,
    reference,
    startedAt,
    ...state,
    ...changes,
  };
}

/** A service that is updated to `sha256:new`. */
export const movedService = (name: string, changes: Partial<UpdatedService> = {}): UpdatedService => ({
  name,
  isApp: name === 'app',
  follows: false,
  image: { reference: 'acme/svc:v1.1.0', id: 'sha256:new' },
  awaits: [],
  ...changes,
});

/** Rollout of app and worker with one container each. */
export const changeover = (changes: Partial<Rollout> = {}): Rollout => ({
  moved: [movedService('app'), movedService('worker')],
  containers: [record(container('app-1')), record(container('worker-1'))],
  words: {
    from: 'v1.0.0',
    goal: 'v1.1.0',
    reached: 'v1.1.0',
    runs: 'app and worker run v1.1.0',
    warnings: [],
    alsoMoved: [],
    newServices: [],
  },
  ...changes,
});

/** Journal of a run that was killed in `pull`. */
export const journalData = (changes: Partial<JournalData> = {}): JournalData => ({
  ...initialJournalFields,
  run: '20261121T104207Z',
  containerId: 'c0ffee',
  attempt: 1,
  project,
  target: 'v1.1.0',
  services: ['app', 'worker'],
  from: 'v1.0.0',
  tags: [],
  containers: [],
  ...changes,
});

export const blueprint = (id: string, changes: Partial<ContainerSnapshot> = {}): ContainerSnapshot => ({
  id,
  name: `svc-${id}`,
  imageId: 'sha256:old',
  imageReference: 'acme/svc:v1.0.0',
  platform: null,
  config: {},
  hostConfig: {},
  networks: {},
  copied: [],
  lost: [],
  ...changes,
});

export const ending = (outcome: Outcome, message = `${outcome}: so it is`): RunOutcome => ({
  outcome,
  exitCode: outcome === 'cancelled' ? 143 : exitCodes[outcome],
  message,
});

/** An engine that does not respond, unless a test has started a server at `host`. */
export const engine = (host = 'unix:///nonexistent'): Engine =>
  new Engine({ host, tls: [], configDirectory: '/nonexistent' }, { home: '/root' });

export const foundInstance = (changes: Partial<FoundInstance> = {}): FoundInstance => ({
  own: container('updater-1'),
  paths: new HostPaths([]),
  location: { name: project.name, directory: project.directory, mountedAt: project.directory },
  platform: 'linux/amd64',
  composed: [],
  specifiedContainer: null,
  ...changes,
});

interface InstallationParts extends Partial<Omit<Installation, 'app' | 'workers' | 'followers'>> {
  /** Containers by service, the app first; default: one container of `app` and one of `worker`. */
  services?: Readonly<Record<string, readonly Container[]>>;
  /** Containers by service. */
  followers?: Readonly<Record<string, readonly Container[]>>;
}

/** A user-written installation; `model` must be compose's model of `files`. */
export function installation(
  files: ProjectFiles,
  model: ComposeModel,
  parts: InstallationParts = {},
): Installation {
  const { services = { app: [container('app-1')], worker: [container('worker-1')] }, followers = {} } = parts;
  const [app, ...workers] = Object.entries(services).map(
    ([name, list]): PinnedService => ({ ...facts(name, list), pin: requirePin(files, name) }),
  );
  if (app === undefined) throw new Error('an install has an app');
  const { services: _, followers: __, ...rest } = parts;
  return {
    project,
    compose: new Compose(engine(), project),
    paths: new HostPaths([]),
    platform: 'linux/amd64',
    kind: 'user-written',
    files,
    product: svcProduct,
    versionVariable: 'SVC_VERSION',
    exclude: [],
    model,
    requests: new Map(),
    removedNetworks: new Set(),
    editedVolumes: new Set(),
    otherProjects: [],
    outsideContainers: [],
    nextFiles: [],
    imagesInUse: new Map(),
    containers: Object.values({ ...services, ...followers }).flat(),
    app,
    workers,
    followers: Object.entries(followers).map(([name, list]) => facts(name, list)),
    runningVersion: '1.0.0',
    prefix: 'v',
    ...rest,
  };
}

function facts(name: string, containers: readonly Container[]): InstalledService {
  const stopped = containers.filter((each) => !isUp(each)).map(containerNumberOf);
  return { name, containers, running: containers.length - stopped.length, stopped };
}
