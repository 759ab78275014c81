import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startBadEngine } from '../rig/bad-engine.ts';
import { allUp, createWithData, expectRestored, statesOf } from './support/own-data.ts';

// An event only causes an inspection, because the engine may deliver events late, twice or not
// at all.

const failing = { labels: { 'svc.ready': JSON.stringify(['sh', '-c', 'exit 3']) }, env: {} };

test.each<[how: string, change: (line: string) => Promise<readonly string[]>]>([
  ['never', async () => []],
  ['late', (line) => sleep(1_500, [line])],
  ['twice', async (line) => [line, line]],
])('an update and a rollback with data are the same if each event is delivered %s', async (_, change) => {
  const instance = await createWithData();
  const socket = `${instance.directory}.sock`;
  const engine = await startBadEngine(socket);
  onTestFinished(() => engine.close());
  let events = 0;
  engine.changeEvents((line) => {
    events += 1;
    return change(line);
  });
  await instance.publish('v1.1.1', failing);
  const failed = await instance.update(['--target', 'v1.1.1', '--restore-point'], { socket });
  expect(failed.exitCode, failed.log).toBe(4);
  expect(failed.log).toMatch(
    /done failed \(rolled-back\): v1\.0\.0 is running again with the data saved at /,
  );
  await expectRestored(instance, failed.log);
  const updated = await instance.update(['--target', 'v1.1.0'], { socket });
  expect(updated.exitCode, updated.log).toBe(0);
  expect(updated.log).not.toContain('another process');
  expect(await instance.version()).toBe('v1.1.0');
  expect(await statesOf(instance)).toEqual(allUp);
  expect(events).toBeGreaterThan(10);
});
