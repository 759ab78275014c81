import { lstat, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { addMounts, mountFlags } from '../progress/advice.ts';
import { UpdateError } from '../progress/update-error.ts';
import type { HostPaths } from './host-paths.ts';

/**
 * Whether files can be replaced by renaming: regular files, reached from mounted directories, no mounts themselves.
 * A path that does not exist yet needs its directory to be there.
 * @throws UpdateError not-a-file, read-only, outside-mounts
 */
export async function checkTargets(files: readonly string[], paths: HostPaths): Promise<void> {
  for (const file of files) await checkTarget(file, paths);
}

async function checkTarget(file: string, paths: HostPaths): Promise<void> {
  const here = paths.fromHost(file) ?? file;
  const real = await realpath(here).catch(async (cause) => {
    const link = await lstat(here).catch(() => null);
    if (!link) return null;
    throw new UpdateError('not-a-file', `${file} is a symbolic link to something that is not mounted here`, {
      advice: 'Mount the directory it points into at its own path as well, with -v.',
      cause,
    });
  });
  const place = real ?? (await realpath(dirname(here)));
  if (paths.toHost(place) === null) {
    throw new UpdateError('outside-mounts', `${file} leads to ${place}, which is not mounted from the host`, {
      advice: addMounts(dirname(place)),
    });
  }
  if (!paths.isWritable(place)) throw new UpdateError('read-only', `${file} is mounted read-only`);
  if (real === null) return;
  if (!(await lstat(real)).isFile()) throw new UpdateError('not-a-file', `${file} is not a regular file`);
  if (paths.isMountPoint(real)) {
    throw new UpdateError('not-a-file', `${file} is mounted by itself: it cannot be replaced there`, {
      advice: `Mount its directory in its place: ${mountFlags(dirname(file))}.`,
    });
  }
}
