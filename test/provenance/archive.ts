import { createHash } from 'node:crypto';
import { archiveHeader, paddingOf } from '../../src/core/files/archive-header.ts';

/** An archive of these entries, in this order, whatever they are. */
export function archiveOf(entries: readonly (readonly [name: string, content: Buffer | string])[]): Buffer {
  const parts = entries.flatMap(([name, content]) => {
    const bytes = Buffer.from(content);
    return [archiveHeader(name, bytes.length), bytes, Buffer.alloc(paddingOf(bytes.length))];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
