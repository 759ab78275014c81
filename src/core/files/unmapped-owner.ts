import { lchownSync, lstatSync, readFileSync, type Stats } from 'node:fs';

/** Pattern of the ID map of a user namespace that maps all IDs. Each line is `first-inside first-outside count`. */
const wholeMap = /^\s*0\s+0\s+4294967295\s*$/;

const systems = { uid: 'owner', gid: 'group' } as const;
type Kind = keyof typeof systems;

/**
 * Returns which of `owner` and `group` is not mapped into this container, as with a rootless engine; null if both are
 * mapped. The kernel shows an unmapped ID as `nobody`, which may also be a mapped ID: a new file with that owner would
 * belong to another user on the host. Only the kernel can distinguish both cases: changing the owner to the shown ID
 * fails if the real owner is unmapped.
 */
export function findUnmappedOwner(
  path: string | Buffer,
  status: Stats = lstatSync(path),
): (typeof systems)[Kind] | null {
  for (const kind of ['uid', 'gid'] as const) {
    if (status[kind] !== nobody(kind)) continue;
    // A check must not change anything, but changing the owner would clear the set-user-ID bits. Therefore, the owner
    // of such a file is treated as unmapped.
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

/**
 * Returns the ID that the kernel shows for unmapped IDs. Null if all IDs are mapped, or if the system has no user
 * namespaces.
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
