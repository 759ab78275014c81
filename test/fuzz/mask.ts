import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createMaskFilter, type MaskRules } from '../../src/updater/run/log/mask.ts';
import { createOldMask } from './old-mask.ts';
import type { Target } from './target.ts';

// The mask hides the same texts as the mask of release 1.0.0.

const pick = fc.constantFrom;
const mark = pick(...'_"\\$\'%/ +<&`(*;#~:@.-=?', '\n', '\t');
const letter = pick(...'abnux0145EF', 'ä', '€', '😀', 'Ã', '\ud800');
const piece = pick(
  '%41',
  '\\u0041',
  '\\303\\244',
  '%C3%A4',
  '$$',
  "'\\''",
  `'"'"'`,
  '\\\\',
  '/opt/acme',
  'update',
  'v1.2.3',
);
const word = fc
  .array(fc.oneof({ weight: 2, arbitrary: letter }, mark, piece), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join(''));
const key = pick('A', 'NOTE', 'DB_PASS', 'API_KEY');
/** Shown texts may contain a part of a value, or all of it. */
const rules = fc.array(fc.record({ key, value: word }), { minLength: 1, maxLength: 5 }).chain((secrets) => {
  const part = fc
    .tuple(pick(...secrets.map(({ value }) => value)), pick(0, 1), pick(0, -1), word)
    .map(([value, from, to, more]) => [`${more}/${value.slice(from)}`, value.slice(from, to || undefined)]);
  return fc.record({
    secrets: fc.constant(secrets),
    shown: fc
      .array(
        fc.oneof(
          word.map((text) => [text]),
          part,
        ),
        { maxLength: 3 },
      )
      .map((texts) => texts.flat()),
    hosts: fc.array(word, { maxLength: 1 }),
    hidden: fc.array(word, { maxLength: 1 }),
  });
});

/** Encodings in which programs print a value. */
const printers: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => encodeURIComponent(text.toWellFormed()),
  (text) => encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+').toLowerCase(),
  (text) => text.replaceAll("'", "'\\''"),
  (text) => text.replaceAll("'", `'"'"'`),
  (text) => text.replace(/[^A-Za-z0-9_./\u0080-\uffff-]/g, '\\$&'),
  (text) => text.replaceAll('$', '$$$$'),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(`a${text}b`).toString('base64url'),
  (text) => Buffer.from(`ab${text}`).toString('base64'),
  (text) => text.slice(0, -1),
];

/**
 * Ten lines for each set of rules, because a mask is built slowly. A line contains values, parts of shown texts and
 * other texts in any order.
 */
const cases = rules.chain((given) => {
  const value = pick(...given.secrets.map(({ value }) => value), ...given.shown);
  const part = fc
    .tuple(fc.oneof({ weight: 3, arbitrary: value }, { weight: 2, arbitrary: word }), pick(...printers))
    .map(([text, print]) => print(text));
  const line = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));
  return fc.record({ given: fc.constant(given), lines: fc.array(line, { minLength: 10, maxLength: 10 }) });
});

export const masks: Target<{ given: MaskRules; lines: string[] }> = {
  name: 'mask',
  share: 30,
  cases,
  check({ given, lines }) {
    const [mask, oldMask] = [createMaskFilter(given), createOldMask(given)];
    for (const line of lines) assert.equal(mask(line), oldMask(line));
  },
};
