import { describe, expect, it } from 'vitest';
import { parseLine } from '../../src/progress/line.ts';
import type { Outcome } from '../../src/progress/outcome.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { type ExpectedLog, judgeBrokenLog, judgeGoodLog, judgeOutcome, judgeWords } from './log.ts';

const at = '2026-11-21T10:00:00.000Z';

/** A run whose log has these lines, written as `INFO done updated …`. */
function run(exitCode: number, ...lines: string[]): UpdateResult {
  const log = lines.map((line) => `${at} ${line.replace(/^(INFO|WARN) /, '$1  ')}\n`).join('');
  const events = log.split('\n').flatMap((line) => parseLine(line) ?? []);
  return { exitCode, log, lines: events, durationMs: 1 };
}

const runs = 'app runs v1.0.0';
const updated = run(0, `INFO inspect ${runs}`, 'INFO done updated v1.0.0 → v1.1.0');

describe('the words of a run', () => {
  const expected = { exitCode: 0, says: ['app runs', /v1\.\d/], ends: [/^updated/], never: ['secret'] };

  it('are as expected', () => {
    expect(judgeWords(updated, expected)).toEqual([]);
  });

  it.each<[string, UpdateResult, ...RegExp[]]>([
    ['another exit code', { ...updated, exitCode: 4 }, /^exit code: expected 0, found 4$/],
    ['a missing sentence', run(0, 'INFO done updated v1.1.0'), /^the log does not say app runs$/],
    ['another end', run(0, `INFO plan ${runs}`, 'INFO done no'), /^the last line does not say .*: "no"$/],
    [
      'an end too early',
      run(0, `INFO plan updated: ${runs}`),
      /^the last line is not of phase done: "updated: /,
    ],
    ['a secret', run(0, `INFO plan ${runs}, secret`, 'INFO done updated'), /^the log says secret$/],
    [
      'a trace',
      run(0, `INFO plan ${runs}\n    at x (y.ts)`, 'INFO done updated'),
      /^the log has a stack trace$/,
    ],
    ['no line', run(0), /phase done: ""$/, /not say app/, /not say .v1/, /last line does not say .*""$/],
  ])('are not: %s', (_, result, ...facts) => {
    expect(judgeWords(result, expected)).toEqual(facts.map((fact) => expect.stringMatching(fact)));
  });
});

describe('the words of a bad end', () => {
  const expected = { exitCode: 4, says: [], ends: [] };

  it.each([
    ['failed (pull-unknown): nothing was changed. Next: See that it is published.', true],
    ['cancelled: nothing was changed. Next: Run it again.', true],
    ['failed: nothing was changed. Next: See that it is published.', false],
    ['failed (pull-unknown): nothing was changed. See that it is published.', false],
  ])('%s', (end, isWell) => {
    const facts = isWell ? [] : [`the last line has no code or no advice: "${end}"`];
    expect(judgeWords(run(4, `ERROR done ${end}`), expected)).toEqual(facts);
  });
});

describe('the log of a good run', () => {
  const warned = run(0, 'WARN plan one', 'WARN plan two', 'INFO done updated');

  it.each<[string, UpdateResult, ExpectedLog, ...string[]]>([
    ['as expected', warned, { warns: ['one', /t.o/], says: ['updated'] }],
    ['no sentence', warned, { warns: ['one', 'two'], says: ['three'] }, 'the log does not say three'],
    ['one warning more', warned, { warns: ['one'] }, 'warnings: expected one, found ["one","two"]'],
    ['another order', warned, { warns: ['two', 'one'] }, 'warnings: expected two; one, found ["one","two"]'],
    ['no warning', updated, { warns: ['one'] }, 'warnings: expected one, found []'],
    ['an error', run(0, 'ERROR plan no', 'INFO done updated'), {}, 'the log has an error: no'],
  ])('%s', (_, result, expected, ...facts) => {
    expect(judgeGoodLog(result, expected)).toEqual(facts);
  });
});

describe('the outcome', () => {
  it.each<[Outcome[], UpdateResult, ...string[]]>([
    [['updated'], updated],
    [['cancelled'], run(143, 'INFO done cancelled: x')],
    [['cancelled'], run(130, 'INFO done cancelled: x')],
    [['cancelled'], run(1, 'INFO done cancelled: x'), 'the run ended cancelled with exit code 1'],
    [['updated'], run(4, 'INFO done updated'), 'the run ended updated with exit code 4'],
    [['failed', 'broken'], updated, 'the run ended updated, not failed or broken'],
    [['updated'], run(137, 'INFO verify waiting'), 'the run ended with exit code 137 and no outcome'],
    [['updated'], run(137), 'the run ended with exit code 137 and no outcome'],
  ])('%j: %j', (wanted, result, ...facts) => {
    expect(judgeOutcome(result, wanted)).toEqual(facts);
  });

  it('broken says what to type', () => {
    const typed = 'ERROR done broken (broken): it is not well. Next: Look, then docker compose -p x up -d';
    expect(judgeBrokenLog(run(5, typed))).toEqual([]);
    expect(judgeBrokenLog(run(4, typed))).toEqual(['the run ended broken with exit code 4']);
    expect(judgeBrokenLog(run(5, 'ERROR done broken (broken): it is not well. Next: Look.'))).toEqual([
      'the last line does not say what to type: "broken (broken): it is not well. Next: Look."',
    ]);
    expect(judgeBrokenLog(run(5, 'ERROR done broken, docker compose up -d'))).toEqual([
      'the last line says "broken, docker compose up -d", not broken',
    ]);
  });
});
