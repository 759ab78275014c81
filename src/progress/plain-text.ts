/** Characters that move the cursor, colour, hide or turn around what stands beside them, or are lost in UTF-8. */
const risky = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/gu;

/** What is no plain character is written out as `\u202e`, so that the text can stand in a log, on a page and on a terminal. */
export const writtenOut = (text: string): string =>
  text.replace(risky, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);

/** A JSON value with each of its texts changed; keys stay. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapTexts(one, change)])) as T;
}
