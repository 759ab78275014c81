import { execa } from 'execa';
import { expect, test } from 'vitest';
import { endlessOutputs, limitedMemory } from '../e2e/support/endless-output.ts';
import { createWithData, expectRestored } from '../e2e/support/own-data.ts';
import { updaterImage } from '../rig/updater-run.ts';

// A hook of the compose file that prints one line larger than the maximum string length. Compose reads the output
// slowly.

const update = ['--target', 'v1.1.1', '--restore-point'];

const asked = ['run', '--rm', '--network', 'none', '--entrypoint', 'docker', updaterImage];
const { stdout: version } = await execa('docker', [...asked, 'compose', 'version', '--short']);
const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
const runsHooks = major > 5 || (major === 5 && minor >= 3);

test.runIf(runsHooks).each(endlessOutputs)(
  'an update with a pre_start hook that fills %s is rolled back',
  async (_, script) => {
    const instance = await createWithData();
    await instance.publish('v1.1.1', { env: {} });
    const before = await instance.read('compose.yaml');
    // The hook succeeds in the old version.
    const command = JSON.stringify(['sh', '-c', `grep -q 1.0.0 /etc/svc-version || { ${script}; }`]);
    const after = before.replace(
      '    command: app\n',
      `    command: app\n    pre_start: [{ command: ${command} }]\n`,
    );
    await instance.write('compose.yaml', after);
    const { exitCode, log } = await instance.update([...update, '--wait-timeout', '20'], {
      ...limitedMemory,
      patience: 540,
    });
    expect(exitCode, log.slice(-5000)).toBe(4);
    expect(log.split('\n').every((line) => line.length < 20_000)).toBe(true);
    expect(log).toMatch(/done failed \(rolled-back\): v1\.0\.0 is running again with the data saved at /);
    await expectRestored(instance, log);
  },
);
