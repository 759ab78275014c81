import { execFile } from 'node:child_process';
import { mkdtemp, rmdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stateName } from '../progress/state-name.ts';

/**
 * What a file has besides owner and mode, by name, as `getfattr` writes the values (`0s` and base64). Access-control
 * lists are among them: Linux keeps a list as the attribute `system.posix_acl_access`, and other file systems theirs
 * under other names that begin with `system.`.
 */
export type Attributes = Readonly<Record<string, string>>;

/** The value of a list that is there and that no program here can read. */
export const unread = 'unread';

const posixAcl = 'system.posix_acl_access';

/** Whether the attribute controls access to the file. */
const isAccessList = (name: string): boolean => name.startsWith('system.');

/**
 * By the kernel's numbers. The server has owners, modes and lists of its own, which it does not show, and gives its own to
 * what is made there.
 */
const smb = [0x517b, 0xff534d42, 0xfe534d42];
export const isOnSmb = async (path: string): Promise<boolean> => smb.includes((await statfs(path)).type);

const [fat, fuse] = [[0x4d44, 0x2011bab0], 0x65735546];

/** Whether a directory is on FAT, exFAT, or a file system in user space that, like them, shows the modes of its mount. */
export async function keepsNoModes(directory: string): Promise<boolean> {
  const { type } = await statfs(directory);
  if (type !== fuse) return fat.includes(type);
  const probe = await mkdtemp(join(directory, `${stateName}-seen-`)).catch(() => null);
  // A directory that cannot be written is refused later, with a better sentence.
  if (probe === null) return false;
  const { mode } = await stat(probe).finally(() => rmdir(probe));
  return (mode & 0o077) !== 0;
}

/** Rights of the old file that the new one could not be given, or a list of the directory that it could not be freed of. */
export class RightsLost extends Error {}

const call = promisify(execFile);
const run = async (program: string, args: readonly string[]): Promise<string> => {
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  // A value has at most 64 KiB, and all values of a file little more on most file systems.
  const { stdout } = await call(program, args, { env, timeout: 10_000, maxBuffer: 16 << 20 });
  return stdout;
};
const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOENT', 'EACCES'].includes(String(error.code));
const stderrOf = (error: unknown): string =>
  error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';

/**
 * Node has no call for these: `getfattr` has (package attr). Where it is missing, `ls` of GNU still tells whether there
 * is a list. Null where nothing here can tell. A link is not followed.
 * @throws RightsLost where they cannot be read
 */
export async function readAttributes(path: string): Promise<Attributes | null> {
  try {
    return parse(
      await run('getfattr', ['-h', '-d', '-m', '-', '-e', 'base64', '--absolute-names', '--', path]),
    );
  } catch (error) {
    if (isMissing(error)) return seenByList(path);
    // A file system that keeps no attributes has none to lose.
    if (stderrOf(error).endsWith(': Operation not supported')) return {};
    throw new RightsLost(`its attributes cannot be read: ${stderrOf(error) || (error as Error).message}`);
  }
}

function parse(dump: string): Attributes {
  const lines = dump.split('\n').filter((line) => line !== '' && !line.startsWith('# file: '));
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.indexOf('=');
      return [unquote(line.slice(0, end)), line.slice(end + 1)];
    }),
  );
}

/** `getfattr` writes rare characters of a name, `=` among them, as three octal digits. */
const unquote = (name: string): string =>
  Buffer.from(
    name.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8))),
    'latin1',
  ).toString();

/** `-rw-r-----+` has a list; without the plus there is none. Only `ls` of GNU is known to say so. */
async function seenByList(path: string): Promise<Attributes | null> {
  try {
    if (!(await run('ls', ['--version'])).includes('GNU coreutils')) return null;
    return /^\S{10}\+/.test(await run('ls', ['-ld', '--', path])) ? { [posixAcl]: unread } : {};
  } catch {
    return null;
  }
}

/**
 * Gives a file these attributes, and takes from it the lists that it has from its directory. Its mode must be one that
 * lets nobody but its owner in: a list is set in one call, and brings the mode's bits with it. Gives the names of those
 * that it could not be given and that decide nobody's access.
 * @throws RightsLost
 */
export async function giveAttributes(path: string, wanted: Attributes): Promise<string[]> {
  const has = await readAttributes(path);
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
    // For a bare `0s`, setfattr sets nothing and still succeeds.
    if (has[name] !== value) await set(name, '-n', name, '-v', value === '0s' ? '' : value);
  }
  if (errors.size === 0 && sameAttributes(has, wanted)) return [];
  return lost(wanted, (await readAttributes(path)) ?? {}, errors);
}

export const sameAttributes = (a: Attributes, b: Attributes): boolean =>
  Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);

/** @throws RightsLost */
function lost(wanted: Attributes, has: Attributes, errors: ReadonlyMap<string, string>): string[] {
  const names = Object.keys({ ...wanted, ...has });
  const differing = names.filter((name) => wanted[name] !== has[name] || errors.has(name));
  const list = differing.find(isAccessList);
  if (list !== undefined) {
    const why = errors.get(list) ?? 'the file system returns a different value after it is set';
    throw new RightsLost(
      Object.hasOwn(wanted, list)
        ? `its access-control list (${list}) cannot be set: ${why}`
        : `the access-control list inherited from its directory (${list}) cannot be removed: ${why}`,
    );
  }
  return differing.filter((name) => Object.hasOwn(wanted, name));
}

/** Why the access-control lists cannot be set on a new file, if that is known beforehand; otherwise null. */
export function whyNotKept(attributes: Attributes): string | null {
  const list = Object.keys(attributes).find((name) => attributes[name] === unread);
  if (list !== undefined)
    return 'it has an access-control list, which cannot be read because getfattr is not installed';
  const acl = attributes[posixAcl];
  return acl !== undefined && namesStrangers(acl)
    ? 'its access-control list names users or groups that are not mapped into this container'
    : null;
}

/** From the kernel's posix_acl_xattr.h: 4 bytes of version, then 8 for each entry: tag, permissions, id. */
function namesStrangers(value: string): boolean {
  const bytes = Buffer.from(value.replace(/^0s/, ''), 'base64');
  for (let at = 4; at + 8 <= bytes.length; at += 8) {
    const isNamed = [0x02, 0x08].includes(bytes.readUInt16LE(at));
    if (isNamed && bytes.readUInt32LE(at + 4) === 0xffff_ffff) return true;
  }
  return false;
}
