import { execa } from 'execa';
import { expect, test } from 'vitest';
import { judgeUpdated } from '../judge/judge.ts';
import { judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
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

// docs/contract.md 3.22. What is loaded has never been in a registry, and none is there to be asked.

const _path = '/release/carried.tar';
async function made(instance: Instance, archive: ArchiveOptions = {}) {
  const { bytes, digest } = await releaseArchive(instance.image, 'v1.1.0', archive);
  return { digest, options: await carried(instance, bytes) };
}
const names = async (instance: Instance) =>
  (
    await execa('docker', ['image', 'ls', '--format', '{{.Repository}}:{{.Tag}}', instance.image])
  ).stdout.split('\n');
const moved = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
const refused = /^refused \(not-proven\): nothing was changed(?:, v1\.0\.0 runs on)?\. Next: /;

test('an archive is updated to, by the release that it has, and is proven again after it was loaded', async () => {
  const instance = await createInstance({ publish: [] });
  const { options } = await made(instance);
  const plan = await instance.update(['plan', ...fromFile], options);
  expect([plan.exitCode, plan.log]).toEqual([0, expect.stringContaining('v1.1.0')]);
  expect(await names(instance)).toEqual([`${instance.image}:v1.0.0`]);
  await updateWell(instance, fromFile, { version: 'v1.1.0', changed: moved }, options);
  // By the digest of the index, which a pull would have brought.
  const again = await instance.update(fromFile, options);
  expect([again.exitCode, again.log]).toEqual([0, expect.stringContaining('unchanged')]);
});

test.for(['generated', 'inline', 'default-latest'] as const)(
  'an install of kind %s takes one',
  async (kind) => {
    const instance = await createInstance({
      kind,
      publish: [],
      ...(kind === 'default-latest' && { tag: 'latest' }),
    });
    // The label of an image that a word leads to would be asked of the registry's tags where it tells nothing.
    const { options } = await made(instance, {
      names: ['app', 'worker'],
      release: kind === 'default-latest' ? { versionLabel: null } : {},
    });
    const all = (text: string) => text.replaceAll('v1.0.0', 'v1.1.0');
    const changed = { generated: { '.env': all, 'compose.yaml': all }, inline: { 'compose.yaml': all } };
    await updateWell(
      instance,
      fromFile,
      { version: 'v1.1.0', changed: kind === 'default-latest' ? {} : changed[kind] },
      options,
    );
  },
);

test('a pin of a part moves to a part that no registry has', async () => {
  const instance = await createInstance({
    kind: 'inline',
    tag: '1.0',
    release: { version: '1.0.0' },
    publish: [],
  });
  const { options } = await made(instance);
  const changed = { 'compose.yaml': (text: string) => text.replaceAll('svc:1.0', 'svc:1.1') };
  await updateWell(instance, fromFile, { version: 'v1.1.0', changed }, options);
});

test('a pin with a digest gets that of the archive', async () => {
  const instance = await createInstance({ kind: 'inline', publish: [] });
  const old = await instance.publish('v1.0.0');
  const pinned = (await instance.read('compose.yaml')).replaceAll('v1.0.0', `v1.0.0@${old}`);
  await instance.write('compose.yaml', pinned);
  await instance.compose('up', '-d', 'app', 'worker');
  await instance.waitUntilHealthy();
  const { options, digest } = await made(instance);
  const moved = (text: string) => text.replaceAll(`v1.0.0@${old}`, `v1.1.0@${digest}`);
  await updateWell(instance, fromFile, { version: 'v1.1.0', changed: { 'compose.yaml': moved } }, options);
});

const withFlipped = (entries: ArchiveEntries, name: RegExp): ArchiveEntries =>
  entries.map(([each, content]) => {
    if (!name.test(each)) return [each, content];
    const bytes = Buffer.from(content);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    return [each, bytes];
  });

test('what is not the whole, unchanged release of this product for this platform is refused, and nothing loaded', async () => {
  const instance = await createInstance({ publish: [] });
  const rows: [ArchiveOptions, string][] = [
    [{ signer: publisher() }, 'signed by none of the keys'],
    [{ product: 'acme' }, 'it is a release of acme, not of svc'],
    [{ platform: 'linux/s390x' }, 'has no image of'],
    [{ names: ['other'] }, 'is in no release that was proven'],
    [{ change: (entries) => withFlipped(entries, /^release\.json$/) }, 'signed by none of the keys'],
    [{ change: (entries) => withFlipped(entries, /sigstore/) }, '/release/carried.tar: '],
    [{ change: (entries) => withFlipped(entries, /^blobs/) }, '/release/carried.tar: '],
    [
      { change: (entries) => entries.filter(([, { length }]) => length < 100_000) },
      'which is of an image in it',
    ],
  ];
  for (const [special, why] of rows) {
    const { options } = await made(instance, special);
    await expectAttempt(instance, fromFile, { exitCode: 3, says: [why], ends: [refused] }, options);
  }
  const { bytes } = await releaseArchive(instance.image, 'v1.1.0');
  for (const cut of [bytes.subarray(0, -1024), bytes.subarray(0, 5000), Buffer.alloc(0)])
    await expectAttempt(
      instance,
      fromFile,
      { exitCode: 3, says: ['it was cut off'], ends: [refused] },
      await carried(instance, cut),
    );
  const { options } = await made(instance);
  await expectAttempt(
    instance,
    [...fromFile, '--target', 'v1.2.0'],
    { exitCode: 3, says: ['what is signed is v1.1.0, not v1.2.0'], ends: [refused] },
    options,
  );
  expect(await names(instance)).toEqual([`${instance.image}:v1.0.0`]);
});

test('a layer that was changed under its name is told before anything is loaded', async () => {
  const instance = await createInstance({ publish: [] });
  const largest = (entries: ArchiveEntries) =>
    entries.toSorted((a, b) => b[1].length - a[1].length)[0]?.[0] ?? '';
  const { options } = await made(instance, {
    change: (entries) => withFlipped(entries, new RegExp(`^${largest(entries)}$`)),
  });
  await expectAttempt(
    instance,
    fromFile,
    { exitCode: 3, says: ['in it was changed'], ends: [refused] },
    options,
  );
  expect(await names(instance)).toEqual([`${instance.image}:v1.0.0`]);
});

test('a run that is killed once the engine has loaded an archive leaves nothing that the next one minds', async () => {
  // Its worker does not stop before the run is killed.
  const instance = await createInstance({ publish: [], release: { env: { STOP_UNTIL: '/data/go' } } });
  const before = await look(instance);
  const { options } = await made(instance);
  const run = instance.startUpdate(fromFile, options);
  await run.waitFor('is here, out of carried.tar');
  await run.kill();
  await run.done;
  await instance.write('data/go', '');
  const result = await instance.update(fromFile, options);
  expect(judgeOutcome(result, ['updated']), result.log).toEqual([]);
  const expected = { version: 'v1.1.0', changed: moved };
  expect(judgeUpdated(before, await look(instance), expected), result.log).toEqual([]);
});
