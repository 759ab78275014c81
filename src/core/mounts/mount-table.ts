import { readFileSync } from 'node:fs';

export type MountTableEntry = ReturnType<typeof parseMountTable>[number];

/**
 * Parses the list of mounts from the kernel. `root` keeps its octal escapes. `device` may differ from the device that
 * `stat` reports, for example on btrfs.
 * @param text - content of `/proc/<pid>/mountinfo`
 */
export const parseMountTable = (text: string) =>
  text.split('\n').flatMap((line) => {
    const [own = [], fileSystem = []] = line.split(' - ').map((part) => part.split(' '));
    const [[, , device = '', root = '', path], [type = '', source = '']] = [own, fileSystem];
    return path === undefined
      ? []
      : [{ path: unescapeOctal(path), root, device, type, source: unescapeOctal(source) }];
  });

/**
 * Returns the mount at a path. If there is no mount, `root` and `device` are empty. `below` lists the mounts below the
 * path, relative to the path.
 */
export function readMountAt(path: string): { root: string; device: string; below: string[] } {
  const mounts = parseMountTable(readFileSync('/proc/self/mountinfo', 'utf8'));
  const { root = '', device = '' } = mounts.findLast((mount) => mount.path === path) ?? {};
  const below = mounts.flatMap((mount) =>
    mount.path.startsWith(`${path}/`) ? [mount.path.slice(path.length)] : [],
  );
  return { root, device, below };
}

/** Decodes octal escapes, which the kernel writes for characters that would end a field, such as spaces. */
export const unescapeOctal = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
