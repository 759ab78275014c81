import { readFileSync } from 'node:fs';

/** As the kernel lists it, and the paths of the mounts below it. Devices are not always those of `stat`, as on btrfs. */
export function mountOf(path: string): { root: string; device: string; below: string[] } {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  const mounts = lines.map((line) => line.split(' '));
  const [, , device = '', root = ''] =
    mounts.findLast(([, , , , where = '']) => unescaped(where) === path) ?? [];
  const below = mounts.flatMap(([, , , , where = '']) =>
    where.startsWith(`${path}/`) ? [unescaped(where.slice(path.length))] : [],
  );
  return { root, device, below };
}

/** The kernel writes what would end a word in octal digits. */
export const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
