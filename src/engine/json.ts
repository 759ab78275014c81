/** JSON of the engine's API: what inspect says, or the body of `POST /containers/create`. */
export type Json = Record<string, unknown>;

export const object = (value: unknown): Json => (value ?? {}) as Json;
export const list = <T = unknown>(value: unknown): T[] => (Array.isArray(value) ? value : []);
export const strings = (value: unknown): string[] => list(value).map(String);

/** What amounts to nothing in a body, which the engine then fills in. */
export const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Null if the text is no JSON, or of another kind. */
export function parseObject(text: string): Json | null {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

/** @throws TypeError */
export function textOf(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError('a text is missing');
  return value;
}

/** @throws TypeError */
export function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError('a list is missing');
  return value;
}
