import { execa } from 'execa';
import { expect, test } from 'vitest';
import { machinePlatform } from '../rig/image.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 3.23: images of another platform than the engine's. The images only declare the other platform. They
// contain programs for this machine, so no emulator is needed.

const foreign = machinePlatform === 'linux/arm64' ? 'linux/amd64' : 'linux/arm64';
const both = [machinePlatform, foreign];
const line = `platform: ${foreign}`;
const chosen = { text: { extra: { app: line, worker: line } } };
const toNext = ['--target', 'v1.1.0'];
const changed = { 'compose.yaml': (text: string) => text.replaceAll('v1.0.0', 'v1.1.0') };

async function start(builds: readonly string[], next: readonly string[], options: InstanceOptions = {}) {
  const instance = await createInstance({
    ...{ ...alone, kind: 'inline', publish: [], release: { builds } },
    ...options,
  });
  await instance.publish('v1.1.0', { builds: next });
  return instance;
}

/** The platforms of the images that app and worker run. */
async function platformsOf({ project }: Instance): Promise<string[]> {
  const names = ['app', 'worker'].map((service) => `${project}-${service}-1`);
  const format = '{{range .Config.Env}}{{println .}}{{end}}';
  const { stdout } = await execa('docker', ['inspect', '--format', format, ...names]);
  return [...stdout.matchAll(/^ARCH=(.*)$/gm)].map(([, machine]) => `linux/${machine}`);
}

async function choose(instance: Instance): Promise<void> {
  const text = await instance.read('compose.yaml');
  await instance.write('compose.yaml', text.replace(/^( +)(command: (?:app|worker))$/gm, `$1$2\n$1${line}`));
}

test.for<[what: string, options: InstanceOptions]>([['the compose file', chosen]])(
  'an update keeps the platform that is set in %s',
  async ([, options]) => {
    const instance = await start(both, both, options);
    expect(await platformsOf(instance)).toEqual([foreign, foreign]);
    await updateWell(instance, toNext, { version: 'v1.1.0', changed });
    expect(await platformsOf(instance)).toEqual([foreign, foreign]);
  },
);

test('an update fails if the platform was set only in a shell, and succeeds once the compose file sets the platform', async () => {
  const instance = await start(both, both, { shell: { DOCKER_DEFAULT_PLATFORM: foreign } });
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
  await expectAttempt(instance, toNext, {
    exitCode: 4,
    says: [`app runs on ${foreign}, but ${instance.image}:v1.1.0 would run on`],
    ends: ['failed (pull-platform): nothing was changed; v1.0.0 is still running. ', `set "${line}" for app`],
  });
  await choose(instance);
  await updateWell(instance, toNext, { version: 'v1.1.0', changed });
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
});
