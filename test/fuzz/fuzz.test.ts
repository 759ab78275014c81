import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import { composeView, envView } from './pins.ts';
import { propertyOf } from './target.ts';
import { targets } from './targets.ts';

// A few cases of each; scripts/campaign fuzz plays many.

const here = targets.filter((target) => target !== composeView && target !== envView);

afterAll(async () => {
  for (const target of here) await target.end?.();
});

describe('whatever comes from outside', () => {
  it.each(here)('$name', async (target) => {
    await fc.assert(propertyOf(target), { seed: 1, numRuns: 3 * target.share });
  });
});
