import * as z from 'zod/mini';
import english from 'zod/v4/locales/en.js';
import { createProduct, type Product, svcProduct } from '../../core/names/product.ts';
import { parseEngineConnection } from '../../engine/http/engine-connection.ts';
import type { LogEntry } from '../../feed/create-feed.ts';
import {
  maxNotificationAddresses,
  notificationAddressDescription,
  parseNotificationAddress,
} from '../../notify/address.ts';
import { trustSchema } from '../../provenance/trust-schema.ts';
import { applyAutomaticUpdateDefaults } from './automatic-update-settings.ts';
import type { InstanceOptions, JobQueue, Store } from './instance-options.ts';
import { automaticUpdateSettingsSchema, clockTimeSchema } from './schemas.ts';

/** Validated options with their defaults. */
export type ValidatedInstanceOptions = Omit<
  z.output<ReturnType<typeof createOptionsSchema>>,
  'product' | 'feed' | 'queue' | 'store'
> & {
  product: Product;
  feed: NonNullable<InstanceOptions['feed']> | null;
  queue: JobQueue;
  store: Store;
  /** `preparationMs` limits `beforeUpdate`, and `idleMs` limits the wait for running jobs. */
  preparationMs: number;
  idleMs: number;
};

function isEngineAddress(text: string): boolean {
  try {
    const { options } = parseEngineConnection(text);
    return options.socketPath === undefined || /^\/.*[^/]$/.test(options.socketPath);
  } catch {
    return false;
  }
}

const text = (form: RegExp, message: string) => z.string().check(z.regex(form, message));
const callable = <Name extends keyof InstanceOptions>() =>
  z.custom<NonNullable<InstanceOptions[Name]>>((value) => typeof value === 'function', 'must be a function');
/** Makes an option optional, with null as its default. */
const createNullableOption = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    z.optional(schema),
    z.transform((value) => (value ?? null) as z.output<T> | null),
  );

/** Not a constant, because building the schema would slow down every import of this module. */
function createOptionsSchema({ name, containerName }: Product) {
  const absolute = text(/^\/(?:.*[^/])?$/, 'must be an absolute path');
  const seconds = z.number().check(z.gt(0), z.lte(7 * 24 * 3600));
  const service = text(/^[a-zA-Z0-9._-]+$/, 'must be a service name');
  const webAddress = z.url({ protocol: /^https?$/, message: 'must be an http or https address' });
  const address = z
    .string()
    .check(
      z.refine(
        (text) => parseNotificationAddress(text) !== null,
        `must be ${notificationAddressDescription}`,
      ),
    );
  const engine = z.string().check(z.refine(isEngineAddress, 'must be unix:///PATH or tcp://HOST:PORT'));
  const container = text(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, 'must be a container name');
  const path = text(
    /^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~-]+)+$/,
    'must be a path such as /api/v1/instance/update',
  );
  return z.strictObject({
    product: z.optional(z.unknown()),
    version: z.pipe(z.string().check(z.minLength(1)), z.transform(addVersionPrefix)),
    updaterImage: z.nullable(text(/^[^\s-]\S*$/, 'must be an image reference')),
    updaterPull: z._default(z.enum(['always', 'missing']), 'always'),
    updaterEnvironment: z._default(
      z.record(text(/^SVC_UPDATER_[A-Z_]+$/, 'must be the name of an updater setting'), z.string()),
      {},
    ),
    containerName: z._default(container, containerName),
    feed: z.nullable(
      z.strictObject({
        url: webAddress,
        headers: z.optional(z.record(z.string(), text(/^\s*.*\s*$/, 'must be one line of text'))),
        trust: z.optional(trustSchema),
        channelUrl: z.optional(webAddress),
      }),
    ),
    authorize: callable<'authorize'>(),
    queue: z.optional(
      z.object({ hold: callable<never>(), resume: callable<never>(), jobs: callable<never>() }),
    ),
    store: z.object({ get: callable<never>(), set: callable<never>() }),
    beforeUpdate: createNullableOption(callable<'beforeUpdate'>()),
    preparation: createNullableOption(z.string()),
    preparationTimeoutSeconds: z._default(seconds, 3600),
    idleTimeoutSeconds: z._default(seconds, 3600),
    restorePoint: z._default(z.boolean(), false),
    maxDowntimeSeconds: createNullableOption(seconds),
    removeOldImages: z._default(z.boolean(), false),
    prefetch: z._default(
      z.union([z.boolean(), z.strictObject({ from: clockTimeSchema, to: clockTimeSchema })]),
      false,
    ),
    automatic: z.pipe(
      z._default(automaticUpdateSettingsSchema, {}),
      z.transform(applyAutomaticUpdateDefaults),
    ),
    afterStep: createNullableOption(callable<'afterStep'>()),
    buildServers: z._default(callable<'buildServers'>(), () => () => []),
    workers: createNullableOption(z.array(service)),
    app: createNullableOption(service),
    engine: z._default(engine, 'unix:///var/run/docker.sock'),
    updaterSocket: createNullableOption(absolute),
    registryCredentials: createNullableOption(absolute),
    directories: z._default(z.array(absolute), []),
    path: z._default(path, '/api/v1/instance/update'),
    notify: z._default(z.array(address).check(z.maxLength(maxNotificationAddresses)), []),
    onEnd: z._default(callable<'onEnd'>(), () => () => {}),
    log: z._default(callable<'log'>(), () => createConsoleLog(name)),
  });
}

