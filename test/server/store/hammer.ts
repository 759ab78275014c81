// A server that sets one key repeatedly: hammer.ts DIRECTORY NAME TIMES. It prints a line after each success.
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
