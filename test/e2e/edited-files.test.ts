import { expect, test } from 'vitest';
import { expectWords, shareInstance } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';

// Another user saves .env with the old version while the update is replacing containers.

/** Compose starts this worker once the app is healthy, which the test controls. */
const patient = 'depends_on: { app: { condition: service_healthy } }';
const patientRelease = (tag: string) => ({ env: { READY_WHEN: tag } });
const letReady = (instance: Instance, tag: string, service: 'app' | 'worker') =>
  instance.write(`data/${tag}-${service}`, '');
const shared = shareInstance({ text: { extra: { worker: patient } }, publish: [] });

const setVersion = async (instance: Instance, from: string, to: string) =>
  instance.write('.env', (await instance.read('.env')).replace(`SVC_VERSION=${from}`, `SVC_VERSION=${to}`));

test('a worker is not replaced with an older version set in .env during the update, and the last line reports the edit', async () => {
  const instance = shared();
  await instance.publish('v1.1.0', patientRelease('v1.1.0'));
  const run = instance.startUpdate(['--target', 'v1.1.0']);
  await run.waitFor('waiting for app, which worker depends on');
  await setVersion(instance, 'v1.1.0', 'v1.0.0');
  await letReady(instance, 'v1.1.0', 'app');
  await letReady(instance, 'v1.1.0', 'worker');
  const result = await run.done;
  expectWords(result, {
    exitCode: 5,
    says: [
      /ERROR recreate another user or process edited \S+\/\.env during the update, so worker was not updated to the image that the files now specify/,
    ],
    ends: [
      'broken (broken): the new version has started',
      `/.env during the update; the edits were kept, and the next docker compose up will start ${instance.image}:v1.0.0. Next: `,
      'Fix the cause, then run the update again.',
    ],
    never: ['up -d --no-deps'],
  });
  expect(await instance.version()).toBe('v1.1.0');

  const again = await instance.update(['--target', 'v1.1.0']);
  expect(again.exitCode, again.log).toBe(0);
  await instance.waitUntilHealthy();
  expect([await instance.version(), await instance.workerVersion()]).toEqual(['v1.1.0', 'v1.1.0']);
});
