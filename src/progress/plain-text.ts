/** Characters that move the cursor, colour, hide or turn around what stands beside them. */
const risky = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** What is no plain character is written out as `\u202e`, so that the text can stand in a log, on a page and on a terminal. */
export const writtenOut = (text: string): string =>
  text.replace(risky, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
