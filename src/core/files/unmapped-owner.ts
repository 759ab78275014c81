import { lchownSync, lstatSync, readFileSync, type Stats } from 'node:fs';

/** Content of `/proc/self/uid_map` if all IDs are mapped: the first ID inside, the first ID outside, and the count. */
const wholeMap = /^\s*0\s+0\s+4294967295\s*$/;

const systems = { uid: 'owner', gid: 'group' } as const;
type Kind = keyof typeof systems;

/**
 * Returns `owner` or `group` if that ID is not mapped into this container, as with rootless engines. Returns null if
 * both are mapped.
 */
export function findUnmappedOwner(
  path: string | Buffer,
  status: Stats = lstatSync(path),
): (typeof systems)[Kind] | null {
  for (const kind of ['uid', 'gid'] as const) {
    // The kernel shows an unmapped ID as `nobody`, which can also be a mapped ID.
    if (status[kind] !== nobody(kind)) continue;
    // Assume that the owner is unmapped, because the check below would clear the set-user-ID bits.
    if (status.isFile() && (status.mode & 0o6000) !== 0) return systems[kind];
    try {
      // Setting the shown ID again fails if the real ID is unmapped.
      lchownSync(path, kind === 'uid' ? status.uid : -1, kind === 'gid' ? status.gid : -1);
    } catch (error) {
      if (['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return systems[kind];
    }
  }
  return null;
}

const nobodies = new Map<Kind, number | null>();

/**
 * Returns the ID that the kernel shows for unmapped IDs. Returns null if all IDs are mapped, or if the kernel has no
 * user namespaces.
 */
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
