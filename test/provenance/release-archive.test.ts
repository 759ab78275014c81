import { execFile } from 'node:child_process';
import { symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createTarHeader } from '../../src/core/files/tar-header.ts';
import { openReleaseArchive } from '../../src/provenance/release-archive.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { archiveOf } from './archive.ts';

const blob = (digit: string) => `blobs/sha256/${digit.repeat(64)}`;
const whole = [
  ['release.json', '{"format":1}\n'],
  ['release.json.sigstore.json', '{}'],
  ['files/compose.yaml', '# svc:generated\n'],
  ['files/svc.mjs', ''],
  ['oci-layout', '{"imageLayoutVersion":"1.0.0"}'],
  ['index.json', '{}'],
  [blob('0'), 'x'.repeat(512)],
  [blob('1'), 'y'.repeat(3_000_000)],
] as const;

async function fileOf(bytes: Buffer): Promise<string> {
  const folder = await temporaryDirectory();
  const path = join(folder, 'svc-v1.5.0-linux-amd64.tar');
  await writeFile(path, bytes);
  return path;
}

async function opened(bytes: Buffer) {
  const archive = await openReleaseArchive(await fileOf(bytes));
  onTestFinished(() => archive.close());
  return archive;
}

test('openArchive lists the same entries as tar', async () => {
  const bytes = archiveOf(whole);
  const archive = await opened(bytes);
  expect([...archive.entries].map(([name, { size }]) => [name, size])).toEqual(
    whole.map(([name, content]) => [name, content.length]),
  );
  expect([archive.file.toString(), archive.bundle]).toEqual(['{"format":1}\n', '{}']);
  expect((await archive.read('files/compose.yaml', 100)).toString()).toBe('# svc:generated\n');
  for (const [name, content] of whole) {
    const pieces: Buffer[] = [];
    for await (const piece of archive.stream(name)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe(content);
  }
  await expect(archive.read('index.json', 1)).rejects.toThrow('larger than');
  await expect(archive.read('files/other', 1)).rejects.toThrow('files/other is missing');

  const path = await fileOf(bytes);
  const { stdout } = await promisify(execFile)('tar', ['--list', '--verbose', '--file', path]);
  expect(stdout).toContain('-rw-r--r-- 0/0 ');
  expect(stdout.trim().split('\n')).toHaveLength(whole.length);
});

const changed = (change: (header: Buffer) => unknown, name = 'files/compose.yaml') => {
  const bytes = archiveOf(whole);
  const header = bytes.indexOf(createTarHeader(name, 16));
  change(bytes.subarray(header, header + 512));
  return bytes;
};
/** Archive with a changed entry type and link, and a valid checksum. */
const typed = (type: string, link = '') =>
  changed((header) => {
    header.write(type, 156);
    header.write(link, 157);
    header.write('        ', 148);
    header.write(
      `${header
        .reduce((all, byte) => all + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
  });
const without = (name: string) => archiveOf(whole.filter(([each]) => each !== name));
const named = (name: string) =>
  archiveOf([...whole.slice(0, 2), [name, 'x'], ...whole.slice(2)] as (readonly [string, string])[]);

test.for([
  ['empty', Buffer.alloc(0), 'truncated'],
  ['without its end', archiveOf(whole).subarray(0, -1024), 'truncated'],
  ['cut in an entry', archiveOf(whole).subarray(0, 1_000_000), 'truncated'],
  [
    'with something behind it',
    Buffer.concat([archiveOf(whole), Buffer.from('x')]),
    'after the end of the archive',
  ],
  ['a path that leads out', named('files/../../etc/passwd'), '"files/../../etc/passwd" is not allowed'],
  ['a hidden file', named('files/.env'), '"files/.env" is not allowed'],
  ['a link', typed('2', '/etc/passwd'), '"files/compose.yaml" is a link'],
  ['a hard link', typed('1', 'release.json'), '"files/compose.yaml" is a link'],
  ['a device', typed('3'), 'is a device'],
  ['a directory', typed('5'), 'is a directory'],
  ['headers of another kind', typed('x'), 'not allowed in a release archive'],
  ['a sparse file', typed('S'), 'not allowed in a release archive'],
  ['another mode', changed((header) => header.write('0000755', 100)), 'not allowed in a release archive'],
  ['a size in binary', changed((header) => header.fill(0x80, 124, 125)), 'has an invalid size'],
  ['a prefix', changed((header) => header.write('../..', 345)), 'not allowed in a release archive'],
  ['two of one name', named('release.json.sigstore.json'), 'duplicated or out of order'],
  ['another order', archiveOf([...whole, ['release.json', 'z']]), 'duplicated or out of order'],
  ['no bundle', without('release.json.sigstore.json'), 'release.json or its signature bundle is missing'],
  [
    'a large release.json',
    archiveOf([['release.json', 'x'.repeat(300_000)], ...whole.slice(1)]),
    'larger than 256 KiB',
  ],
  [
    'padding that says something',
    (() => {
      const bytes = archiveOf(whole);
      bytes[600] = 1;
      return bytes;
    })(),
    'between two entries',
  ],
  [
    'very many entries',
    archiveOf([
      ...whole.slice(0, 2),
      ...Array.from({ length: 2_000 }, (_, at) => [`files/${String(at).padStart(5, '0')}`, ''] as const),
    ]),
    'more than 2000 entries',
  ],
] as const)('openArchive rejects an invalid archive: %s', async ([, bytes, why]) => {
  await expect(openReleaseArchive(await fileOf(bytes))).rejects.toThrow(why);
});

test('openArchive rejects archives over 8 GiB and directories', async () => {
  const path = await fileOf(archiveOf(whole));
  await truncate(path, 8 * 1024 ** 3);
  await expect(openReleaseArchive(path)).rejects.toThrow('larger than 8 GiB');
  await expect(openReleaseArchive(tmpdir())).rejects.toThrow('it is not a regular file');
  await symlink('nowhere', `${path}.link`);
  await expect(openReleaseArchive(`${path}.link`)).rejects.toThrow('ENOENT');
});
