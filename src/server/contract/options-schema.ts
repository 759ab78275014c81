import * as z from 'zod/mini';
import type { ProductOptions } from '../../core/progress/product.ts';
import { engineTarget } from '../../engine/http/target.ts';
import { addressForm, mostAddresses, readAddress } from '../../notify/address.ts';
import { trustSchema } from '../../provenance/trust-schema.ts';
import { automaticSchema, clock } from './schemas.ts';

function isEngineAddress(text: string): boolean {
  try {
    const { options } = engineTarget(text);
    return options.socketPath === undefined || /^\/.*[^/]$/.test(options.socketPath);
  } catch {
    return false;
  }
}

/** Made when it is asked for: an import has no use of it, and waits for it. */
export function optionsSchema() {
  const text = (form: RegExp, message: string) => z.string().check(z.regex(form, message));
  const absolute = text(/^\/(?:.*[^/])?$/, 'must be an absolute path');
  const callable = z.custom<never>((value) => typeof value === 'function', 'must be a function');
  const seconds = z.number().check(z.gt(0), z.lte(7 * 24 * 3600));
  const service = text(/^[a-zA-Z0-9._-]+$/, 'must be a service name');

  return z.strictObject({
    product: z.optional(z.custom<ProductOptions>(() => true)),
    version: z.string().check(z.minLength(1)),
    updaterImage: text(/^[^\s-]\S*$/, 'must be an image reference'),
    updaterPull: z.optional(z.enum(['always', 'missing'])),
    updaterEnvironment: z.optional(
      z.record(text(/^SVC_UPDATER_[A-Z_]+$/, 'must be the name of an updater setting'), z.string()),
    ),
    containerName: z.optional(text(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, 'must be a container name')),
    feed: z.nullable(
      z.strictObject({
        url: z.url({ protocol: /^https?$/, message: 'must be an http or https address' }),
        headers: z.optional(z.record(z.string(), text(/^\s*.*\s*$/, 'must be one line of text'))),
        trust: z.optional(trustSchema),
        channelUrl: z.optional(z.url({ protocol: /^https?$/, message: 'must be an http or https address' })),
      }),
    ),
    authorize: callable,
    queue: z.object({ hold: callable, resume: callable, jobs: callable }),
    store: z.object({ get: callable, set: callable }),
    beforeUpdate: z.optional(callable),
    preparation: z.optional(z.string()),
    preparationTimeoutSeconds: z.optional(seconds),
    idleTimeoutSeconds: z.optional(seconds),
    restorePoint: z.optional(z.boolean()),
    maxDowntimeSeconds: z.optional(seconds),
    removeOldImages: z.optional(z.boolean()),
    prefetch: z.optional(z.union([z.boolean(), z.strictObject({ from: clock, to: clock })])),
    automatic: z.optional(automaticSchema),
    afterStep: z.optional(callable),
    buildServers: z.optional(callable),
    workers: z.optional(z.array(service)),
    app: z.optional(service),
    engine: z.optional(
      z.string().check(z.refine(isEngineAddress, 'must be unix:///PATH or tcp://HOST:PORT')),
    ),
    updaterSocket: z.optional(absolute),
    registryCredentials: z.optional(absolute),
    directories: z.optional(z.array(absolute)),
    path: z.optional(
      text(/^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~-]+)+$/, 'must be a path such as /api/v1/instance/update'),
    ),
    notify: z.optional(
      z
        .array(z.string().check(z.refine((text) => readAddress(text) !== null, `must be ${addressForm}`)))
        .check(z.maxLength(mostAddresses)),
    ),
    onEnd: z.optional(callable),
    log: z.optional(callable),
  });
}
