import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import { propertyOf } from './target.ts';
import { targets } from './targets.ts';

// A few cases of each target; scripts/campaign fuzz runs many.

afterAll(async () => {
  for (const target of targets) await target.end?.();
});

describe('readers of external input', () => {
  it.each(targets)('pass the fuzz target $name', async (target) => {
    await fc.assert(propertyOf(target), { seed: 1, numRuns: 3 * target.share });
  });
});
