import { chmod, chown, link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runAsRootAdvice } from '../../../../src/core/errors/advice.ts';
import { openStateDirectory, stateDirectoryOf } from '../../../../src/updater/run/state/state-directory.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let directory = '';
const at = (...names: string[]): string => join(directory, '.svc-updater', ...names);
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(async () => {
  await chmod(directory, 0o700);
});

const isRoot = process.getuid?.() === 0;
/** Runs work as an unprivileged user, because root has all permissions. */
async function asAnother<T>(work: () => Promise<T>): Promise<T> {
  if (!isRoot) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe('openStateDirectory', () => {
  it('creates a directory that only the owner can access and that Git ignores', async () => {
    expect(await openStateDirectory(directory)).toBe(at());
    expect(stateDirectoryOf(directory)).toBe(at());
    expect(await modeOf(at())).toBe(0o700);
    expect(await readdir(at())).toEqual(['.gitignore']);
    expect(await readFile(at('.gitignore'), 'utf8')).toBe('*\n');
  });

  it('keeps the contents of an existing directory, and makes it private again', async () => {
    await mkdir(at());
    await chmod(at(), 0o777);
    await writeFile(at('journal.json'), 'a journal');
    await writeFile(at('.gitignore'), '');
    await openStateDirectory(directory);
    expect(await modeOf(at())).toBe(0o700);
    expect(await readFile(at('journal.json'), 'utf8')).toBe('a journal');
    expect(await readFile(at('.gitignore'), 'utf8')).toBe('*\n');
  });

  it('rejects a directory whose .gitignore is also a directory', async () => {
    await mkdir(at('.gitignore'), { recursive: true });
    await expect(openStateDirectory(directory)).rejects.toMatchObject({
      code: 'not-a-file',
      message: `${at()} is not a directory, but the updater needs a directory at that path`,
      advice: `Move ${at()} elsewhere, then run {command} again.`,
    });
  });

  it('rejects a compose directory without write permission, and advises to run as root', async () => {
    await chmod(directory, 0o555);
    await expect(asAnother(() => openStateDirectory(directory))).rejects.toMatchObject({
      code: 'read-only',
      message: `cannot write to ${directory} (EACCES)`,
      advice: runAsRootAdvice,
    });
  });

  it('replaces .gitignore, and does not write to a file that has another hard link', async () => {
    await mkdir(at());
    await writeFile(join(directory, 'other'), 'mine');
    await link(join(directory, 'other'), at('.gitignore'));
    await openStateDirectory(directory);
    expect(await readFile(join(directory, 'other'), 'utf8')).toBe('mine');
    expect(await readFile(at('.gitignore'), 'utf8')).toBe('*\n');
  });

  describe('follows no symbolic link, and does not change its target', () => {
    it.each([
      [],
      ['.gitignore'],
      ['backup'],
      ['backup', '20261121T104207Z'],
      ['backup', '20261121T104207Z', '.env'],
      ['restore'],
      ['restore', '20261121T104207Z'],
      ['restore', '20261121T104207Z', 'files-0.tar'],
      ['journal.json'],
      ['journal.json.new'],
      ['last-run.log'],
      ['lock'],
    ])('at %s %s %s', async (...entry) => {
      for (const kind of ['directory', 'file', 'nothing']) {
        const elsewhere = join(directory, 'elsewhere');
        if (kind === 'directory') await mkdir(elsewhere, { mode: 0o755 });
        if (kind === 'file') await writeFile(elsewhere, 'mine', { mode: 0o644 });
        if (entry.length > 0) await mkdir(dirname(at(...entry)), { recursive: true });
        await symlink(elsewhere, at(...entry));
        await expect(openStateDirectory(directory), kind).rejects.toMatchObject({
          code: 'unexpected-file',
          message: `${at(...entry)} is a symbolic link, which the updater does not follow`,
          advice: `Find out who created the link and remove it (rm ${at(...entry)}), then run {command} again.`,
        });
        if (kind === 'directory') expect(await modeOf(elsewhere)).toBe(0o755);
        if (kind === 'file') expect(await readFile(elsewhere, 'utf8')).toBe('mine');
        if (kind === 'nothing') await expect(stat(elsewhere)).rejects.toMatchObject({ code: 'ENOENT' });
        await rm(elsewhere, { recursive: true, force: true });
        await rm(at(), { recursive: true });
      }
    });

    it("and ignores a user's own directory among the backups", async () => {
      await mkdir(at('backup', 'by-hand'), { recursive: true });
      await symlink('/etc', at('backup', 'by-hand', 'etc'));
      expect(await openStateDirectory(directory)).toBe(at());
    });
  });

  describe.runIf(isRoot)('the owner of the directory', () => {
    const stranger = 1234;
    const foreign = (path: string, owner: number) => ({
      code: 'unexpected-file',
      message: `${path} is owned by user ${stranger} instead of root or the owner of ${directory} (user ${owner})`,
      advice: `If the updater created this path, make root its owner (chown -R 0:0 ${path}). Otherwise, find out who created the path and move it elsewhere. Then run {command} again.`,
    });

    it.each([
      ['itself', []],
      ['its journal', ['journal.json']],
      ['a folder of backups', ['backup', '20261121T104207Z']],
    ])('must not be an unrelated user: %s', async (_, entry) => {
      await chmod(directory, 0o1777);
      await chown(directory, 1000, 1000);
      await mkdir(at(...entry), { recursive: true });
      await chmod(at(), 0o777);
      await chown(at(...entry), stranger, stranger);
      await expect(openStateDirectory(directory)).rejects.toMatchObject(foreign(at(...entry), 1000));
      expect(await stat(at(...entry))).toMatchObject({ uid: stranger });
      if (entry.length === 0) expect(await modeOf(at())).toBe(0o777);
      expect(await readdir(directory)).toEqual(['.svc-updater']);
    });

    it.each([0, 1000])('can be user %i in a directory of user 1000', async (uid) => {
      await chown(directory, 1000, 1000);
      await mkdir(at('backup'), { recursive: true });
      await writeFile(at('journal.json'), '{}');
      for (const path of [at(), at('backup'), at('journal.json')]) await chown(path, uid, uid);
      await openStateDirectory(directory);
      expect(await stat(at())).toMatchObject({ uid: 1000, gid: 1000 });
      expect(await stat(at('.gitignore'))).toMatchObject({ uid: 1000, gid: 1000 });
    });

    const run = '20261121T104207Z';
    const makePoint = async () => {
      await chown(directory, 1000, 1000);
      await mkdir(at('restore', run), { recursive: true, mode: 0o700 });
      await writeFile(at('restore', run, 'point.json'), '{}', { mode: 0o600 });
      await openStateDirectory(directory);
      expect(await stat(at())).toMatchObject({ uid: 1000 });
    };

    it.each([
      ['restore', []],
      ['a restore point', [run]],
      ['its record', [run, 'point.json']],
    ])('must be root for %s, even if another user owns the compose directory', async (_, entry) => {
      await makePoint();
      const path = at('restore', ...entry);
      await chown(path, 1000, 1000);
      await expect(openStateDirectory(directory)).rejects.toMatchObject({
        code: 'unexpected-file',
        message: `${path} is not accepted as a restore point, because it is owned by user 1000 instead of root`,
        advice: expect.stringContaining(`chown -R 0:0 ${path}; chmod -R go-w ${path}`),
      });
      await chown(path, 0, 0);
      await chmod(path, 0o720);
      await expect(openStateDirectory(directory)).rejects.toMatchObject({
        message: `${path} is not accepted as a restore point, because it is writable by users other than root`,
      });
      await chmod(path, 0o700);
      expect(await openStateDirectory(directory)).toBe(at());
    });

    it('is not checked for files in backups', async () => {
      const kept = at('backup', '20261121T104207Z', '.env');
      await mkdir(dirname(kept), { recursive: true });
      await writeFile(kept, '');
      await chown(kept, stranger, stranger);
      expect(await openStateDirectory(directory)).toBe(at());
    });

    // Like root on NFS, where root is mapped to another user.
    it('can be the user as whom the process creates files', async () => {
      await chown(directory, 1000, 1000);
      await chmod(directory, 0o777);
      await asAnother(() => openStateDirectory(directory));
      expect(await stat(at())).toMatchObject({ uid: 65_534 });
      expect(await asAnother(() => openStateDirectory(directory))).toBe(at());
      await expect(openStateDirectory(directory)).rejects.toMatchObject({ code: 'unexpected-file' });
    });
  });
});
