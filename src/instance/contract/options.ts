import { prettifyError } from 'zod/mini';
import english from 'zod/v4/locales/en.js';
import type { FeedOptions, LogEntry } from '../../feed/feed.ts';
import { type Product, type ProductOptions, productOf, svc } from '../../progress/product.ts';
import type { Trust } from '../../provenance/trust.ts';
import type { JobKind } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';
import { type AutomaticChoice, type AutomaticSettings, automaticSettings } from './automatic.ts';
import { optionsSchema } from './options-schema.ts';
import type { TimeWindow } from './time-window.ts';

export type Awaitable<T> = T | Promise<T>;

type Role = 'admin' | 'user';
/** Who sends a request: an admin, another user of the instance, either with a name, or nobody that it knows. */
export type Caller = Role | { role: Role; name: string } | null;

/** What must have ended before an update may start. */
export interface Job {
  kind: JobKind;
  /** What waits is no hindrance but for a deployment: it runs after the update. */
  state: 'queued' | 'running';
  /** What people call it. */
  title?: string;
  since?: Date;
  /** It will not end by itself: nobody should wait for it. */
  stuck?: boolean;
}

/** The host's job queue. An update holds it with a hold of its own, which nobody else's depends on. */
export interface JobQueue {
  /** From here on no job starts; those that run go on. Called again while it is held, it changes nothing. */
  hold(): Awaitable<void>;
  /** Lets jobs start again. Called without a hold, also at every boot after which no update is on, it changes nothing. */
  resume(): Awaitable<void>;
  /** Everything that is queued or running right now. */
  jobs(): Awaitable<readonly Job[]>;
}

/** Texts by key that outlive the server, and that all servers of the instance share. */
export interface Store {
  /** What was set last; null before that. */
  get(key: string): Awaitable<string | null>;
  /** Compare and set: sets the text, or removes it, if what is there is `was`; says whether it was. */
  set(key: string, text: string | null, condition: { was: string | null }): Awaitable<boolean>;
  /** The directory that it keeps them in, where it is one: it has to be on a mount of the server's container. */
  readonly directory?: string;
}

/** A server elsewhere that builds for the platform. */
export interface KnownBuildServer {
  name: string;
  version: string;
  /** The command that updates it, to be typed there. */
  command: string;
}

/** What the platform does between the hold and the launch. */
export interface Preparation {
  /** The run's id. */
  run: string;
  from: string;
  /** The release, where it is known; else `canary`. */
  target: string;
  major: boolean;
  /** Tells people what is being done. */
  say(message: string): void;
  /** Given when the run is cancelled or the time is over. */
  signal: AbortSignal;
}

/** What only the host knows. */
export interface InstanceOptions {
  /**
   * What it is that is updated: its name, and where its parts are called otherwise than by it. Logs, sentences and the
   * updater go by it. Default svc (docs/your-product.md).
   */
  product?: ProductOptions;
  /** The server's own version: `v1.4.2` or `v1.6.0-canary.3`, with or without `v`. With anything else, nothing is offered. */
  version: string;
  /** The updater's image, best by digest. */
  updaterImage: string;
  /** `missing`: an image that the engine has is not pulled again. Default `always`. */
  updaterPull?: 'always' | 'missing';
  /** Settings of the updater: `{ SVC_UPDATER_WAIT_TIMEOUT: '600' }`. */
  updaterEnvironment?: Readonly<Record<string, string>>;
  /**
   * The name of the updater's container, by which operators read its log. Default that of
   * the product, `svc-updater`. An engine runs one
   * update at a time under one name: instances that share an engine update side by side under names of their own.
   */
  containerName?: string;
  /**
   * Where releases are published; null: never asked for, nothing is offered. Left out: the feed of `product`, where that
   * has one. With `trust` only those count that prove by whom they were published (docs/server-library.md).
   */
  feed?: (FeedOptions & { trust?: Trust }) | null;
  authorize(request: Request): Awaitable<Caller>;
  queue: JobQueue;
  store: Store;
  /**
   * Runs once before the updater is launched, the place for a database dump; never retried. The update is refused by
   * what it throws, and by a sentence that it gives.
   */
  beforeUpdate?(preparation: Preparation): Awaitable<unknown>;
  /** What `beforeUpdate` does, for people: "A dump of the database is made first." */
  preparation?: string;
  /** Seconds after which `beforeUpdate` is given up. Default 3600. */
  preparationTimeoutSeconds?: number;
  /** Seconds that an update waits for running jobs where it was asked to. Default 3600. */
  idleTimeoutSeconds?: number;
  /**
   * Each update saves the data first, after the old version has stopped. If the new version fails, the updater rolls back
   * and restores the data; admins can roll back later. Default false (docs/server-library.md).
   */
  restorePoint?: boolean;
  /**
   * The images of what is offered are fetched before anybody asks for it: at any time, or from one time to another by the
   * server's clock. Default false (docs/server-library.md).
   */
  prefetch?: boolean | TimeWindow;
  /**
   * What is offered starts by itself, in a window of the night: what holds until an admin has set it. Default off
   * (docs/server-library.md).
   */
  automatic?: AutomaticChoice;
  /**
   * Asked between two updates of a path whether the platform is ready for the next one: a sentence that it gives says why
   * not yet. It is asked again every ten seconds, for an hour.
   */
  afterStep?(step: { version: string }): Awaitable<unknown>;
  /** The servers elsewhere that an update does not reach. */
  buildServers?(): Awaitable<readonly KnownBuildServer[]>;
  /** Services that are updated beside the app. Default those labelled `svc.role: worker`, else those of the product that there are: `worker`. */
  workers?: readonly string[];
  /** The app's service, where the library lives in another one. Default the server's own. */
  app?: string;
  /**
   * Where the engine answers: a socket that is mounted in the server's container, or a proxy before one
   * (`tcp://socket-proxy:2375`). Default `unix:///var/run/docker.sock`.
   */
  engine?: string;
  /** The engine's socket on the machine, for the updater. Default the one that is mounted; with `tcp://` it has to be said. */
  updaterSocket?: string;
  /** A config.json with logins of registries, as it is mounted in the server's container. */
  registryCredentials?: string;
  /** Further directories of the host that compose reads files from, beside those that the labels name. */
  directories?: readonly string[];
  /** Where the endpoints are. Default `/api/v1/instance/update`. */
  path?: string;
  /**
   * Told of each run's end at least once, by one of the servers that saw it, up to three times where it fails or the
   * server dies of it: the run's id tells repeats.
   */
  onEnd?(run: Run): Awaitable<void>;
  /** Default: warnings and errors go to the console. */
  log?(entry: LogEntry): void;
}

