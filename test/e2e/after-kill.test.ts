import { expect, test } from 'vitest';
import { expectUpdated } from './support/expect-update.ts';
import { createInstance } from './support/instance.ts';

/** What the journal will make certain at every moment holds today for one: the worker is down, the app still stops. */
test('a run that is killed while the app stops is finished by the next one', async () => {
  const instance = await createInstance({ release: { env: { STOP_DELAY: '3' } } });
  const before = await instance.snapshot();
  const run = instance.startUpdate(['--target', 'v1.1.0']);
  await run.waitFor('recreate stopping worker');
  const worker = `${instance.project}-worker-1`;
  await expect
    .poll(async () => (await instance.containers())[worker]?.status, { timeout: 20_000, interval: 50 })
    .toBe('exited');
  await run.kill();
  await run.done;

  const { exitCode, log } = await instance.update(['--target', 'v1.1.0']);
  expect(exitCode, log).toBe(0);
  expect(log).toContain(`took over the lock of ${run.name}, which no longer runs`);
  expect(log).toContain('worker is stopped, and the run before this one was killed: it is started again');
  expectUpdated(before, await instance.snapshot(), {
    version: 'v1.1.0',
    changed: { '.env': (text) => text.replace('v1.0.0', 'v1.1.0') },
  });
});
