import { afterAll, describe, expect, it } from 'vitest';
import { UpdateError } from '../../src/core/errors/update-error.ts';
import { expectMoved } from '../e2e/support/forms.ts';
import { bumpHere, inProject, layouts, refusals, withoutSecrets, writeRecording } from '../recorded/forms.ts';

// Compose is asked what test/recorded/forms.test.ts plays, one row after the other: a bump is made where it works.

const working = process.cwd();
afterAll(() => {
  process.chdir(working);
  writeRecording();
});

describe('compose reads a form as it is recorded', () => {
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
