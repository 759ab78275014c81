import { lchownSync, lstatSync, readFileSync, type Stats } from 'node:fs';

/** Line by line `first-inside first-outside count`, of a user namespace that maps all there are. */
const wholeMap = /^\s*0\s+0\s+4294967295\s*$/;

const systems = { uid: 'owner', gid: 'group' } as const;
type Kind = keyof typeof systems;

/**
 * What of a file's owner and group is not mapped into this container, as with a rootless engine; null where both are. The kernel
 * shows any such one as nobody, who may be mapped himself: then a file could be given to him, and would be somebody else's on
 * the host. Nobody but the kernel knows which of the two it is, and says so where the file is given to whom it shows.
 */
export function strangerOf(
  path: string | Buffer,
  status: Stats = lstatSync(path),
): (typeof systems)[Kind] | null {
  for (const kind of ['uid', 'gid'] as const) {
    if (status[kind] !== nobody(kind)) continue;
    // Giving takes such a bit away, and whoever looks changes nothing: in doubt it is a stranger's.
    if (status.isFile() && (status.mode & 0o6000) !== 0) return systems[kind];
    try {
      lchownSync(path, kind === 'uid' ? status.uid : -1, kind === 'gid' ? status.gid : -1);
    } catch (error) {
      if (['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return systems[kind];
    }
  }
  return null;
}

const nobodies = new Map<Kind, number | null>();

/** As whom the kernel shows whoever is not mapped; null where all are, and on a system that has no such namespaces. */
function nobody(kind: Kind): number | null {
  let shown = nobodies.get(kind);
  if (shown === undefined) {
    const map = read(`/proc/self/${kind}_map`);
    shown = map === null || wholeMap.test(map) ? null : Number(read(`/proc/sys/kernel/overflow${kind}`));
    nobodies.set(kind, shown);
  }
  return shown;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
