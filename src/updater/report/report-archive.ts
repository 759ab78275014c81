import { gzipSync } from 'node:zlib';
import { archiveEnd, archiveEntry } from '../../core/files/archive-header.ts';

/** A compressed tar archive of these texts by their names. The same texts give the same bytes. */
export function reportArchive(texts: ReadonlyMap<string, string>): Buffer {
  const parts = [...texts].flatMap(([name, text]) => archiveEntry(name, Buffer.from(text)));
  return gzipSync(Buffer.concat([...parts, archiveEnd]));
}
