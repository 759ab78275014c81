import { execa } from 'execa';
import { expect, test } from 'vitest';
import { shareInstance } from './support/attempt.ts';

// A scheduled clean-up during an update, such as `docker system prune --all`: it removes every container that is
// stopped at that moment, and every image that no container uses.

/** App and worker stop only when the test writes a file. */
const patient = { STOP_UNTIL: '/data/stop-now' };
const grace = 'stop_grace_period: 10m';
const instance = shareInstance({
  publish: [],
  release: { env: patient },
  text: { extra: { app: grace, worker: grace } },
});
const letStop = () => instance().write('data/stop-now', '');

const remove = (...args: string[]) => execa('docker', args, { reject: false, stdin: 'ignore' });

test('an update pulls an image again if it was removed before it is used', async () => {
  const { image } = instance();
  await instance().publish('v1.1.0', { env: patient });
  const run = instance().startUpdate(['--target', 'v1.1.0']);
  await run.waitFor(/ recreate stopping worker/);
  const { stdout } = await remove('image', 'rm', `${image}:v1.1.0`);
  expect(stdout).toContain('Untagged');
  await letStop();
  const { exitCode, log } = await run.done;
  expect(exitCode, log).toBe(0);
  expect(log).toContain(`WARN  recreate ${image}:v1.1.0 was removed from this machine in the meantime`);
  expect(await instance().version()).toBe('v1.1.0');
});
