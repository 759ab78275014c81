import { describe, expect, it } from 'vitest';
import { outcomeOf, outcomes } from '../../../src/core/progress/outcome.ts';

describe('outcomeOf', () => {
  it.each(outcomes)('%s', (outcome) => {
    expect(outcomeOf({ phase: 'done', message: `${outcome} v1.4.2 → v1.5.0 in 11 s` })).toBe(outcome);
    expect(outcomeOf({ phase: 'done', message: `${outcome}: nothing was changed` })).toBe(outcome);
    expect(outcomeOf({ phase: 'done', message: outcome })).toBe(outcome);
    expect(outcomeOf({ phase: 'verify', message: outcome })).toBeNull();
  });

  it.each(['', 'updatedly', 'updated-ish', 'Updated', ' updated', 'it updated', 'constructor'])(
    '"%s" is none',
    (message) => {
      expect(outcomeOf({ phase: 'done', message })).toBeNull();
    },
  );
});
