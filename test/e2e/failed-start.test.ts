import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { judgeFiles } from '../judge/files.ts';
import { composeText } from '../rig/compose-text.ts';
import { expectWords } from './support/attempt.ts';
import { alone, createInstance } from './support/instance.ts';

// docs/contract.md 5.16: a container is reported as running again only if its state is the same as before the update.

const impossible = ['--target', 'v1.1.3', '--wait-timeout', '30'];
const notBack =
  'broken (containers-not-restored): the original files are in place, but v1.0.0 could not be restored; no container of the new version has started. Next: ';

/**
 * The worker is unhealthy from the beginning, so no run waits for it. The app is healthy while `data/kept.txt` exists.
 * Both stop only once the test has written `data/stop-now`.
 */
const startFrail = () =>
  createInstance({
    ...alone,
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({
          app: `${c.image}:\${SVC_VERSION}`,
          parts: c.parts,
          extra: { app: 'stop_grace_period: 10m', worker: 'stop_grace_period: 10m' },
        }).replace('/bin/wget, -qO-, "http://127.0.0.1:8080/version"', '/bin/test, -e, /data/kept.txt'),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
    release: { env: { STOP_UNTIL: '/data/stop-now', FAULT_WORKER: 'unhealthy' } },
    publish: ['v1.1.3'],
    impatient: true,
  });

test('a restored container that is unhealthy is named, and the old version is not reported as running again', async () => {
  const instance = await startFrail();
  const { directory } = instance;
  const health = async () =>
    Object.values(await instance.containers()).map(({ service, health: is }) => `${service} ${is}`);
  await expect.poll(health).toEqual(['app healthy', 'worker unhealthy']);
  const { files } = await instance.snapshot();

  // Without this file, the restored app is unhealthy.
  const run = instance.startUpdate(impossible);
  await run.waitFor('recreate stopping worker');
  await unlink(join(directory, 'data', 'kept.txt'));
  await instance.write('data/stop-now', '');
  expectWords(await run.done, {
    exitCode: 5,
    says: [/ERROR recreate \S+-app-1 is unhealthy/],
    ends: [notBack],
  });
  expect(judgeFiles(files, (await instance.snapshot()).files)).toEqual([]);
});
