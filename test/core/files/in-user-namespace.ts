// Usage: in-user-namespace.ts PATH…, as root of a user namespace. Prints for each file whether a replacement keeps its
// permissions, and creates a file in each directory. Starts when its parent has written the id map and sends a line.
import { lstatSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chownLikeParentDirectory } from '../../../src/core/files/file-system.ts';
import { checkReplacementPermissions } from '../../../src/core/files/transaction/check-replaceable-files.ts';

for await (const _ of createInterface({ input: process.stdin })) break;
process.setgid?.(0);
process.setuid?.(0);
for (const path of process.argv.slice(2)) {
  if (lstatSync(path).isDirectory()) {
    const made = join(path, 'made');
    writeFileSync(made, '');
    await chownLikeParentDirectory(made);
    continue;
  }
  const says = await checkReplacementPermissions([path]).then(
    () => 'kept',
    (error: Error) => error.message.replace(/^.* its permissions: /, ''),
  );
  console.log(says);
}
process.exit();
