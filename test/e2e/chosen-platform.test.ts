import { execa } from 'execa';
import { beforeAll, expect, test } from 'vitest';
import { keepsIndexes } from '../rig/engine-api.ts';
import { machinePlatform } from '../rig/image.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 3.23: images of another platform than the engine's. They only say that they are, and have this machine's
// programs, so that nothing here needs an emulator.

const foreign = machinePlatform === 'linux/arm64' ? 'linux/amd64' : 'linux/arm64';
const both = [machinePlatform, foreign];
const line = `platform: ${foreign}`;
const chosen = { text: { extra: { app: line, worker: line } } };
const toNext = ['--target', 'v1.1.0'];
const changed = { 'compose.yaml': (text: string) => text.replaceAll('v1.0.0', 'v1.1.0') };
let indexes = true;
beforeAll(async () => {
  indexes = await keepsIndexes();
});

async function start(builds: readonly string[], next: readonly string[], options: InstanceOptions = {}) {
  const instance = await createInstance({
    ...{ ...alone, kind: 'inline', publish: [], release: { builds } },
    ...options,
  });
  await instance.publish('v1.1.0', { builds: next });
  return instance;
}

/** What the containers of app and worker are of. */
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

test.for<[what: string, options: InstanceOptions]>([
  ['the compose file', chosen],
  ['the compose file, in other words', { text: { extra: { app: 'platform: aarch64', worker: line } } }],
  ['.env', { env: `DOCKER_DEFAULT_PLATFORM=${foreign}\n` }],
])('chosen in %s', async ([, options]) => {
  const instance = await start(both, both, options);
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
  await updateWell(instance, toNext, { version: 'v1.1.0', changed });
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
});

test('chosen for one of two services with the same image', async ({ skip }) => {
  if (!indexes)
    skip('of an image this engine keeps one platform: the worker has what the app has chosen from the start');
  const instance = await start(both, both, { text: { extra: { app: line } } });
  expect(await platformsOf(instance)).toEqual([foreign, machinePlatform]);
  await updateWell(instance, toNext, { version: 'v1.1.0', changed });
  expect(await platformsOf(instance)).toEqual([foreign, machinePlatform]);
});

test('chosen, and the image says what it can be updated from', async () => {
  const instance = await start(both, both, chosen);
  const next = { builds: both, labels: { 'svc.release-requires': 'v1.0.5' } };
  await instance.publish('v1.1.0', next);
  await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: [],
    ends: ['refused (upgrade-step): nothing was changed, v1.0.0 runs on; v1.0.5 has to come first'],
  });
});

test('chosen, and the old release is here for both: what it gives there is no drift', async () => {
  const instance = await start(both, both, chosen);
  await execa('docker', ['pull', '--quiet', '--platform', machinePlatform, `${instance.image}:v1.0.0`]);
  if (!indexes) await execa('docker', ['pull', '--quiet', '--platform', foreign, `${instance.image}:v1.0.0`]);
  await updateWell(instance, toNext, { version: 'v1.1.0', changed });
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
});

test('chosen, and the release cannot start: the old one comes back as it was', async () => {
  const instance = await start(both, both, chosen);
  await instance.publish('v1.1.0', { builds: both, entrypoint: ['/bin/there-is-no-such-file'] });
  expectWords(await instance.update(toNext), {
    exitCode: 4,
    says: ['nothing of the new version has started: the old one is brought back'],
    ends: ['failed (recreate-failed): the files are as they were and v1.0.0 runs again'],
  });
  await instance.waitUntilHealthy();
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
});

test('chosen, and the release is one image of the other platform', async () => {
  const instance = await start(both, [machinePlatform], chosen);
  await expectAttempt(instance, toNext, {
    exitCode: 4,
    says: [`${instance.image}:v1.1.0`],
    ends: ['failed (pull-platform): nothing was changed, v1.0.0 runs on. Next: '],
  });
});

test('nobody has chosen, and the release is one image of another platform', async () => {
  const instance = await start(both, [foreign]);
  const expected = {
    exitCode: 4,
    says: [
      `app runs ${machinePlatform}, which no file says, and of ${instance.image}:v1.1.0 it would get ${foreign}`,
    ],
    ends: [
      'failed (pull-platform): nothing was changed, v1.0.0 runs on. ',
      `Write platform: ${machinePlatform} for app in the compose file to keep that, or platform: ${foreign} for app `,
    ],
  };
  await expectAttempt(instance, toNext, expected);
  // By now the image is here.
  await expectAttempt(instance, ['plan', ...toNext], expected);
});

test('a shell has chosen, and nothing says so: asked for, and kept where the answer is written', async () => {
  const instance = await start(both, both, { shell: { DOCKER_DEFAULT_PLATFORM: foreign } });
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
  await expectAttempt(instance, toNext, {
    exitCode: 4,
    says: [`app runs ${foreign}, which no file says, and of ${instance.image}:v1.1.0 it would get`],
    ends: [
      'failed (pull-platform): nothing was changed, v1.0.0 runs on. ',
      `Write ${line} for app in the compose file`,
    ],
  });
  await choose(instance);
  await updateWell(instance, toNext, { version: 'v1.1.0', changed });
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
});

test('a digest has chosen: the index of the next release would not', async () => {
  const instance = await start(both, both);
  const digest = await instance.publish('v1.0.0', { builds: [foreign] });
  const text = await instance.read('compose.yaml');
  await instance.write('compose.yaml', text.replaceAll('v1.0.0', `v1.0.0@${digest}`));
  await instance.compose('up', '-d', ...alone.up);
  await instance.waitUntilHealthy();
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
  await expectAttempt(instance, toNext, {
    exitCode: 4,
    says: [`app runs ${foreign}, which no file says`],
    ends: ['failed (pull-platform): nothing was changed, v1.0.0 runs on. '],
  });
});

test('chosen since: a warning, and that is what it gets', async () => {
  const instance = await start(both, both);
  await choose(instance);
  const gets = `its platform would change from ${machinePlatform} to ${foreign}`;
  await updateWell(instance, toNext, {
    ...{ version: 'v1.1.0', changed },
    warns: [`app: ${gets}`, `worker: ${gets}`],
  });
  expect(await platformsOf(instance)).toEqual([foreign, foreign]);
});
