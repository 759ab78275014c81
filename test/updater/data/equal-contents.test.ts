import {
  linkSync,
  mkdirSync,
  mkdtempSync,
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
import { equalizeContents } from '../../../src/updater/data/equal-contents.ts';
import type { AskedMount } from '../../../src/updater/data/tools-protocol.ts';

const plain: AskedMount = { isFile: false, root: null, device: null, excluded: [] };

function trees(): { from: string; to: string } {
  const top = mkdtempSync(join(tmpdir(), 'equal-'));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  for (const name of ['from', 'to']) mkdirSync(join(top, name));
  return { from: join(top, 'from'), to: join(top, 'to') };
}

async function equalize({ from, to }: { from: string; to: string }, mount: Partial<AskedMount> = {}) {
  let bytes = 0;
  const isComplete = await equalizeContents({ ...plain, ...mount }, [from, to], (more) => {
    bytes += more;
  });
  return { isComplete, bytes };
}

describe('equalizeContents', () => {
  it('makes contents equal for all kinds of differences', async () => {
    const { from, to } = trees();
    // Around the ends of blocks and of chunks.
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
          expect(await equalize({ from, to })).toEqual({ isComplete: true, bytes: after });
          expect(readFileSync(join(to, 'file')).equals(wanted)).toBe(true);
          expect(readFileSync(join(from, 'file')).equals(wanted)).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('writes only blocks that differ: holes of both, and at the end, stay', async () => {
    const { from, to } = trees();
    for (const path of [from, to]) {
      writeFileSync(join(path, 'file'), 'a');
      truncateSync(join(path, 'file'), 50 << 20);
    }
    const wanted = readFileSync(join(from, 'file'));
    wanted.write('b', 30 << 20);
    writeFileSync(join(from, 'file'), wanted);
    truncateSync(join(from, 'file'), 80 << 20);
    expect(await equalize({ from, to })).toMatchObject({ isComplete: true });
    expect(readFileSync(join(to, 'file')).equals(readFileSync(join(from, 'file')))).toBe(true);
    expect(statSync(join(to, 'file')).blocks * 512).toBeLessThan(32_768);
  });

  it('ignores excluded files and files that are not regular in both trees', async () => {
    const { from, to } = trees();
    const outside = join(from, '..', 'outside');
    writeFileSync(outside, 'outside');
    mkdirSync(join(from, 'directory'));
    for (const name of ['link', 'kept', 'extra']) writeFileSync(join(from, name), 'new');
    symlinkSync(outside, join(from, 'followed'));
    symlinkSync(outside, join(to, 'link'));
    for (const name of ['directory', 'kept', 'followed', 'only']) writeFileSync(join(to, name), 'old');
    expect(await equalize({ from, to }, { excluded: ['kept'] })).toEqual({ isComplete: true, bytes: 0 });
    expect(readFileSync(outside, 'latin1')).toBe('outside');
    for (const name of ['directory', 'kept', 'followed', 'only'])
      expect(readFileSync(join(to, name), 'latin1')).toBe('old');
  });

  it('does not follow a link that replaced a directory', async () => {
    const { from, to } = trees();
    const outside = join(from, '..', 'outside');
    for (const path of [outside, join(to, 'directory')]) mkdirSync(join(path, 'sub'), { recursive: true });
    for (const name of ['file', 'sub/file']) {
      writeFileSync(join(outside, name), 'outside');
      writeFileSync(join(to, 'directory', name), 'old');
    }
    symlinkSync(outside, join(from, 'directory'));
    expect(await equalize({ from, to })).toEqual({ isComplete: true, bytes: 0 });
    for (const name of ['file', 'sub/file'])
      expect(readFileSync(join(to, 'directory', name), 'latin1')).toBe('old');
  });

  it('reports files with several hard links, unless they are mounted alone', async () => {
    const { from, to } = trees();
    for (const name of ['one', 'other']) writeFileSync(join(from, name), name);
    writeFileSync(join(to, 'one'), 'old');
    linkSync(join(to, 'one'), join(to, 'other'));
    expect(await equalize({ from, to })).toEqual({ isComplete: false, bytes: 0 });
    expect(readFileSync(join(to, 'other'), 'latin1')).toBe('old');
    const own = { from: join(from, 'one'), to: join(to, 'one') };
    expect(await equalize(own, { isFile: true })).toEqual({ isComplete: true, bytes: 3 });
    expect(readFileSync(join(to, 'one'), 'latin1')).toBe('one');
  });
});
