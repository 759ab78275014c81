import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { expectWords } from '../e2e/support/attempt.ts';
import type { Instance } from '../e2e/support/instance.ts';
import { createWithData, expectRestored, statesOf } from '../e2e/support/own-data.ts';
import { startBadEngine } from '../rig/bad-engine.ts';

// docs/contract.md 5.23 to 5.25: a restore ends with the data of the restore point, or reports that it failed.

/** App and worker of this release exit immediately. */
const bad = ['--target', 'v1.1.1', '--restore-point', '--wait-timeout', '20'];
const rolledBack =
  /^failed \(rolled-back\): v1\.0\.0 is running again with the data saved at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. /;

const spoil = (instance: Instance) => instance.write('data/note', 'of v1.1.1\n');

test('all services stay stopped if a new version is started during each restore, and the next update restores again', async () => {
  const instance = await createWithData({ publish: ['v1.1.1'] });
  const socket = `${instance.directory}-starts.sock`;
  const engine = await startBadEngine(socket);
  onTestFinished(() => engine.close());
  const db = Object.values(await instance.containers()).find(({ service }) => service === 'db')?.id ?? '';
  const up = ['compose', 'up', '-d', '--no-deps', 'app'];
  let restores = 0;
  engine.fail(async (asked) => {
    const isStart = /^POST \S*\/containers\/\w+\/start/.test(asked) && asked.includes(db);
    // The first start of the database follows the saving of its data.
    if (isStart && ++restores > 1)
      await execa('docker', up, { cwd: instance.directory, env: { SVC_VERSION: 'v1.1.1' } });
    return false;
  });
  const broken = await instance.update(bad, { socket });
  expectWords(broken, {
    exitCode: 5,
    says: [/restoring again/],
    ends: [/^broken \(data-not-restored\): /],
  });
  expect(restores).toBe(4);
  expect(Object.values(await statesOf(instance)), broken.log).not.toContain('running');
  await spoil(instance);
  const next = await instance.update(bad);
  expectWords(next, { exitCode: 4, says: ['restoring the data of v1.0.0'], ends: [rolledBack] });
  await expectRestored(instance, next.log);
});
