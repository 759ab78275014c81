import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ArchiveFiles } from '../../../src/instance/archive/archive-files.ts';
import { sumOfFile } from '../../../src/provenance/file-sum.ts';

const announced = { size: 12, sha256: 'ab'.repeat(32) };
const part = `archive-${announced.sha256}-12.part`;

let home: string;
let directory: string;
let files: ArchiveFiles;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'archives-'));
  directory = join(home, 'archives');
  files = new ArchiveFiles(directory);
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function* bytes(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}
const there = () => (existsSync(directory) ? readdirSync(directory).toSorted() : []);

describe('the directory of archives', () => {
  it('is made, and has one archive, which grows until it is whole', async () => {
    expect(await files.kept()).toBeNull();
    const begun = await files.begin(announced);
    expect(begun).toMatchObject({ ...announced, received: 0, isWhole: false });
    const some = await files.append(begun, bytes('rel', 'ease'));
    expect([some.received, await files.kept()]).toMatchObject([7, { received: 7, isWhole: false }]);
    const all = await files.append(some, bytes('.json'));
    const whole = await files.complete(all);
    expect(await files.kept()).toMatchObject({ ...announced, received: 12, isWhole: true, path: whole.path });
    expect(readFileSync(whole.path, 'utf8')).toBe('release.json');
    expect(await sumOfFile(whole.path)).toBe(
      '16903c7a4898d982fab69d1f9b86f84345e498ec58965bf6047383688818b4c3',
    );
    await files.removeAll();
    expect(there()).toEqual([]);
  });

  it('keeps what came before a line broke', async () => {
    const begun = await files.begin(announced);
    async function* broken() {
      yield Buffer.from('rel');
      throw new Error('reset');
    }
    await expect(files.append(begun, broken())).rejects.toThrow('reset');
    expect(await files.kept()).toMatchObject({ received: 3 });
  });

  it('takes nothing behind the end', async () => {
    const begun = await files.begin(announced);
    await expect(files.append(begun, bytes('release.json', '!'))).rejects.toMatchObject({
      reason: { code: 'archive-refused', message: 'more was sent than the 12 bytes that were announced' },
    });
    expect(await files.kept()).toMatchObject({ received: 12 });
  });

  it('has what is sent in place of what was there, and leaves what is not its own', async () => {
    await mkdir(directory);
    writeFileSync(join(directory, 'notes.txt'), 'mine');
    writeFileSync(join(directory, `archive-${'0'.repeat(64)}-9.tar`), 'old bytes');
    await files.begin(announced);
    expect(there()).toEqual([part, 'notes.txt']);
  });

  it('follows no link, and writes to nothing that is there', async () => {
    await mkdir(directory);
    const secret = join(home, 'secret');
    writeFileSync(secret, 'secret');
    // As short as an archive may be that has begun.
    symlinkSync('../secret', join(directory, part));
    expect(await files.kept()).toBeNull();
    const begun = await files.begin(announced);
    await files.append(begun, bytes('release'));
    expect(readFileSync(secret, 'utf8')).toBe('secret');
    // One that takes its place in between.
    await rm(begun.path);
    symlinkSync(secret, begun.path);
    await expect(files.append(begun, bytes('x'))).rejects.toThrow('ELOOP');
    expect(readFileSync(secret, 'utf8')).toBe('secret');
  });

  it('takes no part for one that is longer than it should be, and none for whole that is shorter', async () => {
    await mkdir(directory);
    writeFileSync(join(directory, part), 'more than twelve');
    writeFileSync(join(directory, part.replace('part', 'tar')), 'less');
    expect(await files.kept()).toBeNull();
  });

  it('goes by what came last', async () => {
    await mkdir(directory);
    const older = join(directory, `archive-${'0'.repeat(64)}-9.part`);
    for (const path of [older, join(directory, part)]) writeFileSync(path, 'x');
    await utimes(older, 1, 1);
    expect(await files.kept()).toMatchObject(announced);
  });

  it('says that the disk is full where it is while a piece is written', async () => {
    const begun = await files.begin({ ...announced, size: 1_000_000 });
    // A limit for files stands in for a disk that is full.
    const limited = `trap '' XFSZ; ulimit -f 64; exec "$@"`;
    const fill = join(import.meta.dirname, 'append.ts');
    const { stdout } = await execa('bash', ['-c', limited, 'bash', process.execPath, fill, directory]);
    expect(JSON.parse(stdout)).toMatchObject({
      code: 'archive-refused',
      message: expect.stringMatching(/^there is no room for 1 MB more in .*archives$/),
    });
    expect((await files.kept())?.received).toBeGreaterThan(begun.received);
  });

  it('begins nothing for which there is no room', async () => {
    const size = 2 ** 60;
    await expect(files.begin({ ...announced, size })).rejects.toMatchObject({
      reason: {
        code: 'archive-refused',
        message: expect.stringMatching(
          /^there is no room for \d+ MB more in .*archives, where \d+ MB are free$/,
        ),
        advice: 'Make room there, then send it again.',
      },
    });
    expect(there()).toEqual([]);
  });
});
