import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { publisher } from '../provenance/sign.ts';
import { generatedCompose } from '../rig/compose-text.ts';
import { buildImage, machinePlatform, sha256 } from '../rig/image.ts';
import { publish } from '../rig/registry.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 3.21: nothing is written before an image is the one that its release has said and somebody has signed.

const anna = publisher();
const none = `sha256:${'0'.repeat(64)}`;

interface Said {
  /** Of this machine's platform. */
  manifest?: string;
  version?: string;
  files?: Record<string, string>;
  signer?: ReturnType<typeof publisher>;
  /** After it was signed. */
  change?: (text: string) => string;
}

/** A folder as somebody has downloaded it, and the options by which the updater goes by it. */
async function downloaded(instance: Instance, digest: string, said: Said = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-release-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { version = 'v1.1.0', files = {}, signer = anna, change = (text: string) => text } = said;
  const { manifest = none } = said;
  const platforms = { [await platform()]: { manifest, config: none } };
  const text = JSON.stringify({
    ...{ format: 1, product: 'svc', version, channel: 'stable', publishedAt: '2026-11-20T08:00:00Z', files },
    images: { [instance.image]: { reference: `${instance.image}:${version}`, digest, platforms } },
  });
  await writeFile(join(folder, 'release.json'), change(text));
  await writeFile(join(folder, 'release.json.sigstore.json'), signer.sign(Buffer.from(text)));
  await writeFile(join(folder, 'publisher.pem'), anna.key);
  return {
    args: ['--release', '/release', '--trust', '/release/publisher.pem'],
    options: { volumes: [`${folder}:/release:ro`] },
  };
}
const platform = async () =>
  (await execa('docker', ['version', '-f', '{{.Server.Os}}/{{.Server.Arch}}'])).stdout;
const names = async (instance: Instance) =>
  (
    await execa('docker', ['image', 'ls', '--format', '{{.Repository}}:{{.Tag}}', instance.image])
  ).stdout.split('\n');

const refused = /^refused \(not-proven\): nothing was changed(?:, v1\.0\.0 runs on)?\. Next: /;

test('a release that somebody has signed is updated to, and no other in its place', async () => {
  const instance = await createInstance({ publish: [] });
  const digest = await instance.publish('v1.1.0');
  const signed = await downloaded(instance, digest);
  const target = ['--target', 'v1.1.0'];

  const forged = await downloaded(instance, digest, { signer: publisher() });
  await expectAttempt(
    instance,
    ['update', ...target, ...forged.args],
    {
      exitCode: 3,
      says: ['/release/release.json: it is signed by none of the keys that are trusted'],
      ends: [refused],
    },
    forged.options,
  );
  const changed = await downloaded(instance, digest, { change: (text) => text.replace('stable', 'canary') });
  await expectAttempt(
    instance,
    ['update', ...target, ...changed.args],
    {
      exitCode: 3,
      says: ['signed by none of the keys'],
      ends: [refused],
    },
    changed.options,
  );
  const old = await downloaded(instance, digest, { version: 'v1.0.9' });
  await expectAttempt(
    instance,
    ['update', ...target, ...old.args],
    {
      exitCode: 3,
      says: ['what is signed is v1.0.9, not v1.1.0'],
      ends: [refused],
    },
    old.options,
  );

  // The tag is moved after it was signed; nothing of it stays under its name.
  await instance.publish('v1.1.0', { version: '1.1.0', labels: { moved: 'yes' } });
  for (const command of ['update', 'fetch'])
    await expectAttempt(
      instance,
      [command, ...target, ...signed.args],
      {
        exitCode: 3,
        says: [`${instance.image}:v1.1.0 of app is sha256:`, `and not what was proven: ${digest}`],
        ends: [refused],
      },
      signed.options,
    );
  expect(await names(instance)).toEqual([`${instance.image}:v1.0.0`]);

  await instance.publish('v1.1.0');
  await updateWell(
    instance,
    [...target, ...signed.args],
    {
      version: 'v1.1.0',
      changed: { '.env': (text) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') },
    },
    signed.options,
  );
});

test('a tag that floats is moved back where it leads to another image than the proven one', async () => {
  const instance = await createInstance({ kind: 'default-latest', tag: 'latest', publish: [] });
  const before = await look(instance);
  const digest = await instance.publish('latest', { version: '1.1.0' });
  const signed = await downloaded(instance, digest);
  await instance.publish('latest', { version: '1.1.0', labels: { moved: 'yes' } });
  await expectAttempt(
    instance,
    ['update', ...signed.args],
    {
      exitCode: 3,
      says: ['and not what was proven', `${instance.image}:latest names the image from before again`],
      ends: [refused],
    },
    signed.options,
  );
  await instance.publish('latest', { version: '1.1.0' });
  const result = await instance.update(['update', ...signed.args], signed.options);
  expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0' }), result.log).toEqual([]);
});

test('of an index the manifest that this platform runs is proven, whatever else the index says', async () => {
  const instance = await createInstance({ publish: [] });
  const { manifest } = await buildImage(instance.image.slice(instance.image.indexOf('/') + 1), 'v1.1.0');
  const target = ['--target', 'v1.1.0'];
  const digest = await instance.publish('v1.1.0', { platforms: [machinePlatform] });
  const signed = await downloaded(instance, digest, { manifest: sha256(manifest.bytes) });

  // Another platform's in its place: an index in which nothing but the manifest of this platform is another one.
  await instance.publish('v1.1.0', { platforms: [machinePlatform], labels: { swapped: 'yes' } });
  await expectAttempt(
    instance,
    ['update', ...target, ...signed.args],
    { exitCode: 3, says: ['and not what was proven'], ends: [refused] },
    signed.options,
  );
  // The same for this platform, in an index that says something else besides.
  await instance.publish('v1.1.0', { attestation: 'made again' });
  await updateWell(
    instance,
    [...target, ...signed.args],
    {
      version: 'v1.1.0',
      changed: { '.env': (text) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') },
    },
    signed.options,
  );
});

test('a file that the release ships has to be the signed one', async () => {
  const instance = await createInstance({ kind: 'generated', publish: [] });
  const digest = await instance.publish('v1.1.0');
  const wrong = await downloaded(instance, digest, { files: { 'compose.yaml': none } });
  await expectAttempt(
    instance,
    ['update', '--target', 'v1.1.0', ...wrong.args],
    {
      exitCode: 3,
      says: ["the release's compose.yaml is sha256:", 'and not what was proven'],
      ends: [refused],
    },
    wrong.options,
  );
});

test('where the new file names another repository, what comes from there is proven as well', async () => {
  const instance = await createInstance({ kind: 'generated', publish: [] });
  const text = generatedCompose('v1.1.0').replaceAll(/\$\{SVC_IMAGE:\?\}/g, `${instance.image}-next`);
  const digest = await instance.publish('v1.1.0', { files: { 'compose.yaml': text } });
  const [host = '', ...path] = instance.image.split('/');
  await publish(host, `${path.join('/')}-next`, 'v1.1.0');
  const signed = await downloaded(instance, digest);
  await expectAttempt(
    instance,
    ['update', '--target', 'v1.1.0', ...signed.args],
    {
      exitCode: 3,
      says: [`${instance.image}-next:v1.1.0 of app is in no release that was proven`],
      ends: [refused],
    },
    signed.options,
  );
});
