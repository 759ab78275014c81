import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { PointPlace, Room } from './kind.ts';

/** The room that is needed where a point is kept; its directory may not be there yet. */
export async function roomAt({ here }: PointPlace, needed: number): Promise<Room> {
  let path = here;
  for (;;) {
    const found = await stat(path).catch(() => null);
    if (found !== null || path === dirname(path)) break;
    path = dirname(path);
  }
  const [{ dev }, { bavail, bsize }] = await Promise.all([stat(path), statfs(path)]);
  return { device: String(dev), where: here, needed, free: bavail * bsize };
}
