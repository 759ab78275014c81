import { expect, test } from 'vitest';
import { createServerInstance } from './support/server.ts';

const byProgress = (jobs: { progress: string; runs: number }[]) =>
  jobs.map(({ progress, runs }) => `${progress} ${runs}`);

test('the app of a server instance is the real server', async () => {
  const instance = await createServerInstance();
  expect(await instance.snapshot()).toMatchObject({ version: 'v1.0.0', workerVersion: 'v1.0.0', strays: [] });
  const { kept } = await instance.snapshot();
  expect(kept.served).toBe(kept.onDisk);
  expect(await instance.boots()).toEqual(expect.arrayContaining(['app v1.0.0', 'worker v1.0.0']));

  // One at a time, in order; what waits for something else holds nobody up.
  await instance.addJob({ kind: 'deployment', milliseconds: 1, state: 'queued' });
  await instance.addJob({ kind: 'backup', milliseconds: 60_000 });
  await instance.addJob({ kind: 'cron', milliseconds: 1 });
  expect(byProgress(await instance.jobs())).toEqual(['queued 0', 'running 1', 'queued 0']);
  await instance.dropWaitingJobs();

  // What ran when the server went away is run again, and a server goes at once.
  const before = performance.now();
  await instance.compose('restart', 'app');
  expect(performance.now() - before).toBeLessThan(5_000);
  await instance.waitUntilHealthy();
  expect(byProgress(await instance.jobs())).toEqual(['done 0', 'running 2', 'queued 0']);
  expect((await instance.boots()).filter((line) => line === 'app v1.0.0')).toHaveLength(2);
  expect((await instance.memory()).heapUsed).toBeGreaterThan(1_000_000);

  await instance.offer('v1.0.0', 'v1.1.0');
  const feed = await instance.ask('/data/releases.json', { as: null });
  expect(await feed.json()).toMatchObject([{ tag_name: 'v1.0.0' }, { tag_name: 'v1.1.0' }]);
});

test('it has the socket of the engine, and a generated one has what it needs after an update', async () => {
  const instance = await createServerInstance({ kind: 'generated' });
  expect(await instance.compose('exec', 'app', 'ls', '/var/run/docker.sock')).toContain('docker.sock');
  const { exitCode, log } = await instance.update(['--target', 'v1.1.0']);
  expect({ exitCode, log }).toMatchObject({ exitCode: 0 });
  expect(await instance.version()).toBe('v1.1.0');
  expect(await instance.compose('exec', 'app', 'ls', '/var/run/docker.sock')).toContain('docker.sock');
});
