import { readFileSync } from 'node:fs';

/**
 * Returns why root in this container is another user on the host; null if root is also root on the host. A rootless
 * engine maps root to the user that runs the engine; `userns-remap` maps all users to a range.
 */
export function readUserMapping(map: string = readMap()): 'remapped' | 'rootless' | null {
  const [inside, outside, count] = (map.split('\n')[0] ?? '').trim().split(/ +/).map(Number);
  if (inside !== 0 || outside === undefined || outside === 0) return null;
  return count === 1 ? 'rootless' : 'remapped';
}

function readMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch {
    // On a system without user namespaces, the file does not exist.
    return '';
  }
}
