import type { ProductOptions } from '../../core/names/product.ts';
import type { FeedOptions, LogEntry } from '../../feed/create-feed.ts';
import type { Trust } from '../../provenance/trust.ts';
import type { JobKind } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';
import type { AutomaticUpdateSettingsChange } from './automatic-update-settings.ts';
import type { TimeWindow } from './time-window.ts';

export type Awaitable<T> = T | Promise<T>;

type Role = 'admin' | 'user';
/** Sender of a request: a role, optionally with a name. Null if the sender is not logged in. */
export type Caller = Role | { role: Role; name: string } | null;

/** A job of the application that embeds the library. */
export interface Job {
  kind: JobKind;
  /**
   * Running jobs and queued deployments block an update. A user is waiting for a queued deployment, but other queued
   * jobs can run after the update.
   */
  state: 'queued' | 'running';
  /** Display name. */
  title?: string;
  /** Time at which the job was queued or started. */
  since?: Date;
  /** Whether the job will not finish on its own. Updates do not wait for stuck jobs. Default: false. */
  stuck?: boolean;
}

/** Job queue of the application. An update must not end a pause that was made for another reason. */
export interface JobQueue {
  /** Pauses the queue: no new jobs start, but running jobs continue. Must be idempotent. */
  hold(): Awaitable<void>;
  /**
   * Resumes the queue. Must be idempotent, because it is also called whenever the server starts and no update is in
   * progress.
   */
  resume(): Awaitable<void>;
  /** Returns all jobs that are queued or running. */
  jobs(): Awaitable<readonly Job[]>;
}

/** Persistent key-value store that all servers of the instance share. */
export interface Store {
  /** Returns the current text; null if the key is not set. */
  get(key: string): Awaitable<string | null>;
  /**
   * If the current text equals `was`, sets the new text and returns true; otherwise, returns false. If the new text is
   * null, removes the key.
   */
  set(key: string, text: string | null, condition: { was: string | null }): Awaitable<boolean>;
  /**
   * Directory of the store, if the store consists of files. The directory must be on a mount of the server's container.
   */
  readonly directory?: string;
}

/** Build server, which must be updated separately from the instance. */
export interface KnownBuildServer {
  /** Display name. */
  name: string;
  /** Version of the product on the build server, with or without `v`. */
  version: string;
  /** Command to run on the build server to update it. */
  command: string;
}

/** Argument of `beforeUpdate`. */
export interface Preparation {
  /** Id of the run. */
  run: string;
  /** Running version. */
  from: string;
  /** Target version, or `canary` if the release is unknown. */
  target: string;
  /** Whether the major version changes. */
  major: boolean;
  /** Reports progress to the users who follow the run. */
  say(message: string): void;
  /** Aborted when the run is cancelled or the time limit is reached. */
  signal: AbortSignal;
}

