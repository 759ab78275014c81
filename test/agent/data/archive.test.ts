import { mkdir, mkdtemp, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { execa } from 'execa';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readArchive } from '../../../src/agent/data/archive.ts';
import { tar } from '../../rig/tar.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'archive-'));
  const made = directory;
  onTestFinished(() => rm(made, { recursive: true, force: true }));
});

const when = new Date('2001-02-03T04:05:06.789Z');

/** A tree of one directory with these files in it, each made by a function that gets its path. */
async function treeWith(
  name: string,
  made: Record<string, (path: string) => Promise<unknown>>,
): Promise<Buffer> {
  const root = join(directory, name);
  await mkdir(root);
  for (const [file, make] of Object.entries(made)) {
    await make(join(root, file));
    await utimes(join(root, file), when, when);
  }
  await utimes(root, when, when);
  const flags = [
    '--sort=name',
    '--format=posix',
    '--sparse',
    '--numeric-owner',
    '--xattrs',
    '--xattrs-include=*',
  ];
  const times = '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime';
  const { stdout } = await execa('tar', ['--create', ...flags, times, '--file=-', '-C', root, '.'], {
    encoding: 'buffer',
  });
  return Buffer.from(stdout);
}
/** In pieces of odd sizes. */
const read = (bytes: Buffer, size = 4_999) => {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  return readArchive(Readable.from(pieces));
};
const holes = async (path: string) => {
  await writeFile(path, Buffer.alloc(4096, 1));
  await truncate(path, 1_000_000);
  await writeFile(path, 'end', { flag: 'a' });
};
const noHoles = (path: string) =>
  writeFile(path, Buffer.concat([Buffer.alloc(4096, 1), Buffer.alloc(1_000_000 - 4096), Buffer.from('end')]));
const attributes =
  (...names: string[]) =>
  async (path: string) => {
    await writeFile(path, 'x');
    for (const name of names) await execa('setfattr', ['-n', `user.${name}`, '-v', `of ${name}\n`, path]);
  };

describe('the hash of a tree', () => {
  it('is the same, in whatever pieces the bytes come', async () => {
    const bytes = await treeWith('a', { file: (path) => writeFile(path, 'text'), holes });
    const found = await read(bytes);
    expect(found).toMatchObject({ bytes: bytes.length, files: 3 });
    for (const size of [1, 511, 512, 513, 1 << 20]) expect(await read(bytes, size)).toEqual(found);
  });

  it('does not depend on holes', async () => {
    const [one, other] = [await treeWith('a', { file: holes }), await treeWith('b', { file: noHoles })];
    expect(one.length).toBeLessThan(other.length / 10);
    expect((await read(one)).tree).toBe((await read(other)).tree);
  });

  it('does not depend on the order of attributes', async () => {
    const bytes = await treeWith('a', { file: attributes('a', 'b') });
    const [first, second] = ['user.a=of a\n', 'user.b=of b\n'];
    // Both records have one length.
    const text = bytes.toString('latin1');
    const turned = text.replace(first, '?').replace(second, first).replace('?', second);
    expect(turned).not.toBe(text);
    expect((await read(Buffer.from(turned, 'latin1'))).tree).toBe((await read(bytes)).tree);
  });

  it.each<[string, (path: string) => Promise<unknown>]>([
    ['a byte', (path) => writeFile(path, 'texT')],
    ['a zero at the end', (path) => writeFile(path, 'text\0')],
    ['its mode', (path) => writeFile(path, 'text', { mode: 0o600 })],
    ['an attribute', attributes('a')],
    ['its kind', (path) => mkdir(path)],
  ])('depends on %s', async (_, make) => {
    const old = await treeWith('a', {
      file: (path) => writeFile(path, 'text'),
      file2: (path) => writeFile(path, ''),
    });
    const now = await treeWith('b', { file: make, file2: (path) => writeFile(path, '', { flag: 'a' }) });
    expect((await read(now)).tree).not.toBe((await read(old)).tree);
  });

  it('depends on a name', async () => {
    const text = (path: string) => writeFile(path, 'text');
    const [one, other] = [await treeWith('a', { file: text }), await treeWith('b', { fila: text })];
    expect((await read(one)).tree).not.toBe((await read(other)).tree);
  });

  it('depends on where bytes are between zeros', async () => {
    const at = (start: number) => (path: string) => {
      const bytes = Buffer.alloc(20_000);
      bytes.fill(7, start, start + 512);
      return writeFile(path, bytes);
    };
    const [one, other] = [await treeWith('a', { file: at(1024) }), await treeWith('b', { file: at(1536) })];
    expect((await read(one)).tree).not.toBe((await read(other)).tree);
  });

  it('is not given for half a tar, or for none', async () => {
    const bytes = await treeWith('a', { file: noHoles });
    for (const size of [0, 100, 512, 5_000, 600_000]) {
      await expect(read(bytes.subarray(0, size))).rejects.toThrow('cut off');
    }
    await expect(read(Buffer.from('no tar'.repeat(1000)))).rejects.toThrow('no tar');
    await expect(read(tar([{ name: 'a', kind: 'file', content: 'x' }]))).resolves.toMatchObject({ files: 1 });
  });
});

it('every byte goes into the seal: contents, headers, maps of holes, padding and what follows the end', async () => {
  const bytes = await treeWith('a', { file: (path) => writeFile(path, 'text'), holes, zeros: noHoles });
  const { seal } = await read(bytes);
  const places = [...new Set([...bytes.keys()].filter((at) => bytes[at] !== 0 || at % 97 === 0))];
  const chosen = places.filter((_, each) => each % Math.ceil(places.length / 1_000) === 0);
  for (const at of [...chosen, bytes.length - 1]) {
    const other = Buffer.from(bytes);
    other[at] = (other[at] ?? 0) ^ 1;
    const found = await read(other, 1 << 20).catch(() => null);
    expect(found?.seal, `the byte at ${at}`).not.toBe(seal);
  }
});
