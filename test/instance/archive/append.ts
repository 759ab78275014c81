// Appends to the archive in the directory that is named, and prints why that is refused.

import { ArchiveFiles } from '../../../src/instance/archive/archive-files.ts';
import type { ArchiveRefused } from '../../../src/instance/archive/archive-refused.ts';

async function* zeros() {
  for (;;) yield Buffer.alloc(10_000);
}
const files = new ArchiveFiles(process.argv[2] ?? '');
const kept = await files.kept();
const why = kept && (await files.append(kept, zeros()).catch((error: ArchiveRefused) => error.reason));
console.log(JSON.stringify(why));
