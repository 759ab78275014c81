import { access, constants, lstat, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { formatMountFlags, formatSamePathMountAdvice } from '../../errors/advice.ts';
import { UpdateError } from '../../errors/update-error.ts';
import type { HostPaths } from '../../mounts/host-paths.ts';
import { readMountAt } from '../../mounts/mount-table.ts';
import { findAclLossReason, isOnSmb, readExtendedAttributes } from '../attributes.ts';
import { systemErrorCodeOf } from '../file-system.ts';
import { findUnmappedOwner } from '../unmapped-owner.ts';
import { createPermissionErrorHandler } from './file-record.ts';

/**
 * Checks whether files can be replaced with a rename. The directory of a new file must exist. Returns warnings, for
 * example about permissions that cannot be checked.
 * @throws UpdateError not-a-file, read-only, outside-mounts, rights-lost
 */
export async function requireReplaceableFiles(
  files: readonly string[],
  paths: HostPaths,
): Promise<readonly string[]> {
  for (const file of files) await checkTarget(file, paths);
  return checkReplacementPermissions(files, (file) => paths.fromHost(file) ?? file);
}

/**
 * Checks whether replacements can get the permissions of the existing files. Returns warnings, for example about other
 * hard links.
 * @param here - converts a path in `files` to a path in this container
 * @throws UpdateError rights-lost
 */
export async function checkReplacementPermissions(
  files: readonly string[],
  here: (file: string) => string = (file) => file,
): Promise<readonly string[]> {
  const unknown: string[] = [];
  const told: string[] = [];
  for (const file of files) {
    const real = await realpath(here(file)).catch(() => null);
    if (real === null) continue;
    const others = (await stat(real)).nlink - 1;
    // The new file replaces only this name, so other hard links keep the old content (docs/contract.md 5.1).
    if (others > 0) {
      told.push(
        `${file} has ${others === 1 ? 'another hard link, which keeps' : `${others} other hard links, which keep`} the old content`,
      );
    }
    if (await isOnSmb(real)) {
      told.push(
        `${file} is on SMB, which hides the owner and permissions on the server: the server decides who owns the new file and who may read it`,
      );
    }
    const stranger = findUnmappedOwner(real);
    if (stranger !== null) {
      throw new UpdateError(
        'rights-lost',
        `${file} would lose its permissions: its ${stranger} is not mapped into this container`,
        {
          advice:
            'Change its owner to the user who runs this engine (on the host, as root, with chown), or set the version in the file manually.',
        },
      );
    }
    const attributes = await readExtendedAttributes(real).catch(createPermissionErrorHandler(file));
    if (attributes === null) unknown.push(file);
    const why = attributes && findAclLossReason(attributes);
    if (why) throw new UpdateError('rights-lost', `${file} would lose its permissions: ${why}`);
  }
  if (unknown.length === 0) return told;
  return [
    ...told,
    `cannot check whether ${unknown.join(' and ')} ${unknown.length > 1 ? 'have access-control lists' : 'has an access-control list'}, which would be lost: getfattr (package attr) is not installed`,
  ];
}

/**
 * Rejects files in directories to which this process cannot write. The mounts need not be known.
 * @throws UpdateError read-only
 */
export async function requireWritableDirectories(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const real = await realpath(file).catch(() => file);
    await access(dirname(real), constants.W_OK).catch((cause) => {
      const code = systemErrorCodeOf(cause);
      if (code === 'EROFS') throw new UpdateError('read-only', `${file} is in a read-only directory`);
      if (code !== 'EACCES') return;
      throw new UpdateError('read-only', `the current user cannot write to the directory of ${file}`, {
        advice: `Run the command as the owner of ${dirname(real)}.`,
      });
    });
  }
}

async function checkTarget(file: string, paths: HostPaths): Promise<void> {
  const here = paths.fromHost(file) ?? file;
  const real = await realpath(here).catch(async (cause) => {
    const link = await lstat(here).catch(() => null);
    if (!link) return null;
    throw new UpdateError(
      'not-a-file',
      `${file} is a symbolic link whose target is not mounted into this container`,
      {
        advice: "Use -v to mount the target's directory at the same path as on the host.",
        cause,
      },
    );
  });
  const location = real ?? (await realpath(dirname(here)));
  if (paths.toHost(location) === null) {
    throw new UpdateError(
      'outside-mounts',
      `${file} resolves to ${location}, which is not mounted from the host`,
      {
        advice: formatSamePathMountAdvice(dirname(location)),
      },
    );
  }
  if (!paths.isWritable(location)) throw new UpdateError('read-only', `${file} is mounted read-only`);
  if (real === null) return;
  if (!(await lstat(real)).isFile()) throw new UpdateError('not-a-file', `${file} is not a regular file`);
  if (paths.isMountPoint(real)) {
    throw new UpdateError('not-a-file', `${file} is mounted as a single file and cannot be replaced`, {
      advice: `Mount its directory instead: ${formatMountFlags(dirname(file))}.`,
    });
  }
  if (readMountAt(real).device !== '') {
    throw new UpdateError('not-a-file', `${file} is a mount point on the host and cannot be replaced`, {
      advice: `Run umount ${file} on the host and replace the mount with a regular file, or set the version in the file manually.`,
    });
  }
}
