import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { updaterImage } from '../rig/updater-run.ts';
import { alone, createInstance } from './support/instance.ts';

// docs/contract.md 5.8: compose 5.3 and later run `pre_start` from the new image, before the service starts.

const asked = ['run', '--rm', '--network', 'none', '--entrypoint', 'docker', updaterImage];
const { stdout: version } = await execa('docker', [...asked, 'compose', 'version', '--short']);
const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
const runsHooks = major > 5 || (major === 5 && minor >= 3);

test.runIf(runsHooks)(
  'an update reports a failed hook and does not retry it, and waits for a hook that is already running',
  async () => {
    const instance = await createInstance({ ...alone, publish: ['v1.1.0', 'v1.2.0'] });
    const { project } = instance;
    const before = await instance.read('compose.prod.yaml');
    const withHook = (exitCode: number, image = '') =>
      before.replace(
        '    command: app\n',
        `    command: app\n    pre_start: [{ command: [hook, "${exitCode}"]${image} }]\n`,
      );
    const hooks = async () => (await instance.read('data/hooks')).trimEnd().split('\n');

    await instance.write('compose.prod.yaml', withHook(3));
    const failing = instance.startUpdate(['--target', 'v1.1.0']);
    await failing.waitFor('running the pre_start hook of app');
    await instance.write('data/hook-may-end', '');
    const failed = await failing.done;
    expect(failed.exitCode, failed.log).toBe(5);
    expect(failed.log).toMatch(
      /recreate running the pre_start hook of app; the service is unavailable until the hook finishes/,
    );
    expect(failed.log).toContain('the hook pre_start[0] of app failed with exit code 3');
    expect(await hooks()).toEqual(['begins', 'ends']);
    expect((await instance.boots()).filter((boot) => boot.endsWith('v1.1.0'))).toEqual([]);

    // Compose 5.5 keeps the container of the failed hook, which must not block the next run.
    // The next hook has its own image, which only the new files specify.
    await instance.publish('v1.2.0-hook', { version: '1.2.0' });
    const own = `, image: "${instance.image}:\${SVC_VERSION}-hook"`;
    await instance.write('compose.prod.yaml', withHook(0, own));
    await rm(join(instance.directory, 'data/hook-may-end'));
    const killed = instance.startUpdate(['--target', 'v1.2.0']);
    await killed.waitFor('running the pre_start hook of app');
    // On a busy machine, the hook's container needs some time to print its first line.
    await expect.poll(hooks, { timeout: 60_000 }).toEqual(['begins', 'ends', 'begins']);
    await killed.kill();
    expect((await killed.done).exitCode).toBe(137);
    const going = instance.startUpdate(['--target', 'v1.2.0']);
    await going.waitFor('the pre_start hook of app is already running; waiting for it to finish');
    await instance.write('data/hook-may-end', '');
    const goesOn = await going.done;
    expect(goesOn.exitCode, goesOn.log).toBe(0);
    expect(goesOn.log).toMatch(/updated .* v1\.2\.0/);
    expect(await hooks()).toEqual(['begins', 'ends', 'begins', 'ends', 'begins', 'ends']);
    const { stdout: left } = await execa('docker', [
      'ps',
      '-a',
      '--format',
      '{{.Names}}',
      '--filter',
      `label=com.docker.compose.project=${project}`,
    ]);
    expect(left.split('\n').sort()).toEqual([`${project}-app-1`, `${project}-worker-1`]);
  },
);
