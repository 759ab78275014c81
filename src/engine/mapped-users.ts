import { readFileSync } from 'node:fs';

/**
 * Why root here is another user outside; null where he is not. A rootless engine maps root to its own user, who is one, and
 * `userns-remap` all users to a range.
 */
export function mappedBy(map: string = readMap()): 'remapped' | 'rootless' | null {
  const [inside, outside, count] = (map.split('\n')[0] ?? '').trim().split(/ +/).map(Number);
  if (inside !== 0 || outside === undefined || outside === 0) return null;
  return count === 1 ? 'rootless' : 'remapped';
}

function readMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch {
    // Without user namespaces there is no such file.
    return '';
  }
}
