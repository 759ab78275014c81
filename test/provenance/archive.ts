import { createHash } from 'node:crypto';
import { createTarEntry, tarTrailer } from '../../src/core/files/tar-header.ts';

/** An archive of these entries in this order, even if they are invalid. */
export function archiveOf(entries: readonly (readonly [name: string, content: Buffer | string])[]): Buffer {
  const parts = entries.flatMap(([name, content]) => createTarEntry(name, Buffer.from(content)));
  return Buffer.concat([...parts, tarTrailer]);
}

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
