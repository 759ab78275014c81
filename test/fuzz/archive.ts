import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { createTarHeader } from '../../src/core/files/tar-header.ts';
import { openReleaseArchive } from '../../src/provenance/release-archive.ts';
import { archiveOf } from '../provenance/archive.ts';
import { mutatedBytes } from './mutate.ts';
import { release } from './proof.ts';
import type { Target } from './target.ts';

// An unverified release archive (docs/contract.md 3.22).

const name = fc.oneof(
  fc.constantFrom(
    'files/compose.yaml',
    'files/svc.mjs',
    'oci-layout',
    'index.json',
    `blobs/sha256/${'0'.repeat(64)}`,
    `blobs/sha256/${'f'.repeat(64)}`,
  ),
  fc.constantFrom(
    'files/../x',
    'files/.env',
    '/etc/passwd',
    'release.json',
    'files/',
    `files/${'a'.repeat(95)}`,
    'blobs/sha256/0',
  ),
);
const head = [
  ['release.json', JSON.stringify(release)],
  ['release.json.sigstore.json', '{}'],
] as const;
const entries = fc.array(fc.tuple(name, fc.string({ maxLength: 600 })), { maxLength: 6 });
const sorted = fc
  .uniqueArray(fc.tuple(name, fc.string({ maxLength: 600 })), { maxLength: 6, selector: ([one]) => one })
  .map((list) => list.toSorted(([a], [b]) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1)));
const placeOf = (one: string) =>
  ['files/', 'oci-layout', 'index.json', 'blobs/'].findIndex((start) => one.startsWith(start));
const sum = (bytes: Buffer) => bytes.reduce((all, byte) => all + byte, 0);

/** Changes bytes of one header and corrects its checksum: only the form of the header is wrong. */
const reheaded = fc
  .tuple(
    sorted,
    fc.nat(1),
    fc.constantFrom(
      0,
      99,
      100,
      107,
      108,
      123,
      124,
      134,
      135,
      136,
      147,
      156,
      157,
      257,
      262,
      263,
      265,
      297,
      329,
      345,
      499,
      500,
      511,
    ),
    fc.constantFrom(...'0178 5xL\0/.'),
  )
  .map(([list, which, at, byte]) => {
    const bytes = archiveOf([...head, ...list]);
    const header = bytes.subarray(which * 1024 * (which === 0 ? 0 : 2), bytes.length).subarray(0, 512);
    header.write(byte, at, 'latin1');
    header.write('        ', 148);
    header.write(`${sum(header).toString(8).padStart(6, '0')}\0 `, 148);
    return bytes;
  });

let folder: Promise<string> | null = null;

export const archives: Target<Buffer> = {
  name: 'archives',
  share: 80,
  cases: fc.oneof(
    sorted.map((list) => archiveOf([...head, ...list])),
    entries.map((list) => archiveOf([...head, ...list])),
    reheaded,
    mutatedBytes(
      sorted.map((list) => archiveOf([...head, ...list])),
      ['\0', '\0'.repeat(512), '0000644\0', 'ustar\0', '00', '../', '77777777777', '\x80'],
    ),
  ),
  async check(bytes) {
    folder ??= mkdtemp(join(tmpdir(), 'fuzz-archive-'));
    const path = join(await folder, 'x.tar');
    await writeFile(path, bytes);
    const refused = (error: unknown) => {
      // The error is a message of our own, not one of the system.
      assert.ok(error instanceof Error && error.constructor === Error && !('code' in error), String(error));
      return null;
    };
    const archive = await openReleaseArchive(path).catch(refused);
    if (archive === null) return;
    const parts: [string, Buffer][] = [];
    for (const [one, { size }] of archive.entries) {
      const pieces: Buffer[] = [];
      for await (const piece of archive.stream(one)) pieces.push(piece);
      assert.match(one, /^(?!.*\.\.)[\w./-]{1,100}$/);
      assert.equal(createTarHeader(one, size).length, 512);
      parts.push([one, Buffer.concat(pieces)]);
      assert.deepEqual(parts.at(-1)?.[1], await archive.read(one, size));
    }
    await archive.close();
    // An archive has only one form: packing its contents again results in the same bytes.
    assert.ok(archiveOf(parts).equals(bytes), 'it has another form');
  },
  end: async () => {
    if (folder !== null) await rm(await folder, { recursive: true, force: true });
    folder = null;
  },
};
