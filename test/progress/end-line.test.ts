import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatEnd, parseEnd, type RunEnd, stateBeforeStep } from '../../src/progress/end-line.ts';
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
    [
      'refused (upgrade-step): nothing was changed, v1.4.2 runs on; v1.5.0 has to come first. Next: Run it.',
      {
        outcome: 'refused',
        code: 'upgrade-step',
        step: 'v1.5.0',
        state: 'nothing was changed, v1.4.2 runs on; v1.5.0 has to come first',
        advice: 'Run it.',
      },
    ],
    [
      'refused (upgrade-step): nothing was changed',
      { outcome: 'refused', code: 'upgrade-step', state: 'nothing was changed', advice: null },
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
      .array(
        fc.constantFrom(
          '. Next: ',
          'Next: ',
          '. ',
          ': ',
          '(',
          ')',
          'failed',
          '\n',
          'x',
          '; v1.5.0 has to come first',
        ),
        {
          maxLength: 8,
        },
      )
      .map((parts) => parts.join('')),
  );
  const rest = { outcome: fc.constantFrom(...outcomes), state: text, advice: fc.option(text) };
  const version = fc.tuple(fc.nat(), fc.nat(), fc.nat()).map((numbers) => `v${numbers.join('.')}`);
  const codes = errorCodes.filter((code) => code !== 'upgrade-step');
  const end: fc.Arbitrary<RunEnd> = fc.oneof(
    fc.record({ ...rest, code: fc.option(fc.constantFrom(...codes)) }),
    fc
      .record({ ...rest, code: fc.constant('upgrade-step'), step: version })
      .map((end) => ({ ...end, state: stateBeforeStep(end.state, end.step) })),
  );
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
        expect(read?.step).toBe(value.step);
        expect(read?.advice === null).toBe(value.advice === null);
        if (isPlain(value.advice)) expect(read?.advice).toBe(value.advice);
        expect(outcomeOf({ phase: 'done', message: line })).toBe(value.outcome);
      }),
      { numRuns: 2000 },
    );
  });
});
