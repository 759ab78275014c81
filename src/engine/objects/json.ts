/** JSON of the engine's API: an inspection, or the body of `POST /containers/create`. */
export type Json = Record<string, unknown>;

export const toObject = (value: unknown): Json => (value ?? {}) as Json;
export const toList = <T = unknown>(value: unknown): T[] => (Array.isArray(value) ? value : []);
export const toStrings = (value: unknown): string[] => toList(value).map(String);

/** Checks whether a value counts as unset in a request body, so that the engine uses its default. */
export const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Parses a JSON object; null if the text is not a JSON object. */
export function parseObject(text: string): Json | null {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

/** Returns the value if it is a non-empty text. @throws TypeError if it is not */
export function requireText(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError('a text is missing');
  return value;
}

/** Returns the value if it is a list. @throws TypeError if it is not */
export function requireList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError('a list is missing');
  return value;
}
