/** Characters that move the cursor, that change, hide or reorder nearby text, or that UTF-8 cannot represent. */
const risky = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/gu;

/** Replaces characters that are unsafe in logs, pages or terminals with escapes such as `\u202e`. */
export const escapeUnprintable = (text: string): string =>
  text.replace(risky, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);

/** Applies a function to all strings of a JSON value, but not to its keys. */
export function mapJsonStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((one) => mapJsonStrings(one, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, mapJsonStrings(one, change)]),
  ) as T;
}
