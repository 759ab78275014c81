import { execFile } from 'node:child_process';
import { mkdtemp, rmdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stateDirectoryName } from '../names/state-directory-name.ts';

/**
 * Extended attributes of a file, keyed by name. Values have the format of `getfattr`: `0s` followed by base64. The
 * names of access control lists begin with `system.`.
 */
export type ExtendedAttributes = Readonly<Record<string, string>>;

/** Value of an access control list that exists but cannot be read, because `getfattr` is not installed. */
export const unreadableAclPlaceholder = 'unread';

const posixAcl = 'system.posix_acl_access';

const isAccessList = (name: string): boolean => name.startsWith('system.');

/**
 * The type numbers that the kernel uses for SMB. SMB servers set their own permissions on new files, but do not report
 * them.
 */
const smb = [0x517b, 0xff534d42, 0xfe534d42];
export const isOnSmb = async (path: string): Promise<boolean> => smb.includes((await statfs(path)).type);

const [fat, fuse] = [[0x4d44, 0x2011bab0], 0x65735546];

/**
 * Checks whether a directory is on FAT, exFAT or a similar FUSE file system. These give every file the mode of the
 * mount.
 */
export async function hasNoFileModes(directory: string): Promise<boolean> {
  const { type } = await statfs(directory);
  if (type !== fuse) return fat.includes(type);
  const probe = await mkdtemp(join(directory, `${stateDirectoryName}-seen-`)).catch(() => null);
  // A directory that is not writable is rejected later, with a more helpful message.
  if (probe === null) return false;
  const { mode } = await stat(probe).finally(() => rmdir(probe));
  return (mode & 0o077) !== 0;
}

/** A new file cannot get the permissions of the old file, or would keep an inherited access control list. */
export class PermissionsLostError extends Error {}

const call = promisify(execFile);
const run = async (program: string, args: readonly string[]): Promise<string> => {
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  // A limit of 16 MiB is ample, because most file systems allow little more than 64 KiB of attributes per file.
  const { stdout } = await call(program, args, { env, timeout: 10_000, maxBuffer: 16 << 20 });
  return stdout;
};
const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOENT', 'EACCES'].includes(String(error.code));
const stderrOf = (error: unknown): string =>
  error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';

/**
 * Reads attributes with `getfattr` (package attr), because Node cannot. Returns null if neither `getfattr` nor GNU `ls`
 * is available.
 * @throws PermissionsLostError if the attributes cannot be read
 */
export async function readExtendedAttributes(path: string): Promise<ExtendedAttributes | null> {
  try {
    return parse(
      await run('getfattr', ['-h', '-d', '-m', '-', '-e', 'base64', '--absolute-names', '--', path]),
    );
  } catch (error) {
    if (isMissing(error)) return detectAclWithLs(path);
    // If the file system does not support attributes, the file has no attributes to lose.
    if (stderrOf(error).endsWith(': Operation not supported')) return {};
    throw new PermissionsLostError(
      `its attributes cannot be read: ${stderrOf(error) || (error as Error).message}`,
    );
  }
}

function parse(dump: string): ExtendedAttributes {
  const lines = dump.split('\n').filter((line) => line !== '' && !line.startsWith('# file: '));
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.indexOf('=');
      return [unquote(line.slice(0, end)), line.slice(end + 1)];
    }),
  );
}

/** Decodes an attribute name. `getfattr` prints special characters as three octal digits, such as `\075` for `=`. */
const unquote = (name: string): string =>
  Buffer.from(
    name.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8))),
    'latin1',
  ).toString();

/**
 * Detects an access control list by the `+` that GNU `ls` prints in `-rw-r-----+`. Returns null for any other `ls`,
 * because it may not print the `+`.
 */
async function detectAclWithLs(path: string): Promise<ExtendedAttributes | null> {
  try {
    if (!(await run('ls', ['--version'])).includes('GNU coreutils')) return null;
    return /^\S{10}\+/.test(await run('ls', ['-ld', '--', path]))
      ? { [posixAcl]: unreadableAclPlaceholder }
      : {};
  } catch {
    return null;
  }
}

/**
 * Sets the attributes of a new file, removes an inherited access control list, and returns the names of lost
 * attributes. Must be called before the final mode is set, because setting a list changes the mode.
 * @throws PermissionsLostError if an access control list is lost
 */
export async function applyExtendedAttributes(path: string, wanted: ExtendedAttributes): Promise<string[]> {
  const has = await readExtendedAttributes(path);
  if (has === null) return [];
  const errors = new Map<string, string>();
  const set = (name: string, ...args: string[]) =>
    run('setfattr', ['-h', ...args, '--', path]).catch((error) => {
      errors.set(name, isMissing(error) ? 'setfattr is missing' : stderrOf(error).replace(/^.*: /, ''));
    });
  for (const name of Object.keys(has)) {
    if (isAccessList(name) && !Object.hasOwn(wanted, name)) await set(name, '-x', name);
  }
  for (const [name, value] of Object.entries(wanted)) {
    // `setfattr` accepts the empty value `0s` without setting the attribute, so an empty string is passed instead.
    if (has[name] !== value) await set(name, '-n', name, '-v', value === '0s' ? '' : value);
  }
  if (errors.size === 0 && hasSameExtendedAttributes(has, wanted)) return [];
  return listLostAttributes(wanted, (await readExtendedAttributes(path)) ?? {}, errors);
}

export const hasSameExtendedAttributes = (a: ExtendedAttributes, b: ExtendedAttributes): boolean =>
  Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);

/** Returns the names of lost attributes. @throws PermissionsLostError if an access control list is among them */
function listLostAttributes(
  wanted: ExtendedAttributes,
  has: ExtendedAttributes,
  errors: ReadonlyMap<string, string>,
): string[] {
  const names = Object.keys({ ...wanted, ...has });
  const differing = names.filter((name) => wanted[name] !== has[name] || errors.has(name));
  const list = differing.find(isAccessList);
  if (list !== undefined) {
    const why = errors.get(list) ?? 'the file system returns a different value after it is set';
    throw new PermissionsLostError(
      Object.hasOwn(wanted, list)
        ? `its access-control list (${list}) cannot be set: ${why}`
        : `the access-control list inherited from its directory (${list}) cannot be removed: ${why}`,
    );
  }
  return differing.filter((name) => Object.hasOwn(wanted, name));
}

/** Returns why these access control lists cannot be set. Returns null if no reason is known in advance. */
export function findAclLossReason(attributes: ExtendedAttributes): string | null {
  const list = Object.keys(attributes).find((name) => attributes[name] === unreadableAclPlaceholder);
  if (list !== undefined)
    return 'it has an access-control list, which cannot be read because getfattr is not installed';
  const acl = attributes[posixAcl];
  return acl !== undefined && hasUnmappedIds(acl)
    ? 'its access-control list names users or groups that are not mapped into this container'
    : null;
}

/** Checks whether an access control list names unmapped users or groups. */
function hasUnmappedIds(value: string): boolean {
  const bytes = Buffer.from(value.replace(/^0s/, ''), 'base64');
  // The format is defined in posix_acl_xattr.h: a version of 4 bytes, then entries of 8 bytes (tag, permissions, ID).
  for (let at = 4; at + 8 <= bytes.length; at += 8) {
    const isNamed = [0x02, 0x08].includes(bytes.readUInt16LE(at));
    if (isNamed && bytes.readUInt32LE(at + 4) === 0xffff_ffff) return true;
  }
  return false;
}
