import { chmod, chown, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { diskFileSystem, replaceFileSafely } from '../../../src/core/files/file-system.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

let root = '';
const at = (name: string) => join(root, name);

beforeEach(async () => {
  root = await temporaryDirectory();
});

describe('diskFileSystem', () => {
  it('treats impossible paths as missing', async () => {
    await writeFile(at('file'), 'x');
    for (const name of ['gone', 'gone/file', 'file/file', 'n'.repeat(300)]) {
      expect(await diskFileSystem.read(at(name))).toBeNull();
      await diskFileSystem.remove(at(name));
    }
    await expect(diskFileSystem.read(root)).rejects.toMatchObject({ code: 'EISDIR' });
  });

  it('writes bytes with owner and mode only to a new file', async () => {
    const own = process.getuid?.() === 0 ? { uid: 1234, gid: 4321 } : await diskFileSystem.readOwner(root);
    await diskFileSystem.write(at('file'), Buffer.from([0xff, 0]), { ...own, mode: 0 }, 0o4751);
    expect(await diskFileSystem.read(at('file'))).toEqual(Buffer.from([0xff, 0]));
    expect(await diskFileSystem.readOwner(at('file'))).toEqual({ uid: own.uid, gid: own.gid, mode: 0o4751 });
    await symlink('target', at('link'));
    for (const name of ['file', 'link']) {
      await expect(diskFileSystem.write(at(name), 'x', null, 0o600)).rejects.toMatchObject({
        code: 'EEXIST',
      });
    }
    expect((await readdir(root)).sort()).toEqual(['file', 'link']);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'rejects permissions that the system accepts but does not store',
    async () => {
      // The kernel silently drops the set-group-id bit if the caller does not belong to the group.
      await chown(root, 1000, 555);
      await chmod(root, 0o2777);
      const owner = { uid: 1000, gid: 555, mode: 0o2640 };
      await diskFileSystem.write(at('kept'), 'x', owner, 0o2640);
      const program = `import { diskFileSystem } from ${JSON.stringify(join(import.meta.dirname, '../../../src/core/files/file-system.ts'))};
      await diskFileSystem.write(process.argv[1], 'x', ${JSON.stringify(owner)}, 0o2640).catch((error) => console.log(error.message));`;
      const run = ['--input-type=module-typescript', '--no-warnings', '--eval', program, at('lost')];
      const { stdout } = await execa(process.execPath, run, { uid: 1000, gid: 1000 });
      expect(stdout).toBe(
        'the file system shows owner 1000, group 555, mode 640 after owner 1000, group 555, mode 2640 was set',
      );
    },
  );

  it('removes files, links and empty directories', async () => {
    await diskFileSystem.makeDirectory(at('a/b'), 0o700);
    await diskFileSystem.makeDirectory(at('a/b'), 0o700);
    await symlink('a', at('link'));
    await expect(diskFileSystem.remove(at('a'))).rejects.toMatchObject({ code: 'ENOTEMPTY' });
    for (const name of ['link', 'a/b', 'a']) await diskFileSystem.remove(at(name));
    expect(await readdir(root)).toEqual([]);
  });
});

describe('replaceFileSafely', () => {
  it('replaces a file despite leftovers of an earlier attempt', async () => {
    await writeFile(at('journal.json'), 'old');
    await chmod(at('journal.json'), 0o644);
    if (process.getuid?.() === 0) await chown(at('journal.json'), 1234, 4321);
    await writeFile(at('journal.json.new'), 'torn');
    const { uid, gid } = await diskFileSystem.readOwner(root);
    await replaceFileSafely(diskFileSystem, at('journal.json'), 'new', { mode: 0o600 });
    expect(await readFile(at('journal.json'), 'utf8')).toBe('new');
    expect(await diskFileSystem.readOwner(at('journal.json'))).toEqual({ uid, gid, mode: 0o600 });
    expect(await readdir(root)).toEqual(['journal.json']);
  });

  it('keeps the old file and leaves no temporary file if the replacement fails', async () => {
    await mkdir(at('taken/full'), { recursive: true });
    const temporary = at('other.new');
    await expect(
      replaceFileSafely(diskFileSystem, at('taken'), 'x', { mode: 0o600, temporary }),
    ).rejects.toMatchObject({
      code: 'EISDIR',
    });
    expect(await readdir(root)).toEqual(['taken']);
    expect((await lstat(at('taken'))).isDirectory()).toBe(true);
  });
});
