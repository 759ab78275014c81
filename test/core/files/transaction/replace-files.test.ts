import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runAsRootAdvice } from '../../../../src/core/errors/advice.ts';
import { diskFileSystem } from '../../../../src/core/files/file-system.ts';
import {
  type FileRecord,
  readFileState,
  removeTemporaryFiles,
  replaceFiles,
  restoreFiles,
} from '../../../../src/core/files/transaction/replace-files.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let root = '';
const run = '20261121T104207Z';
const at = (name: string) => join(root, name);
const text = (name: string) => readFile(at(name), 'utf8');

const texts = (...names: string[]) => Promise.all(names.map(text));
const names = async (folder = '') => (await readdir(at(folder))).sort();

const envChange = () => ({ path: at('.env'), before: 'A=1\r\n', after: 'A=2\r\n' });
const both = () => [envChange(), { path: at('compose.yaml'), before: 'old\n', after: 'new\n' }];
type Options = Parameters<typeof replaceFiles>[1];
const replace = (changes: Parameters<typeof replaceFiles>[0], options: Partial<Options> = {}) =>
  replaceFiles(changes, { runId: run, backupDirectory: at('backup'), ...options });
const failure = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code}: on purpose`), { code, ...more });

beforeEach(async () => {
  root = await temporaryDirectory();
  await writeFile(at('.env'), 'A=1\r\n');
  await writeFile(at('compose.yaml'), 'old\n');
});

describe('replaceFiles', () => {
  it('replaces every file, backs up the old files and leaves no temporary files', async () => {
    const made = { path: at('new.env'), before: null, after: 'B=1\n' };
    await replace([...both(), made], { backupDirectory: at('backup/run') });
    expect(await texts('.env', 'compose.yaml', 'new.env')).toEqual(['A=2\r\n', 'new\n', 'B=1\n']);
    expect((await lstat(at('new.env'))).mode & 0o7777).toBe(0o600);
    expect(await text('backup/run/.env')).toBe('A=1\r\n');
    expect(await names()).toEqual(['.env', 'backup', 'compose.yaml', 'new.env']);
    expect(await names('backup/run')).toEqual(['.env', 'compose.yaml']);
  });

  it('replaces nothing if a planned file has changed', async () => {
    const planned = [{ path: at('compose.yaml'), text: 'older\n' }];
    await expect(replace([envChange()], { planned })).rejects.toMatchObject({
      code: 'file-changed',
      message: `${at('compose.yaml')} was changed by another user or process during the update`,
    });
    await rm(at('compose.yaml'));
    await expect(replace([envChange()], { planned })).rejects.toMatchObject({ code: 'file-changed' });
    expect(await names()).toEqual(['.env']);
    expect(await text('.env')).toBe('A=1\r\n');
  });

  it('rejects a file whose owner or mode cannot be set, and changes nothing', async () => {
    for (const [syscall, what] of [
      ['fchown', 'its owner'],
      ['fchmod', 'its mode'],
    ] as const) {
      const write: typeof diskFileSystem.write = async (...given) => {
        await diskFileSystem.write(...given);
        throw Object.assign(new Error('EPERM: not permitted'), { code: 'EPERM', syscall });
      };
      const change = { path: at('.env'), before: 'A=1\r\n', after: 'x' };
      for (const backup of [null, at('backup')]) {
        await expect(
          replace([change], { backupDirectory: backup, fs: { ...diskFileSystem, write } }),
        ).rejects.toMatchObject({
          code: 'rights-lost',
          message: `${at('.env')} would lose its permissions: ${what} cannot be set on a new file (EPERM: not permitted)`,
          advice: runAsRootAdvice,
        });
        expect(await text('.env')).toBe('A=1\r\n');
        expect(await names()).toEqual(['.env', 'compose.yaml']);
      }
    }
  });

  it.each([
    ['has another text', { path: '.env', before: 'A=0\n', after: 'x' }],
    ['is gone', { path: 'gone', before: 'A=0\n', after: 'x' }],
    ['has appeared', { path: 'compose.yaml', before: null, after: 'x' }],
  ])('writes nothing if a file %s', async (_, { path, before, after }) => {
    const others = both().filter((change) => change.path !== at(path));
    const changes = [...others, { path: at(path), before, after }];
    await expect(replace(changes)).rejects.toMatchObject({ code: 'file-changed' });
    expect(await texts('.env', 'compose.yaml')).toEqual(['A=1\r\n', 'old\n']);
  });

  it('writes nothing and keeps no backup if the journal cannot be written', async () => {
    const cancelled = new Error('cancelled');
    const prepared = async () => {
      expect(await text('backup/run/.env')).toBe('A=1\r\n');
      expect(await names()).toEqual(['.env', 'backup', 'compose.yaml']);
      throw cancelled;
    };
    await expect(replace([envChange()], { backupDirectory: at('backup/run'), prepared })).rejects.toBe(
      cancelled,
    );
    expect(await text('.env')).toBe('A=1\r\n');
    expect(await names('backup')).toEqual([]);
  });

  it('restores the first file if the second file is edited at the last moment', async () => {
    const prepared = () => writeFile(at('compose.yaml'), 'mine');
    await expect(replace(both(), { prepared })).rejects.toMatchObject({
      code: 'file-changed',
      message: `${at('compose.yaml')} was changed by another user or process during the update`,
    });
    expect(await texts('.env', 'compose.yaml')).toEqual(['A=1\r\n', 'mine']);
    expect(await names()).toEqual(['.env', 'backup', 'compose.yaml']);
  });

  it('replaces leftovers of an earlier attempt of the same run', async () => {
    const temporary = `..env.svc-updater-${run}`;
    await mkdir(at('backup'));
    for (const name of [temporary, 'backup/.env']) await writeFile(at(name), 'torn');
    await replace(both());
    expect(await texts('.env', 'backup/.env')).toEqual(['A=2\r\n', 'A=1\r\n']);
    expect(await names()).toEqual(['.env', 'backup', 'compose.yaml']);
  });

  it('reports both errors if the second file cannot be replaced and the first file cannot be restored', async () => {
    const failing = (code: string) => Promise.reject(failure(code));
    let renames = 0;
    const fs: typeof diskFileSystem = {
      ...diskFileSystem,
      // As if the backups were on another file system, and all file systems were full by then.
      rename: (from, to) =>
        ++renames === 2 ? failing('EIO') : renames > 2 ? failing('EXDEV') : diskFileSystem.rename(from, to),
      write: (...given) => (renames >= 2 ? failing('ENOSPC') : diskFileSystem.write(...given)),
    };
    await expect(replace(both(), { fs })).rejects.toMatchObject({
      code: 'files-not-restored',
      message: 'the files could not be restored: ENOSPC: on purpose',
      detail: ['EIO: on purpose'],
    });
    expect(await texts('.env', 'compose.yaml')).toEqual(['A=2\r\n', 'old\n']);
  });

  it('replaces and restores the target of a link', async () => {
    await symlink('.env', at('linked.env'));
    const change = { path: at('linked.env'), before: 'A=1\r\n', after: 'A=2\r\n' };
    const records = await replace([change]);
    expect([await readlink(at('linked.env')), await text('.env')]).toEqual(['.env', 'A=2\r\n']);
    expect(await restoreFiles(records)).toEqual([]);
    expect([await readlink(at('linked.env')), await text('.env')]).toEqual(['.env', 'A=1\r\n']);
  });

  it('changes nothing if two paths are the same file', async () => {
    await symlink('.env', at('linked.env'));
    const twice = ['.env', 'linked.env'].map((name) => ({ path: at(name), before: 'A=1\r\n', after: name }));
    await expect(replace(twice, { backupDirectory: null })).rejects.toMatchObject({ code: 'write-failed' });
    expect(await text('.env')).toBe('A=1\r\n');
    expect(await names()).toEqual(['.env', 'compose.yaml', 'linked.env']);
  });
});

describe('restoreFiles', () => {
  const replaceBoth = async (): Promise<FileRecord[]> => JSON.parse(JSON.stringify(await replace(both())));

  it('uses the permissions of the current file, not of the record or the backup', async () => {
    const [env, ...others] = await replaceBoth();
    if (!env) throw new Error('nothing was replaced');
    const forged = { ...env, owner: { uid: 0, gid: 0, mode: 0o4755 } };
    await chmod(at('backup/.env'), 0o4755);
    await chmod(at('.env'), 0o640);
    expect(await restoreFiles([forged, ...others])).toEqual([]);
    expect(await text('.env')).toBe('A=1\r\n');
    expect((await lstat(at('.env'))).mode & 0o7777).toBe(0o640);
  });

  it('does not rename a backup with other permissions if the disk is full', async () => {
    const records = await replaceBoth();
    const fs = { ...diskFileSystem, write: () => Promise.reject(failure('ENOSPC')) };
    await chmod(at('backup/.env'), 0o4755);
    await expect(restoreFiles(records, { fs })).rejects.toMatchObject({
      code: 'files-not-restored',
      message: 'the files could not be restored: ENOSPC: on purpose',
    });
    expect(await texts('.env', 'compose.yaml')).toEqual(['A=2\r\n', 'old\n']);
  });

  it('restores all files except those with a damaged backup', async () => {
    const records = await replaceBoth();
    await writeFile(at('backup/.env'), 'A=1');
    await expect(restoreFiles(records)).rejects.toMatchObject({
      code: 'files-not-restored',
      message: `the files could not be restored: the backup of ${at('.env')} is missing or damaged`,
    });
    expect(await texts('.env', 'compose.yaml')).toEqual(['A=2\r\n', 'old\n']);
    await expect(restoreFiles(records, { texts: new Map([[at('.env'), 'A=0']]) })).rejects.toMatchObject({
      code: 'files-not-restored',
    });
    expect(await restoreFiles(records, { texts: new Map([[at('.env'), 'A=1\r\n']]) })).toEqual([]);
    expect(await text('.env')).toBe('A=1\r\n');
  });

  it('does not restore files that were changed later, including new files', async () => {
    const made = { path: at('new.env'), before: null, after: 'B=1\n' };
    const records = await replace([...both(), made]);
    for (const name of ['.env', 'new.env']) await writeFile(at(name), 'mine');
    expect(await restoreFiles(records)).toEqual([at('.env'), at('new.env')]);
    expect(await texts('.env', 'new.env', 'compose.yaml')).toEqual(['mine', 'mine', 'old\n']);
  });

  it('does not restore a file that is edited during the restore', async () => {
    const records = await replaceBoth();
    const write: typeof diskFileSystem.write = async (...given) => {
      const lost = await diskFileSystem.write(...given);
      if (given[0].includes('.env')) await writeFile(at('.env'), 'mine');
      return lost;
    };
    expect(await restoreFiles(records, { fs: { ...diskFileSystem, write } })).toEqual([at('.env')]);
    expect(await text('.env')).toBe('mine');
    expect(await names()).toEqual(['.env', 'backup', 'compose.yaml']);
  });

  it('does not resolve before the restored files are on the disk', async () => {
    const records = await replaceBoth();
    await restoreFiles(records);
    const sync: typeof diskFileSystem.sync = async (path) => {
      if (path === root) throw failure('EIO', { syscall: 'fsync' });
    };
    await expect(restoreFiles(records, { fs: { ...diskFileSystem, sync } })).rejects.toMatchObject({
      code: 'files-not-restored',
    });
  });

  it('skips a file whose directory is missing, and a path that is now a directory', async () => {
    await mkdir(at('sub'));
    await writeFile(at('sub/.env'), 'S\n');
    const inSub = [{ path: at('sub/.env'), before: 'S\n', after: 'T\n' }];
    const records = await replace([...both(), ...inSub]);
    for (const name of ['sub', '.env']) await rm(at(name), { recursive: true });
    await mkdir(at('.env'));
    expect(await restoreFiles(records)).toEqual([at('.env'), at('sub/.env')]);
    expect(await text('compose.yaml')).toBe('old\n');
  });
});

describe('readFileState', () => {
  const statesOf = (...records: FileRecord[]) => Promise.all(records.map((each) => readFileState(each)));

  it('distinguishes old, new and other content', async () => {
    const [env, compose, made] = await replaceFiles(
      [
        ...both().map((change, n) => (n === 0 ? { ...change, after: change.before } : change)),
        { path: at('new.env'), before: null, after: '' },
      ],
      { runId: run, backupDirectory: null },
    );
    if (!env || !compose || !made) throw new Error('three records');
    expect(await statesOf(env, compose, made)).toEqual(['before', 'after', 'after']);
    await writeFile(at('compose.yaml'), 'new');
    await rm(at('new.env'));
    expect(await statesOf(compose, made)).toEqual(['other', 'before']);
  });
});

describe('removeTemporaryFiles', () => {
  it('removes temporary files as far as possible', async () => {
    const records = await replace(both(), { backupDirectory: null });
    const [first, second] = records;
    await writeFile(first?.temporary ?? '', 'torn');
    await mkdir(second?.temporary ?? '');
    await writeFile(join(second?.temporary ?? '', 'full'), '');
    await removeTemporaryFiles(records);
    expect(await names()).toEqual([`.compose.yaml.svc-updater-${run}`, '.env', 'compose.yaml']);
  });
});
