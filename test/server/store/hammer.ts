// A server that sets one key again and again: hammer.ts DIRECTORY NAME TIMES. A line for each time that it succeeded, written
// before anything else is done.
import { writeSync } from 'node:fs';
import { fileStore } from '../../../src/server/store/file-store.ts';
import { counted, read } from './counted.ts';

const [, , directory = '', name = '', times = ''] = process.argv;
const store = fileStore(directory);
let done = 0;
while (done < Number(times)) {
  const was = await store.get('key');
  const counts = read(was);
  const mine = (counts[name] ?? 0) + 1;
  if (!(await store.set('key', counted({ ...counts, [name]: mine }), { was }))) continue;
  done++;
  writeSync(1, `${mine}\n`);
}
