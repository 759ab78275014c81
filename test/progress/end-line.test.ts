import { describe, expect, it } from 'vitest';
import { formatEnd, parseEnd, type RunEnd } from '../../src/progress/end-line.ts';
import { outcomeOf } from '../../src/progress/outcome.ts';

describe('the end of a run as a line', () => {
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
      'refused (upgrade-step): nothing was changed; v1.4.2 is still running; v1.5.0 has to come first. Next: Run it.',
      {
        outcome: 'refused',
        code: 'upgrade-step',
        requiredRelease: 'v1.5.0',
        state: 'nothing was changed; v1.4.2 is still running; v1.5.0 has to come first',
        advice: 'Run it.',
      },
    ],
    [
      'failed (x): v1.5.0 has to come first; v1.5.0 has to come first',
      {
        outcome: 'failed',
        code: 'x',
        state: 'v1.5.0 has to come first; v1.5.0 has to come first',
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

  it('takes the line of an updater from before, whose advice is a part of it', () => {
    const state = 'nothing was changed; v1.4.2 is still running. See that v1.5.0 is published.';
    expect(parseEnd(`failed: ${state}`)).toEqual({ outcome: 'failed', code: null, state, advice: null });
  });

  it('is one line, of which outcome, code and advice come back, whatever a path or a name in it says', () => {
    const end = { outcome: 'failed', code: 'pull-unknown' } as const;
    const line = formatEnd({ ...end, state: 'a\r\nb. Next: (c): d', advice: 'e\n f. Next: g' });
    expect(line).toBe('failed (pull-unknown): a b. next: (c): d. Next: e f. Next: g');
    expect(parseEnd(line)).toEqual({ ...end, state: 'a b. next: (c): d', advice: 'e f. Next: g' });
    expect(outcomeOf({ phase: 'done', message: line })).toBe('failed');
  });
});
