import { expect, test } from 'vitest';
import { endlessOutputs, limitedMemory } from './support/endless-output.ts';
import { alone, createInstance } from './support/instance.ts';
import { createWithData, expectRestored } from './support/own-data.ts';

// docs/contract.md 2.27: a command of a release may print more than a string can hold, without a line break.

const label = (kind: 'ready' | 'preflight', script: string) => ({
  labels: { [`svc.${kind}`]: JSON.stringify(['sh', '-c', script]) },
});
const update = ['--target', 'v1.1.1', '--restore-point'];

test.each(endlessOutputs)('an update is rolled back if the ready command fills %s', async (_, script) => {
  const instance = await createWithData();
  await instance.publish('v1.1.1', { ...label('ready', script), env: {} });
  const { exitCode, log } = await instance.update(update, limitedMemory);
  expect(exitCode, log).toBe(4);
  expect(log).toMatch(/verify the ready command in \S+ failed with exit code 3/);
  expect(log).toMatch(/done failed \(rolled-back\): v1\.0\.0 is running again with the data saved at /);
  await expectRestored(instance, log);
});

test.each(endlessOutputs)('an update is refused if the preflight command fills %s', async (_, script) => {
  const instance = await createInstance(alone);
  await instance.publish('v1.1.1', { ...label('preflight', script), env: {} });
  const { exitCode, log } = await instance.update(['--target', 'v1.1.1'], limitedMemory);
  expect(exitCode, log).toBe(3);
  expect(log).toMatch(/done refused \(preflight-failed\): nothing was changed; v1\.0\.0 is still running\. /);
});
