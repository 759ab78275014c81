import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openReleaseArchive } from '../../../../../src/provenance/release-archive.ts';
import {
  findArchivedImage,
  requireIntactArchive,
} from '../../../../../src/updater/compose/pull/load/archived-image.ts';
import { archiveOf, sha256 } from '../../../../provenance/archive.ts';
import { temporaryDirectory } from '../../../../rig/temporary-directory.ts';

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const digestOf = (bytes: Buffer) => `sha256:${sha256(bytes)}`;
const config = json({ os: 'linux' });
const layer = Buffer.from('a layer');
const manifest = json({
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  config: { digest: digestOf(config) },
  layers: [{ digest: digestOf(layer) }, { digest: digestOf(layer) }],
});
const other = `sha256:${'5'.repeat(64)}`;
const of = (digest: string, architecture: string, os = 'linux') => ({
  digest,
  platform: { os, architecture },
});
const index = json({
  manifests: [of(other, 'unknown', 'unknown'), of(other, 'arm64'), of(digestOf(manifest), 'amd64')],
});

async function opened(blobs: readonly Buffer[], files: Record<string, string> = {}) {
  const folder = await temporaryDirectory();
  const path = join(folder, 'release.tar');
  const named = blobs.map((blob) => [`blobs/sha256/${sha256(blob)}`, blob] as const);
  await writeFile(
    path,
    archiveOf([
      ...([
        ['release.json', '{}'],
        ['release.json.sigstore.json', '{}'],
      ] as const),
      ...Object.entries(files).map(([name, text]) => [`files/${name}`, text] as const),
      ...named.toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ]),
  );
  const archive = await openReleaseArchive(path);
  onTestFinished(() => archive.close());
  return { archive, path };
}
const whole = [config, layer, manifest, index];

it.each([
  ['an index', index, [index, manifest, config, layer]],
  ['a manifest', manifest, [manifest, config, layer]],
])('finds all parts of %s for a platform', async (_, root, parts) => {
  const { archive } = await opened(whole);
  expect(await findArchivedImage(archive, [other, digestOf(config), digestOf(root)], 'linux/amd64')).toEqual({
    root: {
      mediaType: root === index ? '' : 'application/vnd.oci.image.manifest.v1+json',
      digest: digestOf(root),
      size: root.length,
    },
    config: digestOf(config),
    layers: [digestOf(layer), digestOf(layer)],
    blobs: parts.map(digestOf),
  });
});

it('finds no image if no digest belongs to an image', async () => {
  const { archive } = await opened(whole);
  expect(await findArchivedImage(archive, [other, digestOf(config)], 'linux/amd64')).toBeNull();
});

it.each([
  ['of another platform', whole, 'linux/s390x', 'the archive contains no image for linux/s390x'],
  ['whose manifest is not in it', whole, 'linux/arm64', `blobs/sha256/${'5'.repeat(64)} is missing`],
  [
    'without a layer',
    [config, manifest, index],
    'linux/amd64',
    `the archive does not contain ${digestOf(layer)}, which belongs to`,
  ],
  [
    'without its configuration',
    [layer, manifest, index],
    'linux/amd64',
    `the archive does not contain ${digestOf(config)}`,
  ],
])('refuses an image %s', async (_, blobs, platform, why) => {
  const { archive } = await opened(blobs);
  await expect(findArchivedImage(archive, [digestOf(index)], platform)).rejects.toThrow(why);
});

it.each([
  ['without layers', { config: { digest: digestOf(config) } }],
  ['whose layer has no digest', { config: { digest: digestOf(config) }, layers: [{ size: 1 }] }],
])('refuses a manifest %s', async (_, content) => {
  const odd = json(content);
  const root = json({ manifests: [of(digestOf(odd), 'amd64')] });
  const { archive } = await opened([config, odd, root]);
  await expect(findArchivedImage(archive, [digestOf(root)], 'linux/amd64')).rejects.toThrow(
    `${digestOf(odd)} in the archive is not an image manifest`,
  );
});

it('refuses a path in place of a digest', async () => {
  const odd = json({ config: { digest: '../../release.json' }, layers: [] });
  const { archive } = await opened([odd]);
  await expect(findArchivedImage(archive, [digestOf(odd)], 'linux/amd64')).rejects.toThrow(
    'the archive does not contain ../../',
  );
});

it('compares every blob and file with its digest', async () => {
  const { archive } = await opened(whole, { 'compose.yaml': 'x', 'svc.mjs': 'y' });
  const files = new Map([['compose.yaml', digestOf(Buffer.from('x'))]]);
  let read = 0;
  await requireIntactArchive(archive, files, (bytes) => {
    read = bytes;
  });
  expect(read).toBe(1 + whole.reduce((sum, { length }) => sum + length, 0));
  // The name of an entry must match completely, not only its end.
  await requireIntactArchive(archive, new Map([['e.json.sigstore.json', other]]), () => {});
  await expect(requireIntactArchive(archive, new Map([['compose.yaml', other]]), () => {})).rejects.toThrow(
    'files/compose.yaml in the archive was modified',
  );
});

it('detects a changed byte', async () => {
  const { archive, path } = await opened(whole);
  const { offset = 0 } = archive.entries.get(`blobs/sha256/${sha256(layer)}`) ?? {};
  const handle = await open(path, 'r+');
  await handle.write(Buffer.from('A'), 0, 1, offset);
  await handle.close();
  await expect(requireIntactArchive(archive, new Map(), () => {})).rejects.toThrow(
    `blobs/sha256/${sha256(layer)} in the archive was modified`,
  );
});
