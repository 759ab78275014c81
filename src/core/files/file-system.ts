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
import {
  applyExtendedAttributes,
  type ExtendedAttributes,
  isOnSmb,
  PermissionsLostError,
  readExtendedAttributes,
} from './attributes.ts';
import { findUnmappedOwner } from './unmapped-owner.ts';

export interface FilePermissions {
  uid: number;
  gid: number;
  /**
   * Permission bits, including set-user-ID and similar bits. If there is an access control list, the group bits are its
   * mask.
   */
  mode: number;
  /**
   * Attributes, including the access control list. Null if no program can read attributes; undefined if they were not
   * read.
   */
  attributes?: ExtendedAttributes | null;
}

/**
 * Disk operations for changes that a crash must not leave incomplete. Every method may fail with the errors of its
 * system calls.
 */
export interface FileSystem {
  /** Returns null if the file does not exist. */
  read(path: string): Promise<Buffer | null>;
  realpath(path: string): Promise<string>;
  /** Returns owner and mode without attributes. Does not follow a symbolic link. */
  readOwner(path: string): Promise<FilePermissions>;
  /** Returns owner, mode and attributes. */
  readPermissions(path: string): Promise<FilePermissions>;
  /** Creates a directory and its missing parents. Each new directory gets the owner of its parent. */
  makeDirectory(path: string, mode: number): Promise<void>;
  /**
   * Creates a file. If `owner` is null, the file gets the owner of its directory. Until the file has its final
   * permissions, only its owner can read it. The content is on the disk only after `sync`. Returns the names of
   * attributes that could not be set. Fails if the file exists; any other failure may leave an incomplete file.
   */
  write(
    path: string,
    bytes: string | Buffer,
    owner: FilePermissions | null,
    mode: number,
  ): Promise<readonly string[]>;
  /** Syncs the content of a file, or the names in a directory, to the disk. */
  sync(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or an empty directory, if it exists. */
  remove(path: string): Promise<void>;
}

/** Returns the code of a system call error, such as `ENOENT`; undefined for other errors. */
export const systemErrorCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error
    ? error.code
    : undefined;

/** Checks whether an error means that the disk is full or a quota is exceeded. */
export const isDiskFullError = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(systemErrorCodeOf(error) ?? '');

/** Treats a name that is too long as missing, because no such file can exist. */
export const isMissingFileError = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemErrorCodeOf(error) ?? '');

/** Handles the error of a rejected promise: returns null if the file is missing, and throws any other error. */
export function tolerateMissingFile(error: unknown): null {
  if (!isMissingFileError(error)) throw error;
  return null;
}

/**
 * Error codes of file systems that cannot sync a directory. The errors are ignored, because such a file system keeps
 * renames in order without a sync, or cannot do so at all.
 */
const cannotSync = ['EINVAL', 'EBADF', 'ENOTSUP'];

export const diskFileSystem: FileSystem = {
  realpath,
  rename,

  async read(path) {
    return readFile(path).catch(tolerateMissingFile);
  },

  async readOwner(path) {
    const { uid, gid, mode } = await lstat(path);
    return { uid, gid, mode: mode & 0o7777 };
  },

  async readPermissions(path) {
    return { ...(await diskFileSystem.readOwner(path)), attributes: await readExtendedAttributes(path) };
  },

  async makeDirectory(path, mode) {
    const first = await mkdir(path, { recursive: true, mode });
    if (first === undefined) return;
    for (const made of listPathsDownTo(first, path)) await chownLikeParentDirectory(made);
  },

  async write(path, bytes, owner, mode) {
    // Only the owner can read the file until it has its final mode.
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      const { uid, gid } = await file.stat();
      if (owner && (owner.uid !== uid || owner.gid !== gid)) await file.chown(owner.uid, owner.gid);
      if (owner === null) await chownLikeParentDirectory(path);
      // Set the access control list before the mode, because the group bits of the mode are the mask of the list. Until
      // the list is set, these bits would give access to the group, or to users in the default list of the directory.
      const lost = owner?.attributes ? await applyExtendedAttributes(path, owner.attributes) : [];
      // Set the mode after the owner, because changing the owner clears set-user-ID bits. If the mode is already right,
      // do not set it again, because `chmod` removes the list on some file systems.
      if (((await file.stat()).mode & 0o7777) !== mode) {
        await file.chmod(mode).catch(async (error) => {
          if (!(await isOnSmb(path))) throw error;
        });
      }
      // A network file system may accept a change but not apply it, so the result is checked.
      const is = await file.stat();
      if (owner && (is.uid !== owner.uid || is.gid !== owner.gid || (is.mode & 0o7777) !== mode))
        throw new PermissionsLostError(
          `the file system shows ${formatOwner(is)} after ${formatOwner({ ...owner, mode })} was set`,
        );
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
      if (!cannotSync.includes(systemErrorCodeOf(error) ?? '') || !(await file.stat()).isDirectory())
        throw error;
    } finally {
      await file.close();
    }
  },

  async remove(path) {
    try {
      await unlink(path);
    } catch (error) {
      if (systemErrorCodeOf(error) === 'EISDIR') await rmdir(path);
      else if (!isMissingFileError(error)) throw error;
    }
  },
};

const formatOwner = ({ uid, gid, mode }: FilePermissions): string =>
  `owner ${uid}, group ${gid}, mode ${(mode & 0o7777).toString(8)}`;

/** Gives a new file or directory the owner of its parent directory. Does not follow a symbolic link. */
export async function chownLikeParentDirectory(path: string): Promise<void> {
  const [made, around] = await Promise.all([lstat(path), stat(dirname(path))]);
  if (made.uid === around.uid && made.gid === around.gid) return;
  if (findUnmappedOwner(dirname(path)) !== null) return;
  // An error is ignored on SMB, and for an unprivileged user who runs `bump`.
  await lchown(path, around.uid, around.gid).catch((error) => {
    if (!cannotGive.includes(systemErrorCodeOf(error) ?? '')) throw error;
  });
}

const cannotGive = ['EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Lists the directories from `first` down to `path`, which must be `first` or a path below it. */
function listPathsDownTo(first: string, path: string): string[] {
  const way = [path];
  while (way[0] !== undefined && way[0] !== first && way[0] !== dirname(way[0])) way.unshift(dirname(way[0]));
  return way;
}

/**
 * Writes and syncs a file that no other process uses yet. A file left behind by an earlier attempt is removed first.
 */
export async function writeTemporaryFile(
  fs: FileSystem,
  path: string,
  bytes: string | Buffer,
  { owner, mode }: { owner: FilePermissions | null; mode: number },
): Promise<readonly string[]> {
  await fs.remove(path);
  const lost = await fs.write(path, bytes, owner, mode);
  await fs.sync(path);
  return lost;
}

/** Replaces or creates a file atomically, even if the process is killed. */
export async function replaceFileSafely(
  fs: FileSystem,
  path: string,
  text: string | Buffer,
  options: { owner?: FilePermissions | null; mode: number; temporary?: string },
): Promise<void> {
  const { owner = null, mode, temporary = `${path}.new` } = options;
  try {
    await writeTemporaryFile(fs, temporary, text, { owner, mode });
    await fs.rename(temporary, path);
    await fs.sync(dirname(path));
  } catch (error) {
    await fs.remove(temporary).catch(() => {});
    throw error;
  }
}

export const isExistingPath = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

export const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
