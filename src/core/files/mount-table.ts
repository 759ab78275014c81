import { readFileSync } from 'node:fs';

export type ListedMount = ReturnType<typeof mountTable>[number];

/**
 * Mounts as the kernel lists them. Roots keep its escapes. Devices are not always those of `stat`, as on btrfs.
 * @param text of `/proc/<pid>/mountinfo`
 */
export const mountTable = (text: string) =>
  text.split('\n').flatMap((line) => {
    const [own = [], fileSystem = []] = line.split(' - ').map((part) => part.split(' '));
    const [[, , device = '', root = '', path], [type = '', source = '']] = [own, fileSystem];
    return path === undefined
      ? []
      : [{ path: unescaped(path), root, device, type, source: unescaped(source) }];
  });

/** What is mounted at a path of this container, and the paths of the mounts below it. */
export function mountOf(path: string): { root: string; device: string; below: string[] } {
  const mounts = mountTable(readFileSync('/proc/self/mountinfo', 'utf8'));
  const { root = '', device = '' } = mounts.findLast((mount) => mount.path === path) ?? {};
  const below = mounts.flatMap((mount) =>
    mount.path.startsWith(`${path}/`) ? [mount.path.slice(path.length)] : [],
  );
  return { root, device, below };
}

/** The kernel writes what would end a word in octal digits. */
export const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
