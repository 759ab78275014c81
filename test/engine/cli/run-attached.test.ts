import { finished } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { createLineStream } from '../../../src/engine/cli/run-attached.ts';

it.each([
  [['a\nb\n'], ['a', 'b']],
  [
    ['a', 'b\nc'],
    ['ab', 'c'],
  ],
  [[Buffer.from('ä').subarray(0, 1), Buffer.from('ä').subarray(1)], ['ä']],
])('gives the lines of %j, also a last one without its end', async (chunks, expected) => {
  const lines: string[] = [];
  const stream = createLineStream((line) => lines.push(line));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await finished(stream);
  expect(lines).toEqual(expected);
});
