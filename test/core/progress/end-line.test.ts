import { describe, expect, it } from 'vitest';
import { formatEnd, parseEnd, type RunEnd } from '../../../src/core/progress/end-line.ts';
import { outcomeOf } from '../../../src/core/progress/outcome.ts';

describe('the last line of a run', () => {
  it.each<[string, RunEnd]>([
    [
      'failed (pull-unknown): nothing was changed; v1.4.2 is still running. Next: See that v1.5.0 is published.',
      {
        outcome: 'failed',
        code: 'pull-unknown',
        state: 'nothing was changed; v1.4.2 is still running',
        advice: 'See that v1.5.0 is published.',
      },
    ],
    [
      'cancelled: nothing was changed. Next: Run the update again when you are ready.',
      {
        outcome: 'cancelled',
        code: null,
        state: 'nothing was changed',
        advice: 'Run the update again when you are ready.',
      },
    ],
    [
      'refused (upgrade-step): nothing was changed; v1.4.2 is still running; v1.5.0 must be installed first. Next: Run it.',
      {
        outcome: 'refused',
        code: 'upgrade-step',
        requiredRelease: 'v1.5.0',
        state: 'nothing was changed; v1.4.2 is still running; v1.5.0 must be installed first',
        advice: 'Run it.',
      },
    ],
    [
      'failed (x): v1.5.0 must be installed first; v1.5.0 must be installed first',
      {
        outcome: 'failed',
        code: 'x',
        state: 'v1.5.0 must be installed first; v1.5.0 must be installed first',
        advice: null,
      },
    ],
    ['broken (broken): (it): is', { outcome: 'broken', code: 'broken', state: '(it): is', advice: null }],
  ])('%s', (text, end) => {
    expect(formatEnd(end)).toBe(text);
    expect(parseEnd(text)).toEqual(end);
  });

  it.each([
    'updated v1.4.2 → v1.5.0 in 11 s; docker compose ps shows it',
    'planned: nothing was changed',
    'failed(pull-unknown): x',
    'failed (Pull Unknown): x',
    'constructor: x',
    '',
  ])('is none: %s', (text) => expect(parseEnd(text)).toBeNull());

  it('reads the line of an older updater', () => {
    const state = 'nothing was changed; v1.4.2 is still running. See that v1.5.0 is published.';
    expect(parseEnd(`failed: ${state}`)).toEqual({ outcome: 'failed', code: null, state, advice: null });
  });

  it('stays on one line and gives back outcome, code and advice for any path or name', () => {
    const end = { outcome: 'failed', code: 'pull-unknown' } as const;
    const line = formatEnd({ ...end, state: 'a\r\nb. Next: (c): d', advice: 'e\n f. Next: g' });
    expect(line).toBe('failed (pull-unknown): a b. next: (c): d. Next: e f. Next: g');
    expect(parseEnd(line)).toEqual({ ...end, state: 'a b. next: (c): d', advice: 'e f. Next: g' });
    expect(outcomeOf({ phase: 'done', message: line })).toBe('failed');
  });
});
