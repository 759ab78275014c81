import { finished } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { createLineStream } from '../../../src/engine/cli/run-attached-command.ts';

it.each([
  [['a\nb\n'], ['a', 'b']],
  [
    ['a', 'b\nc'],
    ['ab', 'c'],
  ],
  [[Buffer.from('ä').subarray(0, 1), Buffer.from('ä').subarray(1)], ['ä']],
])(
  'createLineStream returns the lines of %j, even if the last line has no line break',
  async (chunks, expected) => {
    const lines: string[] = [];
    const stream = createLineStream((line) => lines.push(line));
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    await finished(stream);
    expect(lines).toEqual(expected);
  },
);
