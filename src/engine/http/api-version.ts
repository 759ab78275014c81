import { EngineError, errorMessageOf } from './engine-error.ts';

/**
 * Oldest and newest supported API versions. Engines since 2017 support the oldest. Since version 1.52, responses lack
 * some fields, so those versions are not used.
 */
const oldest = '1.30';
const newest = '1.51';

/**
 * Returns the newest API version that both the engine and this program support. Returns null if the engine does not
 * report its version: the engine then uses its newest version for requests without a version.
 * @throws EngineError if the engine is too old
 */
export function negotiateApiVersion({ ApiVersion, MinAPIVersion }: Record<string, unknown>): string | null {
  if (!isApiVersion(ApiVersion)) return null;
  if (!isVersionAtLeast(ApiVersion, oldest)) {
    const message = `the engine is too old: it supports API ${ApiVersion}, but at least ${oldest} is required`;
    throw new EngineError('unsupported', message);
  }
  // If the engine no longer supports `newest`, use its oldest version, which is the closest.
  const wanted =
    isApiVersion(MinAPIVersion) && !isVersionAtLeast(newest, MinAPIVersion) ? MinAPIVersion : newest;
  return isVersionAtLeast(wanted, ApiVersion) ? ApiVersion : wanted;
}

/**
 * Checks whether the engine rejected a request because of its API version, so that the request had no effect. The
 * engine may have been replaced since it reported its version.
 */
export const isUnsupportedVersionResponse = (response: { status: number; body: Buffer }): boolean =>
  response.status === 400 && /client version \S+ is too (?:new|old)/i.test(errorMessageOf(response));

/** Adds the API version to a path; null leaves the path unchanged. */
export const toVersionedPath = (version: string | null, path: string): string =>
  version === null ? path : `/v${version}${path}`;

/** Compares the first two numbers of versions such as `1.45` (API) or `v5.3.0-4` (compose). */
export function isVersionAtLeast(version: string, needed: string): boolean {
  const [[major, minor], [neededMajor, neededMinor]] = [numbersOf(version), numbersOf(needed)];
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

/** Before API 1.44, a container is created with one network and connected to the others afterwards. */
export const canCreateWithAllNetworks = (apiVersion: string): boolean => isVersionAtLeast(apiVersion, '1.44');

export const isApiVersion = (text: unknown): text is string =>
  typeof text === 'string' && /^1\.\d{1,4}$/.test(text);

function numbersOf(version: string): [major: number, minor: number] {
  const [, major = 0, minor = 0] = (/^v?(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  return [major, minor];
}
