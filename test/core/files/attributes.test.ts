import { execFileSync } from 'node:child_process';
import { chmod, link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  findAclLossReason,
  hasNoFileModes,
  readExtendedAttributes,
  unreadableAclPlaceholder,
} from '../../../src/core/files/attributes.ts';
import { diskFileSystem } from '../../../src/core/files/file-system.ts';
import { checkReplacementPermissions } from '../../../src/core/files/transaction/check-replaceable-files.ts';
import { replaceFiles, restoreFiles } from '../../../src/core/files/transaction/replace-files.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

const kernel = vi.hoisted(() => ({ says: null as number | null }));
// A test cannot mount SMB or FAT, so it replaces the number with which the kernel identifies the file system.
vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>();
  const statfs = async (path: string) => {
    const found = await fs.statfs(path);
    return { ...found, type: kernel.says ?? found.type };
  };
  return { ...fs, statfs };
});

const acl = 'system.posix_acl_access';

/** An access-control list in the format of Linux: a version, then tag, permissions and id of each entry. */
function list(...entries: readonly (readonly [tag: number, permissions: number, id?: number])[]): string {
  const bytes = Buffer.alloc(4 + 8 * entries.length);
  bytes.writeUInt32LE(2);
  for (const [index, [tag, permissions, id = 0xffff_ffff]] of entries.entries()) {
    bytes.writeUInt16LE(tag, 4 + 8 * index);
    bytes.writeUInt16LE(permissions, 6 + 8 * index);
    bytes.writeUInt32LE(id, 8 + 8 * index);
  }
  return `0s${bytes.toString('base64')}`;
}

const [owner, user, group, namedGroup, mask, others] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20];
/** The list of a file with mode 0640 that its group cannot read. */
const oneReader = list([owner, 6], [user, 4, 1234], [group, 0], [mask, 4], [others, 0]);
/** The default list of a directory, which new files inherit. */
const openToAnother = list([owner, 7], [user, 7, 1235], [group, 5], [mask, 7], [others, 5]);

it('reports in advance which access-control lists cannot be set on a new file', () => {
  const says = (attributes: Record<string, string>) => findAclLossReason(attributes);
  expect(says({})).toBeNull();
  expect(says({ 'user.note': '0sYQ==', [acl]: oneReader })).toBeNull();
  expect(says({ [acl]: list([owner, 6], [group, 4], [others, 0]) })).toBeNull();
  for (const named of [user, namedGroup]) {
    const stranger = list([owner, 6], [group, 0], [named, 4, 0xffff_ffff], [mask, 4], [others, 0]);
    expect(says({ [acl]: stranger })).toMatch(/not mapped into this container$/);
  }
  expect(says({ [acl]: unreadableAclPlaceholder })).toMatch(/getfattr is not installed/);
});

describe("a file system that is identified by the kernel's number (linux/magic.h)", () => {
  let file = '';
  beforeEach(async () => {
    file = join(await temporaryDirectory(), '.env');
    await writeFile(file, 'A=1\n');
  });
  afterEach(() => {
    kernel.says = null;
  });

  it.each([
    ['smbfs', 0x517b, { onSmb: true, noModes: false }],
    ['cifs', 0xff534d42, { onSmb: true, noModes: false }],
    ['smb2', 0xfe534d42, { onSmb: true, noModes: false }],
    ['FAT', 0x4d44, { onSmb: false, noModes: true }],
    ['exFAT', 0x2011bab0, { onSmb: false, noModes: true }],
    ['ext4', 0xef53, { onSmb: false, noModes: false }],
    ['NFS', 0x6969, { onSmb: false, noModes: false }],
  ])('is classified by whether it stores and shows permissions: %s', async (_, type, expected) => {
    kernel.says = type;
    const warnings = await checkReplacementPermissions([file]);
    const onSmb = warnings.some((warning) => warning.startsWith(`${file} is on SMB, which hides the owner`));
    expect({ onSmb, noModes: await hasNoFileModes(dirname(file)) }).toEqual(expected);
  });
});

