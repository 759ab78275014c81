import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';

export interface OwnContainer {
  /** 64 hex digits; null where the mount table does not tell. */
  id: string | null;
  /** By what the engine may know it: the id, else the host name. */
  name: string;
}

/**
 * The container this process runs in. The mount table first: the engine mounts /etc/hostname and others from a
 * directory named by the container's id. The host name second: it may have been chosen by the operator.
 */
export async function ownContainer(): Promise<OwnContainer> {
  const mountTable = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const id = /\/containers\/([0-9a-f]{64})\//.exec(mountTable)?.[1] ?? null;
  return { id, name: id ?? hostname() };
}
