import { gzipSync } from 'node:zlib';
import { archiveHeader, blockSize, paddingOf } from '../../core/files/archive-header.ts';

/** A compressed tar archive of these texts by their names. The same texts give the same bytes. */
export function reportArchive(texts: ReadonlyMap<string, string>): Buffer {
  const parts = [...texts].flatMap(([name, text]) => {
    const { length } = Buffer.from(text);
    return [archiveHeader(name, length), Buffer.from(text), Buffer.alloc(paddingOf(length))];
  });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * blockSize)]));
}
