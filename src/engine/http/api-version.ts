import { EngineError, refusal } from './engine-error.ts';

/**
 * Between these the answers have the shape that is read here. An engine of 2017 speaks the oldest; of the newest, since
 * 1.48, images and containers tell of manifests, and after it, from 1.52 on, fields are gone.
 */
const oldest = '1.30';
const newest = '1.51';

/**
 * The version of the API to speak with an engine, by what it says of itself: the newest that both know, so that a newer
 * engine answers as it did when this was written. Null if the engine does not report it: it takes its newest then.
 * @throws EngineError if the engine is too old
 */
export function apiVersion({ ApiVersion, MinAPIVersion }: Record<string, unknown>): string | null {
  if (!isVersion(ApiVersion)) return null;
  if (!isAtLeast(ApiVersion, oldest)) {
    const message = `the engine is too old: it supports API ${ApiVersion}, but at least ${oldest} is required`;
    throw new EngineError('unsupported', message);
  }
  // An engine that no longer speaks what is known here is spoken to in the version that is nearest to it.
  const wanted = isVersion(MinAPIVersion) && !isAtLeast(newest, MinAPIVersion) ? MinAPIVersion : newest;
  return isAtLeast(wanted, ApiVersion) ? ApiVersion : wanted;
}

/**
 * Whether the engine refuses the version itself, as one does that has taken another's place. What was asked was not done,
 * whatever it was.
 */
export const isVersionRefusal = (answer: { status: number; body: Buffer }): boolean =>
  answer.status === 400 && /client version \S+ is too (?:new|old)/i.test(refusal(answer));

/** As the engine wants it said. */
export const inVersion = (version: string | null, path: string): string =>
  version === null ? path : `/v${version}${path}`;

/** By the first two numbers of versions as programs say them: `1.45` of the API, `v5.3.0-4` of compose. */
export function isAtLeast(version: string, needed: string): boolean {
  const [[major, minor], [neededMajor, neededMinor]] = [numbersOf(version), numbersOf(needed)];
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

/** Before that, a container is made with its first network, and joined to the others afterwards. */
export const takesAllNetworks = (apiVersion: string): boolean => isAtLeast(apiVersion, '1.44');

export const isVersion = (text: unknown): text is string =>
  typeof text === 'string' && /^1\.\d{1,4}$/.test(text);

function numbersOf(version: string): [major: number, minor: number] {
  const [, major = 0, minor = 0] = (/^v?(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  return [major, minor];
}
