import { readFileSync } from 'node:fs';

/** What to do where root in this container is somebody else on the host. */
export const useHostUsers =
  'Add --userns=host to the docker run command: this engine runs containers with mapped users (userns-remap), and their root may not use its socket.';

/** Whether root here is another user outside: an engine with `userns-remap` maps the users of its containers. */
export function isMapped(map: string = readMap()): boolean {
  const [inside, outside] = (map.split('\n')[0] ?? '').trim().split(/ +/).map(Number);
  return inside === 0 && outside !== undefined && outside !== 0;
}

function readMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch {
    // Without user namespaces there is no such file.
    return '';
  }
}
