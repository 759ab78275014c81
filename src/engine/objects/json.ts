/** JSON of the engine's API: an inspection, or the body of `POST /containers/create`. */
export type Json = Record<string, unknown>;

export const toObject = (value: unknown): Json => (value ?? {}) as Json;
export const toList = <T = unknown>(value: unknown): T[] => (Array.isArray(value) ? value : []);
export const toStrings = (value: unknown): string[] => toList(value).map(String);

/** Checks whether the engine treats a value in a request as if it were missing, and uses its default. */
export const isUnsetValue = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Parses a JSON object or list; null for any other text. */
export function parseJsonOrNull(text: string): Json | null {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

/** @throws TypeError if the value is not a string, or is empty */
export function requireNonEmptyString(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError('a string is missing');
  return value;
}

/** @throws TypeError if the value is not a list */
export function requireList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError('a list is missing');
  return value;
}
