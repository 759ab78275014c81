import { mkdir, writeFile } from 'node:fs/promises';
import { execa } from 'execa';
import { onTestFinished, test } from 'vitest';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 3.26: images that the owner builds from the compose file.

const toNext = ['--target', 'v1.1.0'];
const withBuild = { ...alone, text: { extra: { app: 'build: ./own' } } };

/** Builds an image with an additional file on a release, and recreates the app and other services with it. */
async function build(instance: Instance, name: string, ...others: string[]): Promise<void> {
  const directory = `${instance.directory}/own`;
  await mkdir(directory, { recursive: true });
  await writeFile(`${directory}/Dockerfile`, `FROM ${instance.image}:v1.0.0\nCOPY Dockerfile /plugin\n`);
  await execa('docker', ['build', '--quiet', '--tag', name, directory]);
  onTestFinished(async () => void (await execa('docker', ['image', 'rm', '--force', name])));
  await instance.compose('up', '-d', '--no-deps', '--no-build', 'app', ...others);
  await instance.waitUntilHealthy();
}

test("an update of a local build with the publisher's image name is refused, unless own builds are accepted", async () => {
  const instance = await createInstance(withBuild);
  await build(instance, `${instance.image}:v1.0.0`, 'worker');
  const says = ['app has "build:" in the compose files, and the registry does not have the running image'];
  const ends = [
    'refused (own-build): nothing was changed; v1.0.0 is still running',
    'set the new tag (SVC_VERSION in .env line ',
    'compose.prod.yaml build app && ',
    'up -d --no-deps app worker. ',
    `To install ${instance.image}:v1.1.0 from the registry instead, use --accept-own-build. Also use it if you did not build the image, for example because it was loaded from an archive or has been removed from the registry.`,
  ];
  for (const args of [['plan', ...toNext], ['fetch', ...toNext], toNext])
    await expectAttempt(instance, args, { exitCode: 3, says, ends });
  await instance.write('.svc-updater.yaml', 'accept-own-build: true\n');
  await updateWell(instance, toNext, {
    version: 'v1.1.0',
    changed: { '.env': (text) => text.replaceAll('v1.0.0', 'v1.1.0') },
  });
});

test("the publisher's image is updated although the service has a build section", async () => {
  const instance = await createInstance(withBuild);
  await updateWell(instance, toNext, {
    version: 'v1.1.0',
    changed: { '.env': (text) => text.replaceAll('v1.0.0', 'v1.1.0') },
  });
});

test('an update of a local build with its own image name, or with no image name, is refused as a build', async () => {
  const instance = await createInstance({
    ...withBuild,
    text: { ...withBuild.text, worker: null },
    up: ['--no-deps', 'app'],
  });
  const own = `registry.invalid/${instance.name}`;
  const text = await instance.read('compose.prod.yaml');
  await instance.write('compose.prod.yaml', text.replace(`image: ${instance.image}:`, `image: ${own}:`));
  await build(instance, `${own}:v1.0.0`);
  const unknown = 'app has "build:", and its registry did not report whether it has the running image';
  await expectAttempt(instance, ['plan', ...toNext], { exitCode: 0, says: [unknown], ends: ['planned'] });
  await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: [unknown, `app has "build:" in the compose files, and its pull failed: ${own}:v1.1.0: `],
    ends: ['refused (own-build): nothing was changed; v1.0.0 is still running', ' build app && '],
  });
  const now = await instance.read('compose.prod.yaml');
  await instance.write('compose.prod.yaml', now.replace(/ {4}image: registry\.invalid.*\n/, ''));
  await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: ['app is built from source in compose.prod.yaml and has no image'],
    ends: ['refused (built-from-source): nothing was changed', ' build && '],
  });
});
