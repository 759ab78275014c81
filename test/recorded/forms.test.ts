import { afterAll, describe, expect, it } from 'vitest';
import { formatAdvice } from '../../src/core/errors/advice.ts';
import { UpdateError } from '../../src/core/errors/update-error.ts';
import {
  bumpHere,
  fresh,
  inProject,
  layouts,
  old,
  readTexts,
  refusals,
  textsOf,
  withoutSecrets,
} from './forms.ts';

// Compares with recorded results of compose; test/slow/forms.test.ts runs compose again.

const working = process.cwd();
afterAll(() => process.chdir(working));

describe('bump changes only the version in a project', () => {
  it.each(Object.entries({ ...layouts, ...withoutSecrets }))('%s', (row, layout) =>
    inProject(layout, async (directory, root) => {
      await bumpHere(row, layout, root);
      expect(await readTexts(directory, layout)).toEqual(textsOf(layout, root, fresh));
    }),
  );
});

describe('bump rejects a project with a message and advice, and writes nothing', () => {
  it.each(Object.entries(refusals))('%s', (row, [layout, sentence, wayOut]) =>
    inProject(layout, async (directory, root) => {
      const message = sentence.replaceAll('@root@', root);
      const refused = await bumpHere(row, layout, root).catch((error: unknown) => error);
      if (!(refused instanceof UpdateError)) throw refused;
      expect(refused.message).toBe(message);
      expect(formatAdvice(refused.advice)).toBe(wayOut);
      expect(await readTexts(directory, layout)).toEqual(textsOf(layout, root, old));
    }),
  );
});
