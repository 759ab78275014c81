import { execa } from 'execa';
import { expect, test } from 'vitest';
import { parseEventLine } from '../../src/core/progress/log-line.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { alone as appAndWorker, createInstance } from './support/instance.ts';

/** Runs a program of the image and returns its output. */
async function says(...command: [string, ...string[]]): Promise<string> {
  const [program, ...args] = command;
  const { stdout } = await execa('docker', ['run', '--rm', '--entrypoint', program, updaterImage, ...args]);
  return stdout.trim();
}

test("the image reports the versions of its programs, and of the engine if the engine's socket is mounted", async () => {
  const [cli, compose, engine, apart, beside, help] = await Promise.all([
    says('docker', '--version'),
    says('docker', 'compose', 'version', '--short'),
    execa('docker', ['version', '--format', '{{.Server.Version}}']).then(({ stdout }) => stdout),
    execa('docker', ['run', '--rm', '--network', 'none', updaterImage, '--version']),
    execa('docker', ['run', '--rm', '-v', `${engineSocket}:/var/run/docker.sock`, updaterImage, '--version']),
    execa('docker', ['run', '--rm', '--network', 'none', updaterImage, '--help']),
  ]);
  const brings = `docker CLI ${/^Docker version ([^,]+),/.exec(cli)?.[1]}, compose ${compose}`;
  const version = /^svc-updater [^ ,]+/.exec(apart.stdout)?.[0];
  expect(apart.stdout).toBe(`${version}, ${brings}`);
  // --help needs neither an engine nor a directory (docs/contract.md 1.1).
  expect(help.stdout).toContain('svc-updater plan [options]');
  expect(beside.stdout).toBe(`${version}, ${brings}, engine ${engine}`);

  const instance = await createInstance(appAndWorker);
  const { log } = await instance.update(['plan', '--target', 'v1.1.0']);
  const first = log.split('\n').map((line) => parseEventLine(line)?.message)[0];
  expect(first).toContain(`${version}, engine ${engine}, ${brings}; project ${instance.name} in `);
});
