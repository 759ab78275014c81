import {
  access,
  lchown,
  lstat,
  mkdir,
  open,
  readFile,
  realpath,
  rename,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Attributes, giveAttributes, isOnSmb, RightsLost, readAttributes } from './attributes.ts';
import { strangerOf } from './strangers.ts';

export interface Owner {
  uid: number;
  gid: number;
  /** The permission bits, with set-user-id and its like. Beside an access-control list, the group's bits are its mask. */
  mode: number;
  /** Its access-control list among them; null where no program here can tell, left out where nobody has looked. */
  attributes?: Attributes | null;
}

/** The one door to the disk for everything that must never be half done. Every call may fail as the system's calls do. */
export interface FileSystem {
  /** Null where it is not there. */
  read(path: string): Promise<Buffer | null>;
  realpath(path: string): Promise<string>;
  /** Of the path itself, a link is not followed. */
  owner(path: string): Promise<Owner>;
  /** The owner with the attributes. */
  rights(path: string): Promise<Owner>;
  /** With those above it; fine where it is there. New ones belong to the owner of the directory that they are in. */
  makeDirectory(path: string, mode: number): Promise<void>;
  /**
   * Creates a file, which must not be there. Nobody but the owner can read it before it has its final rights; without an
   * owner it belongs to that of its directory. It is on the disk only after `sync`, and a failed call may leave a part of
   * it. Gives the names of the owner's attributes that it could not be given.
   */
  write(path: string, bytes: string | Buffer, owner: Owner | null, mode: number): Promise<readonly string[]>;
  /** A file's bytes, or a directory's names. */
  sync(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** A file or an empty directory; fine where it is not there. */
  remove(path: string): Promise<void>;
}

/** An error of a system call, or undefined. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error
    ? error.code
    : undefined;

/** Whether the disk is full or a quota is exceeded. */
export const isFullDisk = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '');

/** Nothing has this path: a name that is too long cannot exist. */
export const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemCode(error) ?? '');

/** File systems that cannot sync a directory say so with these; they keep the order of names by themselves, or never. */
const cannotSync = ['EINVAL', 'EBADF', 'ENOTSUP'];

export const disk: FileSystem = {
  realpath,
  rename,

  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  },

  async owner(path) {
    const { uid, gid, mode } = await lstat(path);
    return { uid, gid, mode: mode & 0o7777 };
  },

  async rights(path) {
    return { ...(await disk.owner(path)), attributes: await readAttributes(path) };
  },

  async makeDirectory(path, mode) {
    const first = await mkdir(path, { recursive: true, mode });
    if (first === undefined) return;
    for (const made of wayDown(first, path)) await giveToOwnerOfDirectory(made);
  },

  async write(path, bytes, owner, mode) {
    // Only the owner can read the new file before it has its final mode.
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      const { uid, gid } = await file.stat();
      if (owner && (owner.uid !== uid || owner.gid !== gid)) await file.chown(owner.uid, owner.gid);
      if (owner === null) await giveToOwnerOfDirectory(path);
      // A list before the mode: beside a list the mode's group bits are its mask, and without it they would let the
      // whole group in, or whoever the directory's default list names.
      const lost = owner?.attributes ? await giveAttributes(path, owner.attributes) : [];
      // The mode is set after the owner: changing the owner clears the set-user-id bits. One that a list has brought
      // already is not set again, as some file systems would drop the list for it.
      if (((await file.stat()).mode & 0o7777) !== mode) {
        await file.chmod(mode).catch(async (error) => {
          if (!(await isOnSmb(path))) throw error;
        });
      }
      // A server may accept the call and ignore it.
      const is = await file.stat();
      if (owner && (is.uid !== owner.uid || is.gid !== owner.gid || (is.mode & 0o7777) !== mode))
        throw new RightsLost(`the file system shows ${told(is)} after ${told({ ...owner, mode })} was set`);
      return lost;
    } finally {
      await file.close();
    }
  },

  async sync(path) {
    const file = await open(path, 'r');
    try {
      await file.sync();
    } catch (error) {
      if (!cannotSync.includes(systemCode(error) ?? '') || !(await file.stat()).isDirectory()) throw error;
    } finally {
      await file.close();
    }
  },

  async remove(path) {
    try {
      await unlink(path);
    } catch (error) {
      if (systemCode(error) === 'EISDIR') await rmdir(path);
      else if (!isGone(error)) throw error;
    }
  },
};

/** `owner 1000, group 1000, mode 640` */
const told = ({ uid, gid, mode }: Owner): string =>
  `owner ${uid}, group ${gid}, mode ${(mode & 0o7777).toString(8)}`;

/**
 * Gives what was just created to the owner of the directory that it is in, as far as that can be done: SMB keeps no
 * owners, a person who runs `bump` gives nothing away, and a stranger would be taken for nobody. A link itself is given, never
 * what it leads to.
 */
export async function giveToOwnerOfDirectory(path: string): Promise<void> {
  const [made, around] = await Promise.all([lstat(path), stat(dirname(path))]);
  if (made.uid === around.uid && made.gid === around.gid) return;
  if (strangerOf(dirname(path)) !== null) return;
  await lchown(path, around.uid, around.gid).catch((error) => {
    if (!cannotGive.includes(systemCode(error) ?? '')) throw error;
  });
}

const cannotGive = ['EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** From `first` down to `path`, which lies beneath it or is the same. */
function wayDown(first: string, path: string): string[] {
  const way = [path];
  while (way[0] !== undefined && way[0] !== first && way[0] !== dirname(way[0])) way.unshift(dirname(way[0]));
  return way;
}

/** Writes a file that nobody else knows yet, and has its bytes on the disk. One of an earlier try is removed first. */
export async function writeAside(
  fs: FileSystem,
  path: string,
  bytes: string | Buffer,
  { owner, mode }: { owner: Owner | null; mode: number },
): Promise<readonly string[]> {
  await fs.remove(path);
  const lost = await fs.write(path, bytes, owner, mode);
  await fs.sync(path);
  return lost;
}

/**
 * Replaces or creates one file so that it is whole at every moment, whatever happens: a temporary file beside it
 * (`<path>.new` by default), fsync, rename, fsync of the directory.
 */
export async function writeWhole(
  fs: FileSystem,
  path: string,
  text: string | Buffer,
  options: { owner?: Owner | null; mode: number; temporary?: string },
): Promise<void> {
  const { owner = null, mode, temporary = `${path}.new` } = options;
  try {
    await writeAside(fs, temporary, text, { owner, mode });
    await fs.rename(temporary, path);
    await fs.sync(dirname(path));
  } catch (error) {
    await fs.remove(temporary).catch(() => {});
    throw error;
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

export const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