/** Options that are null where they are left out. */
type Nullable =
  | 'afterStep'
  | 'app'
  | 'beforeUpdate'
  | 'feed'
  | 'preparation'
  | 'registryCredentials'
  | 'updaterSocket'
  | 'workers';
type Renamed = 'product' | 'preparationTimeoutSeconds' | 'idleTimeoutSeconds' | 'automatic';

/** The options with their defaults. */
export type Settings = Required<Omit<InstanceOptions, Nullable | Renamed>> & {
  [Name in Nullable]: NonNullable<InstanceOptions[Name]> | null;
} & {
  product: Product;
  automatic: AutomaticSettings;
  preparationMs: number;
  idleMs: number;
};

/** @throws TypeError that names every mistake at once */
export function readOptions(given: InstanceOptions): Settings {
  const { product, mistakes } = readProduct(given);
  const { name, containerName } = product;
  // The product may say where its releases are published.
  const isSaid = given?.feed !== undefined || !given?.product?.feed;
  const options = isSaid ? given : { ...given, feed: { url: given.product?.feed ?? '' } };
  // Given with the question, and not set for the process, where the host may use zod as well.
  const { error } = optionsSchema().safeParse(options, { error: english().localeError });
  if (error) mistakes.unshift(prettifyError(error));
  if (mistakes.length > 0) throw new TypeError(`${name}-updater: invalid options\n${mistakes.join('\n')}`);
  const { preparationTimeoutSeconds = 3600, idleTimeoutSeconds = 3600, ...rest } = options;
  const said = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return {
    afterStep: null,
    prefetch: false,
    app: null,
    beforeUpdate: null,
    buildServers: () => [],
    containerName,
    directories: [],
    engine: 'unix:///var/run/docker.sock',
    feed: null,
    log: toConsole(name),
    onEnd: () => {},
    path: '/api/v1/instance/update',
    preparation: null,
    registryCredentials: null,
    restorePoint: false,
    updaterEnvironment: {},
    updaterPull: 'always',
    updaterSocket: null,
    workers: null,
    ...(said as typeof rest),
    product,
    automatic: automaticSettings(options.automatic ?? {}),
    version: withV(options.version),
    preparationMs: preparationTimeoutSeconds * 1000,
    idleMs: idleTimeoutSeconds * 1000,
  };
}

const toConsole =
  (name: string) =>
  ({ level, message, cause }: LogEntry): void => {
    if (level !== 'info')
      console[level](`${name}-updater: ${message}`, ...(cause === undefined ? [] : [cause]));
  };

/** The product svc where none is given, and where the given one is wrong, which the mistakes say. */
function readProduct(given: InstanceOptions): { product: Product; mistakes: string[] } {
  try {
    return { product: given?.product === undefined ? svc : productOf(given.product), mistakes: [] };
  } catch (error) {
    return { product: svc, mistakes: [`✖ ${(error as Error).message}\n  → at product`] };
  }
}

/** Build tools tell versions without the `v` of their tags. */
const withV = (version: string): string => (/^\d+\.\d+\.\d+/.test(version) ? `v${version}` : version);
