import { execa } from 'execa';
import { expect, test } from 'vitest';
import { shareInstance } from './support/attempt.ts';

// A clean-up by the clock, such as `docker system prune --all`, beside an update: it takes every container that is stopped
// at that moment, and every image that no container has.

const instance = shareInstance({ publish: [], release: { env: { STOP_DELAY: '1' } } });

const remove = (...args: string[]) => execa('docker', args, { reject: false, stdin: 'ignore' });

test('the pulled image goes before it is used: it is pulled again', async () => {
  const { image } = instance();
  await instance().publish('v1.1.0', { env: { STOP_DELAY: '1' } });
  const run = instance().startUpdate(['--target', 'v1.1.0']);
  await run.waitFor(/ recreate stopping worker/);
  const { stdout } = await remove('image', 'rm', `${image}:v1.1.0`);
  expect(stdout).toContain('Untagged');
  const { exitCode, log } = await run.done;
  expect(exitCode, log).toBe(0);
  expect(log).toContain(`WARN  recreate ${image}:v1.1.0 was removed from this machine meanwhile`);
  expect(await instance().version()).toBe('v1.1.0');
});

test('the pulled tag leads elsewhere when it is pulled again: the old version is back', async () => {
  const { image } = instance();
  await instance().publish('v1.2.0', { env: { STOP_DELAY: '1' } });
  const run = instance().startUpdate(['--target', 'v1.2.0']);
  await run.waitFor(/ recreate stopping worker/);
  await instance().publish('v1.2.0', { env: { STOP_DELAY: '1', OTHER: '1' } });
  await remove('image', 'rm', `${image}:v1.2.0`);
  const { exitCode, log } = await run.done;
  expect(exitCode, log).toBe(4);
  expect(log).toContain(`${image}:v1.2.0 leads to another image than the one that was looked at`);
  await expectBack('v1.1.0');
});

test('a stopped container goes on the way back: it is made again', { timeout: 400_000 }, async () => {
  const { project } = instance();
  const before = (await instance().version()) ?? '';
  let isHit = false;
  // The moment between the plan of the way back and the worker's start is short: who misses it, tries again.
  for (let release = 3; release < 8 && !isHit; release++) {
    await instance().publish(`v1.${release}.0`, { entrypoint: ['/no-such-program'] });
    const run = instance().startUpdate(['--target', `v1.${release}.0`]);
    await run.waitFor(/-app-1 is made again from the old image/);
    await remove('container', 'prune', '--force', '--filter', `label=com.docker.compose.project=${project}`);
    const { exitCode, log } = await run.done;
    expect(exitCode, log).toBe(4);
    isHit = /-worker-1 (was|were) removed meanwhile; once more/.test(log);
    await expectBack(before);
  }
  expect(isHit).toBe(true);
});

async function expectBack(version: string): Promise<void> {
  await instance().waitUntilHealthy();
  const { containers, strays, ...rest } = await instance().snapshot();
  expect({ strays, app: rest.version, worker: rest.workerVersion }).toEqual({
    strays: [],
    app: version,
    worker: version,
  });
  expect(Object.values(containers)).toHaveLength(5);
}