/** Options of `createInstanceUpdates`. */
export interface InstanceOptions {
  /** Product that is updated: its name, and names that are not derived from it. Default: svc (docs/larder.md). */
  product?: ProductOptions;
  /** Running version: `v1.4.2` or `v1.6.0-canary.3`, with or without `v`. For any other value, no update is offered. */
  version: string;
  /**
   * Image of the updater, preferably with a digest. Null: the image of the server's own container, which must be built
   * from an image of svc-updater.
   */
  updaterImage: string | null;
  /** When to pull the updater image. `missing` pulls the image only if it does not exist locally. Default: `always`. */
  updaterPull?: 'always' | 'missing';
  /** Environment variables of the updater, for example `{ SVC_UPDATER_WAIT_TIMEOUT: '600' }`. Default: none. */
  updaterEnvironment?: Readonly<Record<string, string>>;
  /**
   * Name of the updater container. Instances on the same engine can update at the same time only if their names differ.
   * Default: `svc-updater`, or the container name of the product.
   */
  containerName?: string;
  /**
   * Release feed. Null disables the feed. With `trust`, only signed releases are offered. `channelUrl` is the address
   * of the publisher's `channel.json` (docs/release-feed.md). Default: the product's feed; required if the product
   * has no feed.
   */
  feed?: (FeedOptions & { trust?: Trust; channelUrl?: string }) | null;
  /** Authenticates the sender of a request. Must respond within 10 seconds. */
  authorize(request: Request): Awaitable<Caller>;
  /** Job queue, which is paused during an update. Default: the application has no jobs. */
  queue?: JobQueue;
  /** Persistent state, for example `fileStore(directory)`. */
  store: Store;
  /**
   * Called once before each update, for example to dump a database. The call is never retried. To refuse the update,
   * throw an error or return a message. Default: none.
   */
  beforeUpdate?(preparation: Preparation): Awaitable<unknown>;
  /** Description of `beforeUpdate` that users see, for example: The database is dumped first. Default: none. */
  preparation?: string;
  /** Time limit for `beforeUpdate` in seconds. Default: 3600. */
  preparationTimeoutSeconds?: number;
  /** Maximum time in seconds for which an update with `when: "idle"` waits for running jobs. Default: 3600. */
  idleTimeoutSeconds?: number;
  /**
   * Whether the data is saved before each update. If the new version fails, the updater restores the data. Admins can
   * also roll back later. Default: false (docs/server-library.md).
   */
  restorePoint?: boolean;
  /** Maximum downtime in seconds while the data is saved. Default: no limit (docs/server-library.md). */
  maxDowntimeSeconds?: number;
  /** Whether old images are removed after each successful update. Default: false (docs/server-library.md). */
  removeOldImages?: boolean;
  /**
   * Whether images are downloaded before an update is requested. If a time window in the server's time zone is given,
   * images are downloaded only in that window. Default: false (docs/automatic-updates.md).
   */
  prefetch?: boolean | TimeWindow;
  /**
   * Initial settings of automatic updates, until an admin changes them. Default: disabled; every day from 02:00 to
   * 05:00 in the server's time zone, minimum age 72 hours, no major versions (docs/automatic-updates.md).
   */
  automatic?: AutomaticUpdateSettingsChange;
  /**
   * Called between two steps of an upgrade path. To delay the next step, return a message. The call is then repeated
   * every ten seconds, for up to one hour. Default: no delay.
   */
  afterStep?(step: { version: string }): Awaitable<unknown>;
  /** Returns the build servers, which must be updated separately from the instance. Default: none. */
  buildServers?(): Awaitable<readonly KnownBuildServer[]>;
  /**
   * Services that are updated with the app. Default: the services labelled `svc.role: worker`. If no service has that
   * label, the services with a default worker name of the product, such as `worker`.
   */
  workers?: readonly string[];
  /** Service of the app, if the library runs in another service. Default: the server's own service. */
  app?: string;
  /**
   * Address of the engine: a socket mounted in the server's container, or a socket proxy (`tcp://socket-proxy:2375`).
   * Default: `unix:///var/run/docker.sock`.
   */
  engine?: string;
  /**
   * Host path of the engine's socket, which is mounted in the updater container. Required if `engine` is a `tcp://`
   * address. Default: the host path of the mounted socket.
   */
  updaterSocket?: string;
  /** Path, in the server's container, of a Docker `config.json` with registry credentials. Default: none. */
  registryCredentials?: string;
  /** Host directories with files for compose, in addition to the directories in the compose labels. Default: none. */
  directories?: readonly string[];
  /** Base path of the endpoints. Default: `/api/v1/instance/update`. */
  path?: string;
  /**
   * Called with each finished run. If the call fails, it is repeated, with at most three calls in all. Detect repeats
   * by the run's id. Default: none.
   */
  onEnd?(run: Run): Awaitable<void>;
  /**
   * Up to 8 addresses for notifications: a web hook, `ntfy+https://…` or `slack+https://…`. Default: none
   * (docs/automatic-updates.md).
   */
  notify?: readonly string[];
  /** Receives log entries. Default: warnings and errors go to the console. */
  log?(entry: LogEntry): void;
}
