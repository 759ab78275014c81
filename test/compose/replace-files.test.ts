import {
  chmod,
  chown,
  type FileHandle,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replaceFiles } from '../../src/compose/replace-files.ts';

let root = '';
const at = (name: string) => join(root, name);
const text = (name: string) => readFile(at(name), 'utf8');

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'replace-files-'));
  await writeFile(at('.env'), 'A=1\r\n');
  await writeFile(at('compose.yaml'), 'old\n');
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('replaceFiles', () => {
  it('replaces every file, keeps what was, and leaves nothing beside it', async () => {
    await replaceFiles(
      [
        { path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' },
        { path: at('compose.yaml'), before: 'old\n', after: 'new\n' },
        { path: at('new.env'), before: null, after: 'B=1\n' },
      ],
      at('backup/run'),
    );
    expect(await text('.env')).toBe('A=2\r\n');
    expect(await text('compose.yaml')).toBe('new\n');
    expect(await text('new.env')).toBe('B=1\n');
    expect((await lstat(at('new.env'))).mode & 0o7777).toBe(0o600);
    expect(await text('backup/run/.env')).toBe('A=1\r\n');
    expect((await readdir(root)).sort()).toEqual(['.env', 'backup', 'compose.yaml', 'new.env']);
    expect((await readdir(at('backup/run'))).sort()).toEqual(['.env', 'compose.yaml']);
  });

  it('replaces nothing where a file that was planned on has changed', async () => {
    const planned = [{ path: at('compose.yaml'), text: 'older\n' }];
    const change = { path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' };
    await expect(replaceFiles([change], at('backup'), planned)).rejects.toMatchObject({
      code: 'file-changed',
      message: `${at('compose.yaml')} was changed by somebody else during the update`,
    });
    await rm(at('compose.yaml'));
    await expect(replaceFiles([change], at('backup'), planned)).rejects.toMatchObject({
      code: 'file-changed',
    });
    expect((await readdir(root)).sort()).toEqual(['.env']);
    expect(await text('.env')).toBe('A=1\r\n');
  });

  it('keeps mode and owner', async () => {
    await chmod(at('.env'), 0o640);
    const root = process.getuid?.() === 0;
    if (root) await chown(at('.env'), 1234, 4321);
    await replaceFiles([{ path: at('.env'), before: 'A=1\r\n', after: 'x' }], at('backup'));
    const { mode, uid, gid } = await lstat(at('.env'));
    expect(mode & 0o7777).toBe(0o640);
    if (root) expect([uid, gid]).toEqual([1234, 4321]);
  });

  it('writes through a symbolic link', async () => {
    await mkdir(at('real'));
    await writeFile(at('real/.env'), 'L=1\n');
    await rm(at('.env'));
    await symlink('real/.env', at('.env'));
    const putBack = await replaceFiles([{ path: at('.env'), before: 'L=1\n', after: 'L=2\n' }], at('backup'));
    expect((await lstat(at('.env'))).isSymbolicLink()).toBe(true);
    expect(await text('real/.env')).toBe('L=2\n');
    expect(await putBack()).toEqual([]);
    expect(await text('real/.env')).toBe('L=1\n');
  });

  it('keeps apart two files of one name', async () => {
    await mkdir(at('sub'));
    await writeFile(at('sub/.env'), 'S\n');
    await replaceFiles(
      [
        { path: at('.env'), before: 'A=1\r\n', after: 'x' },
        { path: at('sub/.env'), before: 'S\n', after: 'y' },
      ],
      at('backup'),
    );
    expect(await Promise.all((await readdir(at('backup'))).map((name) => text(`backup/${name}`)))).toEqual(
      expect.arrayContaining(['A=1\r\n', 'S\n']),
    );
  });

  it('puts everything back, new files removed', async () => {
    const putBack = await replaceFiles(
      [
        { path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' },
        { path: at('new.env'), before: null, after: 'B=1\n' },
      ],
      at('backup'),
    );
    expect(await putBack()).toEqual([]);
    expect(await text('.env')).toBe('A=1\r\n');
    expect((await readdir(root)).sort()).toEqual(['.env', 'backup', 'compose.yaml']);
    expect(await putBack()).toEqual([]);
  });

  it('leaves alone what somebody changed since, and names it', async () => {
    const putBack = await replaceFiles(
      [
        { path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' },
        { path: at('compose.yaml'), before: 'old\n', after: 'new\n' },
      ],
      at('backup'),
    );
    await writeFile(at('.env'), 'mine');
    expect(await putBack()).toEqual([at('.env')]);
    expect(await text('.env')).toBe('mine');
    expect(await text('compose.yaml')).toBe('old\n');
  });

  it.each([
    ['has another text', { path: '.env', before: 'A=0\n', after: 'x' }],
    ['is gone', { path: 'gone', before: 'A=0\n', after: 'x' }],
    ['has appeared', { path: 'compose.yaml', before: null, after: 'x' }],
  ])('writes nothing at all where a file %s', async (_, { path, before, after }) => {
    const all = [
      { path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' },
      { path: at(path), before, after },
    ];
    await expect(replaceFiles(path === '.env' ? all.slice(1) : all, at('backup'))).rejects.toMatchObject({
      code: 'file-changed',
    });
    expect(await text('.env')).toBe('A=1\r\n');
    expect(await text('compose.yaml')).toBe('old\n');
  });

  it('puts the first back when the second cannot be written', async () => {
    await mkdir(at('gone'));
    await writeFile(at('gone/compose.yaml'), 'old\n');
    // A name so long that the temporary one beside it is too long for any file system.
    const long = `${'n'.repeat(250)}`;
    await writeFile(at(long), 'old\n');
    await expect(
      replaceFiles(
        [
          { path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' },
          { path: at(long), before: 'old\n', after: 'new\n' },
        ],
        null,
      ),
    ).rejects.toMatchObject({ code: 'write-failed' });
    expect(await text('.env')).toBe('A=1\r\n');
    expect(await text(long)).toBe('old\n');
    expect((await readdir(root)).sort()).toEqual(['.env', 'compose.yaml', 'gone', long].sort());
  });

  it('never writes into the file itself: whoever has it open sees all of the old text', async () => {
    await link(at('.env'), at('opened-before'));
    await replaceFiles([{ path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' }], null);
    expect(await text('opened-before')).toBe('A=1\r\n');
    expect(await text('.env')).toBe('A=2\r\n');
  });

  it('has backup and new text on the disk before the name changes hands, and the name after', async () => {
    const synced: string[] = [];
    const file = await open(at('.env'));
    const prototype = Object.getPrototypeOf(file) as FileHandle;
    await file.close();
    const sync = prototype.sync;
    prototype.sync = async function (this: FileHandle) {
      const path = relative(root, await readlink(`/proc/self/fd/${this.fd}`));
      synced.push(`${path.replace(/[0-9a-f]{8}$/, '…')} while .env is ${JSON.stringify(await text('.env'))}`);
      return sync.call(this);
    };
    try {
      await replaceFiles([{ path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' }], at('backup/run'));
    } finally {
      prototype.sync = sync;
    }
    expect(synced).toEqual([
      'backup/run/.env while .env is "A=1\\r\\n"',
      'backup/run while .env is "A=1\\r\\n"',
      'backup while .env is "A=1\\r\\n"',
      '..env.svc-updater-… while .env is "A=1\\r\\n"',
      ' while .env is "A=2\\r\\n"',
    ]);
  });
});
