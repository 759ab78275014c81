// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { applyTextEdits } from '../../src/core/compose/edit.ts';
import {
  createVariableEdit,
  type EnvAssignment,
  parseEnvAssignments,
} from '../../src/core/compose/env-file.ts';
import { findEnvFileSecrets } from '../../src/core/compose/secrets/project-secrets.ts';
import type { SourceMappedText } from '../../src/core/compose/source-map.ts';
import { createVariableLookup, listEnvFileValues } from '../../src/core/compose/variables.ts';
import { UpdateError } from '../../src/core/errors/update-error.ts';
import { anyEnvFiles } from './env-texts.ts';
import { mutatedText } from './mutate.ts';
import { attempt, type Target } from './target.ts';

// Env files and values in them, read as compose does: test/slow/env-file.test.ts compares the same with compose.

const isInvalid = (error: Error) => error instanceof UpdateError && error.code === 'compose-invalid';

const words = [
  'V=v1',
  'export ',
  '=',
  ':',
  '"',
  "'",
  '#',
  ' #',
  '$V',
  '${V:-x}',
  '${',
  '}',
  '\\',
  '\r\n',
  '\u00a0',
  '__proto__=1\n',
];
// A variable that repeats itself a thousand times has a thousand values, each longer than the previous one.
const isShort = (text: string) => text.length < 4_000;
const envFiles = fc.oneof(
  anyEnvFiles,
  anyEnvFiles.chain((texts) =>
    fc.tuple(...texts.map((text) => mutatedText(fc.constant(text), words).filter(isShort))),
  ),
);
const values = fc.stringMatching(/^[A-Za-z0-9._/:@+-]{1,12}$/);

export const env: Target<{ texts: readonly string[]; key: string; value: string }> = {
  name: 'env',
  share: 150,
  cases: fc.record({ texts: envFiles, key: fc.constantFrom('V', 'A', 'NEW', '__proto__'), value: values }),
  check({ texts, key, value }) {
    const files = texts.map((text, at) => ({ path: `/${at}.env`, text }));
    // A file that compose rejects may contain a password, too.
    findEnvFileSecrets(files);
    const before = files.map((file) => attempt(() => parseEnvAssignments(file), isInvalid));
    if (!before.every((found) => found !== null)) return;
    for (const [at, found] of before.entries()) expectInOrder(found, texts[at] ?? '');
    const lookup = createVariableLookup(files);
    attempt(() => listEnvFileValues(files), isInvalid);
    for (const name of ['A', 'V', 'NEW', 'toString', '__proto__']) {
      const found = attempt(() => lookup(name), isInvalid);
      if (found) expectTraced(found, new Map(files.map(({ path, text }) => [path, text])));
    }
    const edit = createVariableEdit({ envFiles: files, newEnvFile: '/new.env' }, key, value);
    const holder = Number(/^\/(\d+)/.exec(edit.file)?.[1]);
    const text = texts[holder] ?? '';
    const after = applyTextEdits(text, [edit]);
    assert.equal(after.slice(0, edit.start), text.slice(0, edit.start));
    assert.equal(after.slice(edit.start + edit.after.length), text.slice(edit.end));
    const edited = files.map((file, at) => (at === holder ? { ...file, text: after } : file));
    // A name with spaces at the end of the file becomes invalid if a line follows: the edit reads the file again and
    // rejects it.
    const again = attempt(() => parseEnvAssignments({ path: '/', text: after }), isInvalid);
    if (again === null && edit.start === text.length) return;
    const known = before[holder] ?? [];
    const place = known.findLastIndex((one) => one.key === key);
    const wanted = known.map((one, at) => [
      one.key,
      at === place ? value : text.slice(one.start, one.end),
      one.quote,
    ]);
    assert.deepEqual(
      again?.map((one) => [one.key, after.slice(one.start, one.end), one.quote]),
      place < 0 ? [...wanted, [key, value, '']] : wanted,
    );
    assert.equal(createVariableLookup(edited)(key)?.text, value);
    assert.equal(createVariableEdit({ envFiles: edited, newEnvFile: '/new.env' }, key, value).before, value);
  },
};

function expectInOrder(found: readonly EnvAssignment[], text: string): void {
  let done = 0;
  for (const { key, start, end, quote } of found) {
    assert.ok(done <= start && start <= end && end <= text.length);
    assert.ok(quote === '' || (text[start - 1] === quote && text[end] === quote));
    assert.ok(!key.includes('=') && text.slice(done, start).includes(key));
    done = end;
  }
}

/** Each character is at the position that its origin specifies. */
export function expectTraced({ text, origins }: SourceMappedText, texts: ReadonlyMap<string, string>): void {
  assert.equal(origins.length, text.length);
  for (const [at, { source, offset, length }] of origins.entries()) {
    if (offset < 0 || length !== 1) continue;
    assert.equal(texts.get(source)?.[offset], text[at]);
  }
}
