import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { publisher } from '../provenance/sign.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import { findNamed, listImages } from '../rig/engine-api.ts';
import { machinePlatform } from '../rig/image.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { expectAttempt } from './support/attempt.ts';
import { runUpdater } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { ownData } from './support/own-data.ts';

// docs/contract.md 2.28

const toNext = ['--target', 'v1.1.0'];

/** A signed release whose only layer has this size. */
async function signedRelease(instance: Instance, bytes: number) {
  const folder = await temporaryDirectory();
  const anna = publisher();
  const digest = `sha256:${'0'.repeat(64)}`;
  const platforms = {
    [machinePlatform]: { manifest: digest, config: digest, layers: { [digest]: bytes } },
  };
  const text = JSON.stringify({
    ...{ format: 1, product: 'svc', version: 'v1.1.0', channel: 'stable', files: {} },
    publishedAt: '2026-11-20T08:00:00Z',
    images: { [instance.image]: { reference: `${instance.image}:v1.1.0`, digest, platforms } },
  });
  await writeFile(join(folder, 'release.json'), text);
  await writeFile(join(folder, 'release.json.sigstore.json'), anna.sign(Buffer.from(text)));
  await writeFile(join(folder, 'publisher.pem'), anna.key);
  return {
    args: ['--release', '/release', '--trust', '/release/publisher.pem'],
    options: { volumes: [`${folder}:/release:ro`] },
  };
}

/** The references of the images of the instance, with `svc` for its registry and name: `svc:v1.0.0`. */
const referencesOf = async ({ image, name }: Instance): Promise<string[]> =>
  (await findNamed(name)).images
    .filter((reference) => !reference.includes('@'))
    .map((reference) => reference.replace(image, 'svc'))
    .sort();

test('rejects a release that does not fit on the disk before any request to the registry', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createInstance({ ...alone, registry: registry.host });
  const { args, options } = await signedRelease(instance, 10_000_000_000_000);
  registry.requests.length = 0;
  for (const command of ['plan', 'fetch', 'update']) {
    await expectAttempt(
      instance,
      [command, ...toNext, ...args],
      {
        exitCode: 3,
        says: [
          / the images to pull need at least 10000\.0 GB, but the engine's disk has only [\d.]+ .B free/,
        ],
        ends: [/^refused \(no-space\): /],
      },
      options,
    );
  }
  expect(registry.requests).toEqual([]);
});

test('removes superseded and prefetched images, but no image that is in use or from another repository', async () => {
  const instance = await createInstance({ ...alone, publish: ['v1.1.0', 'v1.2.0', 'v1.4.2'] });
  const { image, name } = instance;
  const docker = (...args: string[]) => execa('docker', args);
  await runUpdater(instance, ['fetch', '--target', 'v1.2.0']);
  const digest = await instance.publish('v1.3.0', { version: '1.3.0' });
  const digests = [digest, await instance.publish('v1.2.0')];
  for (const each of digests) await docker('pull', '--quiet', `${image}@${each}`);
  await docker('pull', '--quiet', `${image}:v1.4.2`);
  await docker('create', '--name', `${name}-stopped`, `${image}:v1.4.2`);
  await docker('tag', `${image}:v1.0.0`, `${image}-other:v1.0.0`);
  await docker('tag', `${image}:v1.2.0`, `${image}:1.2`);

  const { exitCode, log } = await runUpdater(instance, [...toNext, '--remove-old-images']);
  expect(exitCode, log).toBe(0);
  expect(await referencesOf(instance)).toEqual(['svc-other:v1.0.0', 'svc:v1.1.0', 'svc:v1.4.2']);
  const references = (await findNamed(name)).images.join();
  for (const each of digests) expect(references).not.toContain(each);
  expect(log.match(/removed the old image .* \(\d+ MB\)$/gm)).toHaveLength(3);
});

test('removes the replaced image of a floating tag', async () => {
  const instance = await createInstance({ ...alone, kind: 'default-latest', tag: 'latest', publish: [] });
  const [old] = await listImages(instance.image);
  await instance.publish('latest', { version: '1.1.0' });
  const { exitCode, log } = await runUpdater(instance, ['--remove-old-images']);
  expect(exitCode, log).toBe(0);
  const gone = execa('docker', ['image', 'inspect', old?.id ?? ''], { reject: false });
  expect((await gone).stderr).toMatch(/no such image/i);
});

test('keeps the image of a restore point until the restore point is replaced', async () => {
  const instance = await createInstance({ ...alone, layout: ownData, publish: ['v1.1.0', 'v1.2.0'] });
  const options = ['--restore-point', '--remove-old-images'];
  const first = await runUpdater(instance, [...toNext, ...options]);
  expect(first.exitCode, first.log).toBe(0);
  expect(await referencesOf(instance)).toEqual(expect.arrayContaining(['svc:v1.0.0', 'svc:v1.1.0']));
  expect((await instance.update(['rollback'])).exitCode).toBe(0);

  // The next restore point replaces the first one.
  const second = await runUpdater(instance, ['--target', 'v1.2.0', ...options]);
  expect(second.exitCode, second.log).toBe(0);
  const references = await referencesOf(instance);
  expect(references).toEqual(expect.arrayContaining(['svc:v1.1.0', 'svc:v1.2.0']));
  expect(references).not.toContain('svc:v1.0.0');
});