/** Queue of an application that has no jobs. */
export const noQueue: JobQueue = { hold() {}, resume() {}, jobs: () => [] };

const minNodeVersion = [22, 12] as const;

/** Validates the options and adds defaults. @throws TypeError that lists all errors */
export function validateInstanceOptions(
  given: InstanceOptions,
  nodeVersion = process.versions.node,
): ValidatedInstanceOptions {
  const { product, mistakes } = readProduct(given);
  const { name } = product;
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  if (major < minNodeVersion[0] || (major === minNodeVersion[0] && minor < minNodeVersion[1]))
    throw new TypeError(
      `${name}-updater requires Node.js ${minNodeVersion.join('.')} or later; this is Node.js ${nodeVersion}`,
    );
  // Without the option `feed`, the feed of the product is used, if the product has one.
  const isSaid = given?.feed !== undefined || !given?.product?.feed;
  const options = isSaid ? given : { ...given, feed: { url: given.product?.feed ?? '' } };
  // The locale is passed here and not set globally, because the application may use zod as well.
  const { data, error } = createOptionsSchema(product).safeParse(options, { error: english().localeError });
  if (error) mistakes.unshift(z.prettifyError(error));
  if (!data || mistakes.length > 0)
    throw new TypeError(`${name}-updater: invalid options\n${mistakes.join('\n')}`);
  const { feed = null, queue = noQueue, store } = options;
  const preparationMs = data.preparationTimeoutSeconds * 1000;
  // Return the given `queue` and `store`, not zod's copies, because their methods may need `this`.
  return { ...data, feed, queue, store, product, preparationMs, idleMs: data.idleTimeoutSeconds * 1000 };
}

const createConsoleLog =
  (name: string) =>
  ({ level, message, cause }: LogEntry): void => {
    if (level !== 'info')
      console[level](`${name}-updater: ${message}`, ...(cause === undefined ? [] : [cause]));
  };

/** Returns the product svc if the options contain no product or an invalid one. */
function readProduct(given: InstanceOptions): { product: Product; mistakes: string[] } {
  try {
    return {
      product: given?.product === undefined ? svcProduct : createProduct(given.product),
      mistakes: [],
    };
  } catch (error) {
    return { product: svcProduct, mistakes: [`✖ ${(error as Error).message}\n  → at product`] };
  }
}

/** Adds a missing `v`, because build tools often report versions without `v`. */
const addVersionPrefix = (version: string): string =>
  /^\d+\.\d+\.\d+/.test(version) ? `v${version}` : version;
