import { afterAll, describe, expect, it } from 'vitest';
import { UpdateError } from '../../src/core/errors/update-error.ts';
import { expectMoved } from '../e2e/support/forms.ts';
import { bumpHere, inProject, layouts, refusals, withoutSecrets, writeRecording } from '../recorded/forms.ts';

// Runs the cases of test/recorded/forms.test.ts with compose, one after the other, because a bump works in the current
// directory.

const working = process.cwd();
afterAll(() => {
  process.chdir(working);
  writeRecording();
});

describe('compose gives the recorded result for', () => {
  it.each(Object.entries(layouts))('%s', (row, layout) =>
    expectMoved(layout, (_, root) => bumpHere(row, layout, root, true)),
  );

  const notByHand = [
    ...Object.entries(withoutSecrets),
    ...Object.entries(refusals).map(([row, [layout]]) => [row, layout] as const),
  ];
  it.each(notByHand)('%s', (row, layout) =>
    inProject(layout, async (_, root) => {
      const isRefused = row in refusals;
      const bump = bumpHere(row, layout, root, true);
      await (isRefused ? expect(bump).rejects.toThrow(UpdateError) : bump);
    }),
  );
});
