import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { equalizeContents } from '../../../../src/updater/data/helper-program/equalize-contents.ts';
import type { RequestedMount } from '../../../../src/updater/data/helper-program/helper-request.ts';

const plain: RequestedMount = { isFile: false, root: null, device: null, excluded: [] };

function trees(): { from: string; to: string } {
  const top = mkdtempSync(join(tmpdir(), 'equal-'));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  for (const name of ['from', 'to']) mkdirSync(join(top, name));
  return { from: join(top, 'from'), to: join(top, 'to') };
}

/** Returns the number of compared bytes. */
async function equalize(
  { from, to }: { from: string; to: string },
  { isInPlace = true, ...mount }: Partial<RequestedMount> & { isInPlace?: boolean } = {},
): Promise<number> {
  let bytes = 0;
  await equalizeContents({ ...plain, ...mount }, [from, to], isInPlace, (more) => {
    bytes += more;
  });
  return bytes;
}

describe('equalizeContents', () => {
  it('makes two files equal, for generated sizes and differences', async () => {
    const { from, to } = trees();
    // Positions around the boundaries of blocks and chunks.
    const place = fc
      .tuple(
        fc.constantFrom(0, 4096, 8192, 1 << 18, (1 << 18) + 4096, 1 << 19),
        fc.integer({ min: -2, max: 2 }),
      )
      .map(([at, off]) => Math.max(at + off, 0));
    const change = fc.record({ at: place, length: fc.constantFrom(1, 2, 4095, 4096, 4097, 300_000) });
    await fc.assert(
      fc.asyncProperty(
        place,
        place,
        fc.array(change, { maxLength: 6 }),
        fc.constantFrom(0, 7),
        async (before, after, changes, fill) => {
          const wanted = Buffer.alloc(after, fill);
          for (const { at, length } of changes) wanted.subarray(at, at + length).fill(9);
          writeFileSync(join(from, 'file'), wanted);
          writeFileSync(join(to, 'file'), Buffer.alloc(before, fill));
          expect(await equalize({ from, to })).toBe(after);
          expect(readFileSync(join(to, 'file')).equals(wanted)).toBe(true);
          expect(readFileSync(join(from, 'file')).equals(wanted)).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('writes only differing blocks, and preserves holes common to both files and at the end', async () => {
    const { from, to } = trees();
    for (const path of [from, to]) {
      writeFileSync(join(path, 'file'), 'a');
      truncateSync(join(path, 'file'), 50 << 20);
    }
    const wanted = readFileSync(join(from, 'file'));
    wanted.write('b', 30 << 20);
    writeFileSync(join(from, 'file'), wanted);
    truncateSync(join(from, 'file'), 80 << 20);
    await equalize({ from, to });
    expect(readFileSync(join(to, 'file')).equals(readFileSync(join(from, 'file')))).toBe(true);
    expect(statSync(join(to, 'file')).blocks * 512).toBeLessThan(32_768);
  });

  it.each([true, false])(
    'removes files that only the target has, except excluded paths, and follows no symbolic link (in place: %s)',
    async (isInPlace) => {
      const { from, to } = trees();
      const outside = join(from, '..', 'outside');
      for (const path of [outside, join(to, 'directory'), join(to, 'extra')])
        mkdirSync(join(path, 'sub'), { recursive: true });
      for (const path of [outside, join(to, 'directory'), join(to, 'extra')])
        for (const name of ['file', 'sub/file']) writeFileSync(join(path, name), 'here');
      for (const name of ['link', 'kept', 'pipe']) writeFileSync(join(from, name), 'new');
      symlinkSync(outside, join(from, 'directory'));
      symlinkSync(outside, join(from, 'dangerous'));
      for (const name of ['link', 'extra/link']) symlinkSync(outside, join(to, name));
      mkdirSync(join(to, 'dangerous'));
      mkdirSync(join(to, 'above/own'), { recursive: true });
      for (const name of ['above/own/file', 'above/other', 'dangerous/file', 'kept', 'only'])
        writeFileSync(join(to, name), 'old');
      execFileSync('mkfifo', [join(to, 'pipe')]);
      const excluded = ['kept', 'above/own', 'dangerous/mount'];
      expect(await equalize({ from, to }, { excluded, isInPlace })).toBe(0);
      const left = execFileSync('find', ['.', '-type', 'f'], { cwd: to, encoding: 'latin1' });
      // rsync handles a directory that contains an excluded path if the source has a link instead.
      expect(left.split('\n').toSorted()).toEqual(['', './above/own/file', './dangerous/file', './kept']);
      expect(readdirSync(to).toSorted()).toEqual(['above', 'dangerous', 'kept']);
      expect(readFileSync(join(outside, 'sub/file'), 'latin1')).toBe('here');
      expect(readFileSync(join(outside, 'file'), 'latin1')).toBe('here');
    },
  );

  it('removes differing files, unless it writes in place or the mount is a single file', async () => {
    const { from, to } = trees();
    for (const [name, wanted, found] of [
      ['equal', 'same', 'same'],
      ['shorter', 'ab', 'a'],
      ['other', 'ab', 'ac'],
    ] as const) {
      writeFileSync(join(from, name), wanted);
      writeFileSync(join(to, name), found);
    }
    const { ino } = statSync(join(to, 'other'));
    const own = { from: join(from, 'other'), to: join(to, 'other') };
    expect(await equalize(own, { isFile: true, isInPlace: false })).toBe(2);
    expect(readFileSync(own.to, 'latin1')).toBe('ab');
    expect(statSync(own.to).ino).toBe(ino);
    writeFileSync(own.to, 'ac');
    await equalize({ from, to }, { isInPlace: false });
    expect(readdirSync(to)).toEqual(['equal']);
  });

  it('compares a file with several hard links once, and removes names that are linked to the wrong file', async () => {
    const { from, to } = trees();
    const contents = Buffer.alloc(1_000_000, 'x');
    for (const path of [from, to]) {
      writeFileSync(join(path, 'a'), contents);
      linkSync(join(path, 'a'), join(path, 'b'));
      writeFileSync(join(path, 'plain'), contents);
    }
    expect(await equalize({ from, to })).toBe(2 * contents.length);
    writeFileSync(join(from, 'c'), contents);
    linkSync(join(to, 'a'), join(to, 'c'));
    await equalize({ from, to });
    // The first name that the file system lists decides which names remain. They are one file in both trees.
    const left = readdirSync(to).filter((name) => name !== 'plain');
    expect([['a', 'b'], ['c']]).toContainEqual(left.toSorted());
    for (const path of [from, to])
      expect(new Set(left.map((name) => statSync(join(path, name)).ino)).size, path).toBe(1);
  });

  it('removes all hard links of a differing file', async () => {
    const { from, to } = trees();
    for (const path of [from, to]) {
      writeFileSync(join(path, 'a'), path);
      linkSync(join(path, 'a'), join(path, 'b'));
    }
    await equalize({ from, to }, { isInPlace: false });
    expect(readdirSync(to)).toEqual([]);
  });

  it('writes to a single-file mount that has several hard links', async () => {
    const { from, to } = trees();
    for (const name of ['one', 'other']) writeFileSync(join(from, name), name);
    writeFileSync(join(to, 'one'), 'old');
    linkSync(join(to, 'one'), join(to, 'other'));
    const own = { from: join(from, 'one'), to: join(to, 'one') };
    expect(await equalize(own, { isFile: true })).toBe(3);
    expect(readFileSync(join(to, 'one'), 'latin1')).toBe('one');
  });
});
