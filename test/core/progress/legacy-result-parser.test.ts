import { describe, expect, it } from 'vitest';
import type { LogLevel, Phase } from '../../../src/core/progress/event.ts';
import { LegacyResultParser } from '../../../src/core/progress/legacy-result-parser.ts';
import { outcomes } from '../../../src/core/progress/outcome.ts';
import { formatLastLogLine, type RunResult } from '../../../src/core/progress/run-result.ts';

const event = (message: string, phase: Phase = 'done', level: LogLevel = 'error') => ({
  ...{ time: '2026-11-21T10:42:18.140Z', level, phase, message },
});
const resultOf = (message: string, phase?: Phase) =>
  new LegacyResultParser().parseResult(event(message, phase));
const failed = { outcome: 'failed', code: null, detail: null, advice: null, facts: {} } as const;

describe('a result parsed from the last line of an older updater', () => {
  it.each<[string, Partial<RunResult>]>([
    [
      'failed (pull-unknown): nothing was changed; v1.4.2 is still running. Next: See that v1.5.0 is published.',
      {
        code: 'pull-unknown',
        message: 'nothing was changed; v1.4.2 is still running',
        advice: 'See that v1.5.0 is published.',
      },
    ],
    [
      'cancelled: nothing was changed. Next: Run the update again when you are ready.',
      {
        outcome: 'cancelled',
        message: 'nothing was changed',
        advice: 'Run the update again when you are ready.',
      },
    ],
    [
      'refused (upgrade-step): nothing was changed; v1.4.2 is still running; v1.5.0 must be installed first. Next: Run it.',
      {
        outcome: 'refused',
        code: 'upgrade-step',
        facts: { requiredRelease: 'v1.5.0' },
        message: 'nothing was changed; v1.4.2 is still running; v1.5.0 must be installed first',
        advice: 'Run it.',
      },
    ],
    [
      'failed (x): v1.5.0 must be installed first; v1.5.0 must be installed first',
      { code: 'x', message: 'v1.5.0 must be installed first; v1.5.0 must be installed first' },
    ],
    ['broken (broken): (it): is', { outcome: 'broken', code: 'broken', message: '(it): is' }],
  ])('is the result that was formatted: %s', (text, expected) => {
    const result = { ...failed, message: '', ...expected };
    expect(formatLastLogLine(result)).toBe(text);
    expect(resultOf(text)).toEqual(result);
  });

  it.each(outcomes)('has the outcome %s if that is the first word of the line', (outcome) => {
    for (const message of [`${outcome} v1.4.2 → v1.5.0 in 11 s`, `${outcome}: nothing was changed`, outcome])
      expect(resultOf(message)?.outcome).toBe(outcome);
    expect(resultOf(outcome, 'verify')).toBeNull();
  });

  it.each<[string, string | null]>([
    ['planned: nothing was changed', null],
    ['', null],
    ['updatedly', null],
    ['updated-ish', null],
    ['Updated', null],
    [' updated', null],
    ['it updated', null],
    ['constructor', null],
    ['failed(pull-unknown): x', null],
    ...[
      'failed (Pull Unknown): x',
      'updated v1.4.2 → v1.5.0 in 11 s; docker compose ps shows it',
      'unchanged: v1.5.0 runs. Next: x',
    ].map((text): [string, string] => [text, text]),
  ])('has the whole line as its message, or is null: "%s"', (text, message) => {
    expect(resultOf(text)?.message ?? null).toBe(message);
    expect(resultOf(text)?.advice ?? null).toBeNull();
  });

  it('has the last error before the line as its detail', () => {
    const earlier = new LegacyResultParser();
    for (const [message, level] of [
      ['no such tag', 'error'],
      ['slow', 'warn'],
    ] as const)
      expect(earlier.parseResult(event(message, 'pull', level))).toBeNull();
    expect(earlier.parseResult(event('failed: x. y.'))).toEqual({
      ...failed,
      message: 'x. y.',
      detail: 'no such tag',
    });
  });
});

it('a last line contains no line breaks, and its parts can be parsed whatever their texts contain', () => {
  const end = { ...failed, code: 'pull-unknown' };
  const line = formatLastLogLine({ ...end, message: 'a\r\nb. Next: (c): d', advice: 'e\n f. Next: g' });
  expect(line).toBe('failed (pull-unknown): a b. next: (c): d. Next: e f. Next: g');
  expect(resultOf(line)).toEqual({ ...end, message: 'a b. next: (c): d', advice: 'e f. Next: g' });
});
