import { readFileSync } from 'node:fs';

export type ListedMount = ReturnType<typeof parseMountTable>[number];

/**
 * Parses the kernel's list of mounts. Escapes in `root` are not decoded. `device` may differ from the device in `stat`,
 * for example on btrfs.
 * @param text content of `/proc/<pid>/mountinfo`
 */
export const parseMountTable = (text: string) =>
  text.split('\n').flatMap((line) => {
    const [own = [], fileSystem = []] = line.split(' - ').map((part) => part.split(' '));
    const [[, , device = '', root = '', path], [type = '', source = '']] = [own, fileSystem];
    return path === undefined
      ? []
      : [{ path: unescapeOctal(path), root, device, type, source: unescapeOctal(source) }];
  });

/** Returns the mount at a path of this container, and the relative paths of the mounts below it. */
export function readMountAt(path: string): { root: string; device: string; below: string[] } {
  const mounts = parseMountTable(readFileSync('/proc/self/mountinfo', 'utf8'));
  const { root = '', device = '' } = mounts.findLast((mount) => mount.path === path) ?? {};
  const below = mounts.flatMap((mount) =>
    mount.path.startsWith(`${path}/`) ? [mount.path.slice(path.length)] : [],
  );
  return { root, device, below };
}

/** Decodes a field, in which the kernel writes characters that would end the field as octal digits. */
export const unescapeOctal = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
