import { lchown, lstat, readFile } from 'node:fs/promises';

/** Line by line `first-inside first-outside count`, of a user namespace that maps all there are. */
const wholeMap = /^\s*0\s+0\s+4294967295\s*$/;

const systems = { uid: 'owner', gid: 'group' } as const;

/**
 * What of a file's owner and group is not mapped into this container, as with a rootless engine; null where both are. The kernel
 * shows any such one as nobody, who may be mapped himself: then a file could be given to him, and would be somebody else's on
 * the host. Nobody but the kernel knows which of the two it is, and says so where the file is given to whom it shows.
 */
export async function strangerOf(path: string): Promise<'owner' | 'group' | null> {
  const status = await lstat(path);
  for (const kind of ['uid', 'gid'] as const) {
    const [map, nobody] = await Promise.all([
      read(`/proc/self/${kind}_map`),
      read(`/proc/sys/kernel/overflow${kind}`),
    ]);
    if (map === null || wholeMap.test(map) || status[kind] !== Number(nobody)) continue;
    const given = kind === 'uid' ? lchown(path, status.uid, -1) : lchown(path, -1, status.gid);
    const isGiven = await given.then(
      () => true,
      (error: NodeJS.ErrnoException) => !['EPERM', 'EINVAL'].includes(error.code ?? ''),
    );
    if (!isGiven) return systems[kind];
  }
  return null;
}

/** Null on a system that has no such namespaces. */
const read = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(() => null);
