import { execa, execaSync } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { startBadEngine } from '../rig/bad-engine.ts';
import { shareInstance } from './support/attempt.ts';

// A clean-up by the clock, such as `docker system prune --all`, beside an update: it takes every container that is stopped
// at that moment, and every image that no container has.

/** Stops once the test says so. */
const patient = { STOP_UNTIL: '/data/stop-now' };
const grace = 'stop_grace_period: 10m';
const instance = shareInstance({
  publish: [],
  release: { env: patient },
  text: { extra: { app: grace, worker: grace } },
});
const letStop = () => instance().write('data/stop-now', '');

const remove = (...args: string[]) => execa('docker', args, { reject: false, stdin: 'ignore' });

test('the pulled image goes before it is used: it is pulled again', async () => {
  const { image } = instance();
  await instance().publish('v1.1.0', { env: patient });
  const run = instance().startUpdate(['--target', 'v1.1.0']);
  await run.waitFor(/ recreate stopping worker/);
  const { stdout } = await remove('image', 'rm', `${image}:v1.1.0`);
  expect(stdout).toContain('Untagged');
  await letStop();
  const { exitCode, log } = await run.done;
  expect(exitCode, log).toBe(0);
  expect(log).toContain(`WARN  recreate ${image}:v1.1.0 was removed from this machine meanwhile`);
  expect(await instance().version()).toBe('v1.1.0');
});

test('a stopped container goes on the way back: it is made again', async () => {
  const { project, directory } = instance();
  await instance().publish('v1.3.0', { entrypoint: ['/no-such-program'] });
  const engine = await startBadEngine(`${directory}.sock`);
  onTestFinished(() => engine.close());
  const { stdout: worker } = await execa('docker', ['inspect', '--format', '{{.Id}}', `${project}-worker-1`]);
  const filter = ['--filter', `label=com.docker.compose.project=${project}`];
  // Between the plan of the way back and the worker's start.
  engine.fail((asked) => {
    if (new RegExp(`^POST \\S*/containers/${worker}/start`).test(asked))
      execaSync('docker', ['container', 'prune', '--force', ...filter], { stdin: 'ignore' });
    return false;
  });
  const { exitCode, log } = await instance().update(['--target', 'v1.3.0'], engine);
  expect(exitCode, log).toBe(4);
  expect(log).toMatch(/-worker-1 (was|were) removed meanwhile; once more/);
  await expectBack('v1.1.0');
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
