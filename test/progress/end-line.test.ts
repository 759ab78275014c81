import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatEnd, parseEnd, type RunEnd } from '../../src/progress/end-line.ts';
import { outcomeOf, outcomes } from '../../src/progress/outcome.ts';
import { errorCodes } from '../../src/progress/update-error.ts';

describe('the end of a run as a line', () => {
  it.each<[string, RunEnd]>([
    [
      'failed (pull-unknown): nothing was changed, v1.4.2 runs on. Next: See that v1.5.0 is published.',
      {
        outcome: 'failed',
        code: 'pull-unknown',
        state: 'nothing was changed, v1.4.2 runs on',
        advice: 'See that v1.5.0 is published.',
      },
    ],
    [
      'cancelled: nothing was changed. Next: Run the update again when it suits.',
      {
        outcome: 'cancelled',
        code: null,
        state: 'nothing was changed',
        advice: 'Run the update again when it suits.',
      },
    ],
    ['broken (broken): (it): is', { outcome: 'broken', code: 'broken', state: '(it): is', advice: null }],
    ['refused: ', { outcome: 'refused', code: null, state: '', advice: null }],
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
    const state = 'nothing was changed, v1.4.2 runs on. See that v1.5.0 is published.';
    expect(parseEnd(`failed: ${state}`)).toEqual({ outcome: 'failed', code: null, state, advice: null });
  });

  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.constantFrom('. Next: ', 'Next: ', '. ', ': ', '(', ')', 'failed', '\n', 'x'), {
        maxLength: 8,
      })
      .map((parts) => parts.join('')),
  );
  const end: fc.Arbitrary<RunEnd> = fc.record({
    outcome: fc.constantFrom(...outcomes),
    code: fc.option(fc.constantFrom(...errorCodes)),
    state: text,
    advice: fc.option(text),
  });
  const isPlain = (part: string | null) => !/[\r\n]/.test(part ?? '');

  it('parse(format(end)) is the end', () => {
    fc.assert(
      fc.property(end, (value) => {
        const { state, advice } = value;
        fc.pre(isPlain(state) && isPlain(advice) && !state.includes('. Next: '));
        expect(parseEnd(formatEnd(value))).toEqual(value);
      }),
      { numRuns: 2000 },
    );
  });

  it('whatever it says, it is one line, and outcome, code and advice come back', () => {
    fc.assert(
      fc.property(end, (value) => {
        const line = formatEnd(value);
        expect(line).not.toMatch(/[\r\n]/);
        const read = parseEnd(line);
        expect(read).toMatchObject({ outcome: value.outcome, code: value.code });
        expect(read?.advice === null).toBe(value.advice === null);
        if (isPlain(value.advice)) expect(read?.advice).toBe(value.advice);
        expect(outcomeOf({ phase: 'done', message: line })).toBe(value.outcome);
      }),
      { numRuns: 2000 },
    );
  });
});
