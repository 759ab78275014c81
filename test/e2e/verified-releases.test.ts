import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { publisher } from '../provenance/sign.ts';
import { buildImage, machinePlatform, sha256 } from '../rig/image.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 3.21: nothing is written before the image is verified against a signed release file.

const anna = publisher();
const none = `sha256:${'0'.repeat(64)}`;

interface Said {
  /** The digest of the manifest for the platform of this machine. */
  manifest?: string;
  version?: string;
  files?: Record<string, string>;
  signer?: ReturnType<typeof publisher>;
}

/** A downloaded release directory, and the options with which the updater uses it. */
async function downloaded(instance: Instance, digest: string, said: Said = {}) {
  const folder = await temporaryDirectory();
  const { version = 'v1.1.0', files = {}, signer = anna } = said;
  const { manifest = none } = said;
  const platforms = { [await platform()]: { manifest, config: none } };
  const text = JSON.stringify({
    ...{ format: 1, product: 'svc', version, channel: 'stable', publishedAt: '2026-11-20T08:00:00Z', files },
    images: { [instance.image]: { reference: `${instance.image}:${version}`, digest, platforms } },
  });
  await writeFile(join(folder, 'release.json'), text);
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

const refused = /^refused \(not-proven\): nothing was changed(?:; v1\.0\.0 is still running)?\. Next: /;

test('an update installs a release with a trusted signature, and no other image in its place', async () => {
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
      says: ['/release/release.json: it is not signed with a trusted key'],
      ends: [refused],
    },
    forged.options,
  );
  // test/updater/run/release/expected-digests.test.ts tests the other cases. The tag is moved after it was signed, and
  // the pulled image must not keep the tag.
  await instance.publish('v1.1.0', { version: '1.1.0', labels: { moved: 'yes' } });
  await expectAttempt(
    instance,
    ['update', ...target, ...signed.args],
    {
      exitCode: 3,
      says: [`${instance.image}:v1.1.0 used by app is sha256:`, `instead of the verified ${digest}`],
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

test('an update verifies the manifest of its own platform, whatever else the index contains', async () => {
  const instance = await createInstance({ publish: [] });
  const { manifest } = await buildImage(instance.image.slice(instance.image.indexOf('/') + 1), 'v1.1.0');
  const target = ['--target', 'v1.1.0'];
  const digest = await instance.publish('v1.1.0', { platforms: [machinePlatform] });
  const signed = await downloaded(instance, digest, { manifest: sha256(manifest.bytes) });

  // An index in which only the manifest of this platform is replaced.
  await instance.publish('v1.1.0', { platforms: [machinePlatform], labels: { swapped: 'yes' } });
  await expectAttempt(
    instance,
    ['update', ...target, ...signed.args],
    { exitCode: 3, says: ['instead of the verified'], ends: [refused] },
    signed.options,
  );
  // An index with the signed manifest for this platform, and other additional content.
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
