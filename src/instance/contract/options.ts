import * as z from 'zod/mini';
import english from 'zod/v4/locales/en.js';
import type { FeedOptions, LogEntry } from '../../feed/feed-options.ts';
import { type Channel, channels } from '../../release/channel.ts';
import type { JobKind } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';

type Awaitable<T> = T | Promise<T>;

/** Who sends a request: an admin, another user of the instance, or nobody that it knows. */
export type Caller = 'admin' | 'user' | null;

/** What must have ended before an update may start. */
export interface Job {
  kind: JobKind;
  /** What waits is no hindrance but for a deployment: it runs after the update. */
  state: 'queued' | 'running';
  since?: Date;
}

/** The host's job queue. An update holds it with a hold of its own, which nobody else's depends on. */
export interface JobQueue {
  /** From here on no job starts; those that run go on. Called again while it is held, it changes nothing. */
  hold(): Awaitable<void>;
  /** Lets jobs start again. Called without a hold, also at every boot after which no update is on, it changes nothing. */
  release(): Awaitable<void>;
  /** Everything that is queued or running right now. */
  jobs(): Awaitable<readonly Job[]>;
}

export interface ChannelStore {
  /** What was written last; null before that. */
  read(): Awaitable<Channel | null>;
  write(channel: Channel): Awaitable<void>;
}

/** What only the host knows. */
export interface InstanceOptions {
  /** The server's own version: `v1.4.2` or `v1.6.0-canary.3`. With anything else, nothing is offered. */
  version: string;
  /** The updater's image, best by digest. */
  updaterImage: string;
  /** `missing`: an image that the engine has is not pulled again. Default `always`. */
  updaterPull?: 'always' | 'missing';
  /** Settings of the updater: `{ SVC_UPDATER_WAIT_TIMEOUT: '600' }`. */
  updaterEnvironment?: Readonly<Record<string, string>>;
  /**
   * The name of the updater's container, by which operators read its log. Default `svc-updater`. An engine runs one
   * update at a time under one name: instances that share an engine update side by side under names of their own.
   */
  containerName?: string;
  /** Where releases are published; null: never asked for, nothing is offered. */
  feed: FeedOptions | null;
  authorize(request: Request): Awaitable<Caller>;
  queue: JobQueue;
  channel: ChannelStore;
  /** Services that are updated beside the server's own. Default `worker`, where there is one. */
  workers?: readonly string[];
  /** The engine's socket as it is mounted in the server's container. Default `/var/run/docker.sock`. */
  socketPath?: string;
  /** A config.json with logins of registries, as it is mounted in the server's container. */
  registryCredentials?: string;
  /** Further directories of the host that compose reads files from, beside those that the labels name. */
  directories?: readonly string[];
  /** Where the endpoints are. Default `/api/v1/instance/update`. */
  path?: string;
  /** Told when a run ends that this process followed. */
  onEnd?(run: Run): void;
  /** Default: nowhere. */
  log?(entry: LogEntry): void;
}

export type Settings = Required<Omit<InstanceOptions, 'registryCredentials' | 'workers'>> & {
  registryCredentials: string | null;
  /** Null where the host left it to the updater. */
  workers: readonly string[] | null;
};

const text = (form: RegExp, message: string) => z.string().check(z.regex(form, message));
const absolute = text(/^\/(?:.*[^/])?$/, 'must be an absolute path');
const callable = z.custom<never>((value) => typeof value === 'function', 'must be a function');
const service = text(/^[a-zA-Z0-9._-]+$/, 'must be the name of a service');

const shape = z.strictObject({
  version: z.string().check(z.minLength(1)),
  updaterImage: text(/^[^\s-]\S*$/, 'must be an image reference'),
  updaterPull: z.optional(z.enum(['always', 'missing'])),
  updaterEnvironment: z.optional(
    z.record(text(/^SVC_UPDATER_[A-Z_]+$/, 'must be a setting of the updater'), z.string()),
  ),
  containerName: z.optional(text(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, "must be a container's name")),
  feed: z.nullable(
    z.strictObject({
      url: z.url({ protocol: /^https?$/, message: 'must be an http or https address' }),
      headers: z.optional(z.record(z.string(), z.string())),
    }),
  ),
  authorize: callable,
  queue: z.object({ hold: callable, release: callable, jobs: callable }),
  channel: z.object({ read: callable, write: callable }),
  workers: z.optional(z.array(service)),
  socketPath: z.optional(absolute),
  registryCredentials: z.optional(absolute),
  directories: z.optional(z.array(absolute)),
  path: z.optional(
    text(/^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~-]+)+$/, 'must be a path such as /api/v1/instance/update'),
  ),
  onEnd: z.optional(callable),
  log: z.optional(callable),
});

/** Given with the question, and not set for the process, where the host may use zod as well. */
const { localeError } = english();

/** The options with their defaults. @throws TypeError that names every mistake at once */
export function readOptions(options: InstanceOptions): Settings {
  const { error } = shape.safeParse(options, { error: localeError });
  if (error) throw new TypeError(`svc-updater: wrong options\n${z.prettifyError(error)}`);
  return {
    ...options,
    updaterPull: options.updaterPull ?? 'always',
    updaterEnvironment: options.updaterEnvironment ?? {},
    containerName: options.containerName ?? 'svc-updater',
    workers: options.workers ?? null,
    socketPath: options.socketPath ?? '/var/run/docker.sock',
    registryCredentials: options.registryCredentials ?? null,
    directories: options.directories ?? [],
    path: options.path ?? '/api/v1/instance/update',
    onEnd: options.onEnd ?? (() => {}),
    log: options.log ?? (() => {}),
  };
}

/** Whether a stored channel is one; the host's store is a door, too. */
export const isChannel = (value: unknown): value is Channel => channels.some((channel) => channel === value);
