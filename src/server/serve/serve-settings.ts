import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import * as z from 'zod/mini';
import english from 'zod/v4/locales/en.js';
import type { InstanceOptions } from '../contract/instance-options.ts';
import { validateInstanceOptions } from '../contract/validate-options.ts';

/** Validated settings of `svc-updater serve` (docs/any-backend.md). */
export interface ServeSettings {
  port: number;
  /** Base path of the endpoints and of `elements.js`. */
  path: string;
  /** Null if the product has no callbacks. */
  callbacksUrl: string | null;
  /** Whether the product has no job queue; null if its callbacks control a queue. */
  queue: 'none' | null;
  /**
   * Secret shared with the product. It authenticates callbacks to the product, and requests from the product's proxy.
   */
  secret: string;
  /** Token for programs that act as an admin; null if no token is set. */
  token: string | null;
  storeDirectory: string;
  /** All other settings, which are options of the library. */
  options: Omit<InstanceOptions, 'authorize' | 'queue' | 'store'>;
}

const prefix = 'SVC_SERVE_';
const fileVariable = `${prefix}FILE`;
/** A secret must be valid in a header, because `fetch` quotes invalid headers in its errors. */
const secretPattern = /^[!-~]{32,}$/;

const callbacksUrl = z
  .url({ protocol: /^https?$/, message: 'must be an http or https address' })
  .check(z.refine((text) => !/@|\?|#/.test(text), 'must not contain credentials, a query or a fragment'));

const ownSchema = z.object({
  port: z._default(z.int().check(z.gte(1), z.lte(65535)), 8080),
  callbacksUrl: z._default(z.nullable(callbacksUrl), null),
  queue: z._default(z.nullable(z.literal('none')), null),
  storeDirectory: z._default(z.string().check(z.startsWith('/', 'must be an absolute path')), '/store'),
});

/** Library options that are rejected as settings: `svc-updater serve` sets them itself, or they require a function. */
const unsupportedOptions =
  'authorize,store,afterStep,beforeUpdate,buildServers,log,onEnd,preparation,preparationTimeoutSeconds'.split(
    ',',
  );
/** Accepts all options, because the library validates them. */
const libraryOptionsSchema = z.custom<ServeSettings['options']>(() => true);

/** Reads the settings file and the environment variables, which take precedence. Returns all mistakes together. */
export async function readServeSettings(
  env: NodeJS.ProcessEnv,
): Promise<{ settings: ServeSettings } | { mistakes: string[] }> {
  const mistakes: string[] = [];
  const given = {
    ...(await readServeSettingsFile(env[fileVariable], mistakes)),
    ...parseEnvSettings(env, mistakes),
  };
  const { data, error } = ownSchema.safeParse(given, { error: english().localeError });
  if (error) mistakes.push(z.prettifyError(error));
  if ((given.callbacksUrl ?? null) === null && (given.queue ?? null) === null)
    mistakes.push('callbacksUrl must be set, unless queue is none');
  const secret = await readSecret(given, 'secret', mistakes);
  const token = await readSecret(given, 'token', mistakes);
  const { port, callbacksUrl, queue, storeDirectory, ...others } = given;
  const { secret: _, secretFile, token: __, tokenFile, ...rest } = others;
  for (const key of unsupportedOptions.filter((name) => name in rest)) {
    mistakes.push(`${key} cannot be set: this option is only for programs that embed the library`);
    delete rest[key];
  }
  const said = libraryOptionsSchema.parse(rest);
  const usualApp = said.product?.services?.[0] ?? 'app';
  const { updaterImage = null, app = usualApp } = said;
  const options = { ...said, updaterImage, app };
  const callbacks = data?.callbacksUrl && replaceHost(data.callbacksUrl, usualApp, app);
  if (data?.callbacksUrl && !callbacks) mistakes.push(`callbacksUrl cannot contain the service name ${app}`);
  const functions = { authorize: () => null, store: { get: () => null, set: () => false } };
  try {
    const { path } = validateInstanceOptions({ ...options, ...functions });
    if (data && secret !== null && mistakes.length === 0)
      return {
        settings: {
          ...data,
          callbacksUrl: callbacks ?? null,
          path,
          secret,
          token,
          options,
        },
      };
  } catch (cause) {
    mistakes.push((cause as Error).message);
  }
  // zod formats each error as two lines, which are joined here.
  return { mistakes: mistakes.flatMap((text) => text.replaceAll(/\n\s+/g, ' ').split('\n')) };
}

/**
 * In the settings of all instances, the app has its usual name. An instance may have another name for it. Returns null
 * if that name cannot be the host of an address.
 */
function replaceHost(address: string, usual: string, own: string): string | null {
  const url = new URL(address);
  if (url.hostname !== usual.toLowerCase() || own === usual) return address;
  url.hostname = own;
  return url.hostname === own.toLowerCase() ? url.href : null;
}

type Given = Record<string, unknown>;
const isMap = (value: unknown): value is Given => Object(value) === value && !Array.isArray(value);

async function readServeSettingsFile(path: string | undefined, mistakes: string[]): Promise<Given> {
  if (!path) return {};
  try {
    const settings: unknown = parse(await readFile(path, 'utf8'));
    if (isMap(settings)) return settings;
    mistakes.push(`${path} must contain YAML settings, such as "port: 8080"`);
  } catch (cause) {
    // Report only the first line of a YAML error, because the other lines quote the file, which may contain passwords.
    mistakes.push(`${path} cannot be read: ${(cause as Error).message.split(/:?\n/)[0]}`);
  }
  return {};
}

/** Parses settings such as `SVC_SERVE_UPDATER_IMAGE`, which sets `updaterImage`. Values other than strings are JSON. */
function parseEnvSettings(env: NodeJS.ProcessEnv, mistakes: string[]): Given {
  const settings: Given = {};
  for (const [name, text] of Object.entries(env)) {
    if (!text || !name.startsWith(prefix) || name === fileVariable) continue;
    const key = name
      .slice(prefix.length)
      .toLowerCase()
      .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    try {
      const isJson = /^(?:[[{]|(?:true|false|null|\d+)$)/.test(text) && !['secret', 'token'].includes(key);
      settings[key] = isJson ? JSON.parse(text) : text;
    } catch {
      mistakes.push(`${name} is not valid JSON`);
    }
  }
  return settings;
}

/** Reads a secret from a setting, or from a file. Returns null, and adds a mistake, if it is missing or invalid. */
async function readSecret(
  given: Given,
  name: 'secret' | 'token',
  mistakes: string[],
): Promise<string | null> {
  const [value, path] = [given[name] ?? undefined, given[`${name}File`] ?? undefined];
  const file = `${name}File: ${path}`;
  if (value !== undefined && path !== undefined) mistakes.push(`set ${name} or ${name}File, not both`);
  if (value === undefined && path === undefined) {
    if (name === 'secret') mistakes.push('secret or secretFile must be set');
    return null;
  }
  const text = value ?? (await readFile(`${path}`, 'utf8').catch(() => null));
  if (typeof text === 'string' && secretPattern.test(text.trim())) return text.trim();
  mistakes.push(
    text === null
      ? `${file} cannot be read`
      : `${value === undefined ? file : name} must contain one line of at least 32 ASCII characters without spaces`,
  );
  return null;
}
