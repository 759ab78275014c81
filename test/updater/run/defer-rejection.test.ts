import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { deferRejection } from '../../../src/updater/run/defer-rejection.ts';

it('reports a rejection only to the code that awaits the promise', async () => {
  const unheard: unknown[] = [];
  const listener = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', listener);
  onTestFinished(() => {
    process.off('unhandledRejection', listener);
  });
  const early = deferRejection(Promise.reject(new Error('the engine is too old')));
  await nextTurn();
  await nextTurn();
  expect(unheard).toEqual([]);
  await expect(early).rejects.toThrow('the engine is too old');
});
