// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import { parseEnvAssignments } from '../src/core/compose/env-file.ts';
import { findUnsetRequiredVariables } from '../src/core/compose/interpolation.ts';
import {
  findCommentedOutSecrets,
  findKeyedSecrets,
  findLineSecrets,
  splitIntoSecretTexts,
} from '../src/core/compose/secrets/secret-lines.ts';
import { formatEventLine, parseEventLine } from '../src/core/progress/log-line.ts';
import { formatLastLogLine } from '../src/core/progress/run-result.ts';
import { createResponseError } from '../src/engine/http/engine-error.ts';
import { classifyPullFailure } from '../src/engine/registry/classify-pull-failure.ts';
import { databaseHostsOf } from '../src/updater/data/selection/find-external-databases.ts';
import { createMaskFilter } from '../src/updater/run/log/mask.ts';
import { parseReleaseNotes } from '../src/web/model/parse-release-notes.ts';

// External text (compose files, logs, responses of registries, release notes) is parsed synchronously, so a stop signal
// has to wait for the parser. Its time must be linear in the length of the text.

/** Processor time of the fastest of three runs, in ms; other processes slow down the others. */
function quickest(run: () => void): number {
  const times = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

/**
 * Factor by which the time grows for ten times the text: about 10 if it is linear, 100 if it is quadratic. Times below
 * 1 ms count as 1 ms. A high factor is measured again, because garbage collector and compiler run in between.
 */
function growth(read: (text: string) => unknown, piece: string, shortSize: number): number {
  const [short = '', long = ''] = [shortSize, 10 * shortSize].map((size) =>
    piece.repeat(Math.ceil(size / piece.length)),
  );
  let least = Number.POSITIVE_INFINITY;
  for (let measured = 0; measured < 5 && least >= 30; measured++) {
    const longer = quickest(() => read(long));
    const shorter = quickest(() => read(short));
    least = Math.min(least, longer / Math.max(1, shorter));
  }
  return least;
}

const mask = createMaskFilter({
  secrets: [
    { key: 'A', value: 'a'.repeat(500) },
    { key: 'B', value: `${'-'.repeat(300)}x` },
    { key: 'C', value: `${'\\'.repeat(100)}"` },
  ],
  shown: ['a.a', '/opt/acme'],
});

const maskOfThousands = createMaskFilter({
  secrets: Array.from({ length: 5000 }, (_, index) => ({
    key: 'A',
    value: `value number ${10_000 + index}`,
  })),
});

describe('external text is read in linear time', () => {
  it.each<[string, (text: string) => unknown, string[], number?]>([
    ['keyedSecrets', findKeyedSecrets, ['0a', '--a ', 'PASS=', 'a="', ' \n']],
    ['keyedSecrets, an option and blank lines', (text) => findKeyedSecrets(`--pass${text}x`), ['\n', ' \n']],
    ['requiredIn', (text) => findUnsetRequiredVariables(text, () => null), ['${a:?', '${']],
    ['secretsOfLines', (text) => findLineSecrets(`x${text}x`), ['0a', ' ', 'a =', '"']],
    ['secretsOfContent', (text) => splitIntoSecretTexts(`a: b${text}x`), ['a', ' ', ' # ']],
    ['commentedOut', (text) => findCommentedOutSecrets(`# PASS: b${text}x`), ['#', ' ']],
    ['findAssignments', (text) => parseEnvAssignments({ path: '', text: `A=${text}` }), [' ', 'A=b\n', ' #']],
    ['classifyPullFailure', classifyPullFailure, [' ', 'content digest ', 'reference "', 'lookup a on ']],
    [
      'refusalError',
      (body) => createResponseError('GET /version', { status: 403, body: Buffer.from(body) }),
      ['<', '< '],
    ],
    [
      'formatEnd',
      (advice) => formatLastLogLine({ outcome: 'failed', code: null, message: '', advice }),
      [' ', '\t', '\n '],
    ],
    [
      'parseLine',
      (text) =>
        parseEventLine(
          formatEventLine(parseEventLine(`2026-11-21T10:42:07.000Z INFO  pull ${text}`) as never),
        ),
      ['\\', '1', ' '],
    ],
    [
      'hostsIn',
      (text) => [
        databaseHostsOf('DB_HOST', text),
        databaseHostsOf('X', `postgres://${text}`),
        databaseHostsOf(text, 'h'),
      ],
      ['@', ',', ' ', 'a:', '//', 'postgres://', ',a', '%2F', '[', '?host=', ':'],
    ],
    ['readNotes', parseReleaseNotes, ['*', '**_', '`a``b', '_a', '[', '[a](', '](', 'https://']],
    ['the mask', mask, ['a', '-', 'a://b:', 'a.a', '&amp;', '/opt/acme']],
    ['the mask of 5,000 values', maskOfThousands, ['a', 'value number 1', '%20', 'value number 12345']],
    [
      'the mask of a value that grows, too',
      (text) => createMaskFilter({ secrets: [{ key: 'A', value: text.slice(text.length / 2) }] })(text),
      ['a', '\\"', 'ab'],
      // The tables of a longer value exceed the processor cache, which other programs share.
      3_000,
    ],
    [
      'the mask within escapes',
      (text) => mask(text.slice(0, 60_000)),
      ['\\', '\\u0041', '\\303\\274', '%C3', `'\\''`, `\\\\%5c&amp;''$$`],
    ],
  ])('%s', { timeout: 120_000 }, (_, read, pieces, shortSize = 10_000) => {
    for (const piece of pieces)
      expect(growth(read, piece, shortSize), JSON.stringify(piece)).toBeLessThan(30);
  });
});
