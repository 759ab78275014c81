import { createHash } from 'node:crypto';
import { archiveTrailer, createArchiveEntry } from '../../src/core/files/archive-header.ts';

/** An archive of these entries in this order, even if they are invalid. */
export function archiveOf(entries: readonly (readonly [name: string, content: Buffer | string])[]): Buffer {
  const parts = entries.flatMap(([name, content]) => createArchiveEntry(name, Buffer.from(content)));
  return Buffer.concat([...parts, archiveTrailer]);
}

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