/** Path of the program; empty if it is not installed. */
const setfattr = execFileSync('sh', ['-c', 'command -v setfattr || true'], { encoding: 'utf8' }).trim();

describe.skipIf(setfattr === '')('replacing a file with an access-control list', () => {
  let root = '';
  const at = (name: string) => join(root, name);
  const set = (name: string, attribute: string, value: string) =>
    execFileSync('setfattr', ['-n', attribute, '-v', value, at(name)]);
  const modeOf = async (name: string) => ((await stat(at(name))).mode & 0o7777).toString(8);
  const rightsOf = async (name: string) => [await modeOf(name), await readExtendedAttributes(at(name))];

  beforeEach(async () => {
    root = await temporaryDirectory();
    await writeFile(at('.env'), 'A=1\n', { mode: 0o600 });
    set('.env', acl, oneReader);
    set('.env', 'user.note', 'kept');
    set('.env', 'user.odd=\\\n', '0sAP8=');
    set('.env', 'user.empty', '');
    await writeFile(at('plain'), 'B=1\n', { mode: 0o640 });
    set('.', 'system.posix_acl_default', openToAnother);
  });
  afterEach(() => void vi.unstubAllEnvs());

  type Options = Parameters<typeof replaceFiles>[1];
  const replace = (list = changes(), options: Partial<Options> = {}) =>
    replaceFiles(list, { runId: 'run', backupDirectory: null, ...options });
  const changes = () => [
    { path: at('.env'), before: 'A=1\n', after: 'A=2\n' },
    { path: at('plain'), before: 'B=1\n', after: 'B=2\n' },
    { path: at('new'), before: null, after: 'C=1\n' },
  ];
  const ofEnv = {
    [acl]: oneReader,
    'user.note': '0sa2VwdA==',
    'user.odd=\\\n': '0sAP8=',
    'user.empty': '0s',
  };

  it('gives new files and backups the permissions of the old files, and removes inherited permissions', async () => {
    const warn = vi.fn();
    const records = await replace(changes(), { backupDirectory: at('backup/run'), warn });
    for (const name of ['.env', 'backup/run/.env']) expect(await rightsOf(name)).toEqual(['640', ofEnv]);
    for (const name of ['plain', 'backup/run/plain']) expect(await rightsOf(name)).toEqual(['640', {}]);
    // The list of the directory is inherited, but grants no access, because the group's bits are its mask.
    expect([await modeOf('new'), await modeOf('backup')]).toEqual(['600', '700']);

    expect(await restoreFiles(JSON.parse(JSON.stringify(records)))).toEqual([]);
    expect(await rightsOf('.env')).toEqual(['640', ofEnv]);
    expect(await rightsOf('plain')).toEqual(['640', {}]);
    expect(warn).not.toHaveBeenCalled();
  });

  it('is undone by renaming the backup if the disk is full', async () => {
    const records = await replace(changes().slice(0, 1), { backupDirectory: at('backup') });
    const write = async () => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
    };
    expect(await restoreFiles(records, { fs: { ...diskFileSystem, write } })).toEqual([]);
    expect(await rightsOf('.env')).toEqual(['640', ofEnv]);
  });

  /** Replaces a program with a script that comes first on the PATH. */
  async function standIn(script: string, program = 'setfattr'): Promise<void> {
    await mkdir(at('bin'), { recursive: true });
    await writeFile(at(`bin/${program}`), `#!/bin/sh\n${script.replaceAll('REAL', setfattr)}\n`);
    await chmod(at(`bin/${program}`), 0o755);
    vi.stubEnv('PATH', `${at('bin')}:${process.env.PATH}`);
  }

  it('is refused if the list cannot be set, and no other user can read the new file in the meantime', async () => {
    await standIn(
      `stat -c %a "$(eval echo \\$$#)" >>${root}/modes; echo 'setfattr: x: Operation not permitted' >&2; exit 1`,
    );
    await expect(replace()).rejects.toMatchObject({
      code: 'rights-lost',
      outcome: 'refused',
      message: `${at('.env')} would lose its permissions: its access-control list (${acl}) cannot be set: Operation not permitted`,
    });
    expect(new Set((await readFile(at('modes'), 'utf8')).trim().split('\n'))).toEqual(new Set(['600']));
    await expect(replace(changes().slice(1), { backupDirectory: at('backup') })).rejects.toMatchObject({
      code: 'rights-lost',
      message: expect.stringContaining(`${at('plain')} would`),
    });
    expect((await readdir(root)).sort()).toEqual(['.env', 'bin', 'modes', 'plain']);
  });

  it('is refused if the list differs after it was set', async () => {
    await standIn(`case "$*" in *${acl}*) ;; *) exec REAL "$@" ;; esac`);
    await expect(replace()).rejects.toMatchObject({
      message: expect.stringContaining('the file system returns a different value after it is set'),
    });
  });

  it('reports, before the first file changes, other attributes that would be lost', async () => {
    await standIn(
      `case "$*" in *user.note*) echo 'x: Permission denied' >&2; exit 1 ;; *) exec REAL "$@" ;; esac`,
    );
    const told: string[] = [];
    const warn = (sentence: string) => told.push(`${sentence} (${execFileSync('cat', [at('.env')])})`);
    await replace(changes(), { warn });
    expect(told).toEqual([
      `${at('.env')} will lose these attributes, which cannot be set in this container: user.note (A=1\n)`,
    ]);
    const { 'user.note': _, ...rest } = ofEnv;
    expect(await readExtendedAttributes(at('.env'))).toEqual(rest);
  });

  it('reports, before the first file changes, a hard link that keeps the old content', async () => {
    await link(at('plain'), at('second'));
    const told = await checkReplacementPermissions([at('plain')]);
    expect(told).toEqual([`${at('plain')} has another hard link, which keeps the old content`]);
    await link(at('plain'), at('third'));
    expect(await checkReplacementPermissions([at('plain')])).toEqual([
      expect.stringContaining('2 other hard links'),
    ]);
    expect(await checkReplacementPermissions([at('new')])).toEqual([]);
  });

  it('uses ls if getfattr is missing, and reports files for which ls is insufficient', async () => {
    await mkdir(at('bin'));
    vi.stubEnv('PATH', at('bin'));
    const files = [at('.env'), at('plain'), at('new')];
    expect(await checkReplacementPermissions(files)).toEqual([
      expect.stringContaining(
        `whether ${at('.env')} and ${at('plain')} have access-control lists, which would be lost`,
      ),
    ]);
    // The ls of busybox does not show access-control lists.
    await standIn(`[ "$1" = --version ] && echo 'BusyBox v1.37.0' || echo '-rw-r----- 1 0 0 4 plain'`, 'ls');
    vi.stubEnv('PATH', at('bin'));
    expect(await checkReplacementPermissions([at('plain')])).toEqual([
      expect.stringContaining('has an access-control list'),
    ]);
    await rm(at('bin/ls'));
    await symlink('/bin/ls', at('bin/ls'));
    expect(await checkReplacementPermissions([at('plain')])).toEqual([]);
    await expect(checkReplacementPermissions(files)).rejects.toMatchObject({ code: 'rights-lost' });
    // The new file would inherit the list of the directory, and no available program can remove it.
    const made = replace(changes().slice(1));
    await expect(made).rejects.toMatchObject({ code: 'rights-lost' });
    expect(await readFile(at('plain'), 'utf8')).toBe('B=1\n');
  });

  it('finds no attributes on a file system without attributes, and rejects a missing file', async () => {
    expect(await readExtendedAttributes('/proc/self/status')).toEqual({});
    await expect(readExtendedAttributes(at('gone'))).rejects.toThrow(/cannot be read: .*No such file/);
    await standIn("echo 'getfattr: /x: Operation not supported' >&2; exit 1", 'getfattr');
    expect(await readExtendedAttributes(at('plain'))).toEqual({});
  });
});
