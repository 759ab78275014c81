import * as z from 'zod/mini';

const listOfWords = 'must be a list of 1 to 64 strings without NUL, each of at most 4,096 characters';
/** A program and its arguments. */
export const commandSchema = z.readonly(
  z
    .array(z.string(listOfWords).check(z.regex(/^[^\0]{0,4096}$/, listOfWords)), listOfWords)
    .check(z.minLength(1, listOfWords), z.maxLength(64, listOfWords)),
);
