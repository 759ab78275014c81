import { execa } from 'execa';
import { expect, test } from 'vitest';
import { publisher } from '../provenance/sign.ts';
import {
  type ArchiveEntries,
  type ArchiveOptions,
  carried,
  fromFile,
  releaseArchive,
} from '../rig/release-archive.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 3.22. The images of the archive are in no registry.

async function made(instance: Instance, archive: ArchiveOptions = {}) {
  const { bytes } = await releaseArchive(instance.image, 'v1.1.0', archive);
  return carried(instance, bytes);
}
const names = async (instance: Instance) =>
  (
    await execa('docker', ['image', 'ls', '--format', '{{.Repository}}:{{.Tag}}', instance.image])
  ).stdout.split('\n');
const moved = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
const refused = /^refused \(not-proven\): nothing was changed(?:; v1\.0\.0 is still running)?\. Next: /;

const withFlipped = (entries: ArchiveEntries, name: RegExp): ArchiveEntries =>
  entries.map(([each, content]) => {
    if (!name.test(each)) return [each, content];
    const bytes = Buffer.from(content);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    return [each, bytes];
  });

test('an update installs an archive, and is refused for an untrusted, incomplete or changed archive before anything is loaded', async () => {
  const instance = await createInstance({ publish: [] });
  // test/provenance/release-archive.test.ts has the other invalid archives.
  const rows: [ArchiveOptions, string][] = [
    [{ signer: publisher() }, 'not signed with a trusted key'],
    [{ platform: 'linux/s390x' }, 'lists no image of'],
    [{ change: (entries) => withFlipped(entries, /^blobs/) }, '/release/carried.tar: '],
  ];
  for (const [special, why] of rows) {
    const options = await made(instance, special);
    await expectAttempt(instance, fromFile, { exitCode: 3, says: [why], ends: [refused] }, options);
  }
  const { bytes } = await releaseArchive(instance.image, 'v1.1.0');
  await expectAttempt(
    instance,
    fromFile,
    { exitCode: 3, says: ['it is truncated'], ends: [refused] },
    await carried(instance, bytes.subarray(0, 5000)),
  );
  expect(await names(instance)).toEqual([`${instance.image}:v1.0.0`]);

  const options = await made(instance);
  await updateWell(instance, fromFile, { version: 'v1.1.0', changed: moved }, options);
  // The loaded image has the digest of the index, as after a pull.
  const again = await instance.update(fromFile, options);
  expect([again.exitCode, again.log]).toEqual([0, expect.stringContaining('unchanged')]);
});
