// All calls to the engine's API. A test compares them with the list in SECURITY.md.

/** Deadlines of calls, and maximum times without data in a stream, in milliseconds. */
export const usualTimeouts = {
  /** For calls to which the engine responds immediately. */
  query: 5_000,
  /** For calls that require the engine to contact a registry. */
  registry: 30_000,
  /** For creating or removing an object, which may take a long time on a busy machine. */
  work: 60_000,
  /** For starting a container. The engine first mounts the container's volumes, which may take a long time. */
  start: 60_000,
  /** Maximum time without progress in a pull, for example while a large layer is unpacked. */
  pullSilence: 300_000,
  /**
   * Maximum time without a line in an updater's log, after which the log is read again. An updater prints a line at
   * least every ten seconds.
   */
  logSilence: 60_000,
};
export type EngineTimeouts = typeof usualTimeouts;

export interface EngineCall {
  /** HTTP method and path, with parameters in braces. */
  call: string;
  /** Deadline in milliseconds, or its name in `EngineTimeouts`; `query` by default. */
  deadline?: keyof EngineTimeouts | 'none' | number;
  /**
   * When the updater repeats the call. `lost`: after a lost connection. `failed`: also after a status of 500 or more.
   * The default is `failed` for GET, and `lost` for other methods. Streams are not requested again, except for the last
   * lines of a log.
   */
  repeat?: 'lost' | 'failed';
  /** Statuses besides 2xx that are not errors, because nothing remains to be done or nothing was found. */
  accepted?: readonly number[];
  /** Completes the message `the engine failed to …`. By default, the message contains the method and path. */
  purpose?: string;
}

const none = [404];
/** Swarm calls need a deadline: a manager does not respond while the swarm has no leader. */
const swarm = { deadline: 25_000, repeat: 'lost' } as const;
const work = { deadline: 'work', repeat: 'lost' } as const;

export const engineCalls = {
  getVersion: { call: 'GET /version' },
  ping: { call: 'HEAD /_ping' },
  getInfo: { call: 'GET /info' },
  watchEvents: { call: 'GET /events', deadline: 'none' },

  listContainers: { call: 'GET /containers/json' },
  inspectContainer: { call: 'GET /containers/{id}/json', accepted: none },
  createContainer: { call: 'POST /containers/create', ...work, purpose: 'create a container from {image}' },
  startContainer: {
    call: 'POST /containers/{id}/start',
    deadline: 'start',
    accepted: [304],
    purpose: 'start {id}',
  },
  stopContainer: {
    call: 'POST /containers/{id}/stop',
    deadline: 'none',
    accepted: [304, 404],
    purpose: 'stop {id}',
  },
  restartContainer: { call: 'POST /containers/{id}/restart', deadline: 'none', purpose: 'restart {id}' },
  killContainer: { call: 'POST /containers/{id}/kill', accepted: [404, 409] },
  renameContainer: { call: 'POST /containers/{id}/rename', purpose: 'rename {id}' },
  setRestartPolicy: { call: 'POST /containers/{id}/update', purpose: 'change the restart policy of {id}' },
  removeContainer: { call: 'DELETE /containers/{id}', ...work, accepted: none, purpose: 'remove {id}' },
  readLog: { call: 'GET /containers/{id}/logs', deadline: 'work' },
  readStats: { call: 'GET /containers/{id}/stats', accepted: none },
  readArchive: { call: 'GET /containers/{id}/archive', accepted: none, purpose: 'read {file} from {id}' },
  putArchive: { call: 'PUT /containers/{id}/archive', ...work, purpose: 'copy {files}' },
  connectNetwork: { call: 'POST /networks/{network}/connect', purpose: 'connect a container to {network}' },
  runHealthCheck: { call: 'GET /libpod/containers/{id}/healthcheck', deadline: 60_000, repeat: 'lost' },

  listImages: { call: 'GET /images/json' },
  inspectImage: { call: 'GET /images/{reference}/json', accepted: none },
  tagImage: { call: 'POST /images/{reference}/tag', purpose: 'tag {reference}' },
  removeImage: { call: 'DELETE /images/{reference}', deadline: 300_000, purpose: 'remove {reference}' },
  // `pullImage` and `loadImagesFromArchive` return status 200 and report errors in their streams.
  pullImage: { call: 'POST /images/create', deadline: 'pullSilence' },
  loadImages: { call: 'POST /images/load', deadline: 'none' },
  inspectRemoteImage: { call: 'GET /distribution/{reference}/json', deadline: 'registry', repeat: 'lost' },
  listNetworks: { call: 'GET /networks' },
  removeNetwork: { call: 'DELETE /networks/{id}', ...work, accepted: none, purpose: 'remove a network' },
  listVolumes: { call: 'GET /volumes' },

  inspectSwarm: { call: 'GET /swarm', ...swarm },
  listServices: { call: 'GET /services', ...swarm, accepted: none },
  createService: { call: 'POST /services/create', ...swarm, purpose: 'create the service {name}' },
  updateService: { call: 'POST /services/{id}/update', ...swarm, purpose: 'change the service {name}' },
  removeService: { call: 'DELETE /services/{id}', ...swarm, accepted: none, purpose: 'remove a service' },
  listTasks: { call: 'GET /tasks', ...swarm, accepted: none },
  readTaskLog: { call: 'GET /tasks/{id}/logs', deadline: 10_000 },
  listNodes: { call: 'GET /nodes', ...swarm, accepted: none },
  listConfigs: { call: 'GET /configs', ...swarm, accepted: none },
  createConfig: { call: 'POST /configs/create', ...swarm, purpose: 'create the config {name}' },
  updateConfig: { call: 'POST /configs/{id}/update', ...swarm, purpose: 'change the config {name}' },
  removeConfig: {
    call: 'DELETE /configs/{id}',
    ...swarm,
    accepted: none,
    purpose: 'remove the config {name}',
  },
} satisfies Readonly<Record<string, EngineCall>>;

export type EngineCallName = keyof typeof engineCalls;
