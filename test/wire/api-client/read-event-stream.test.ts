import { expect, it } from 'vitest';
import { readEventStream } from '../../../src/wire/api-client/read-event-stream.ts';

const streamOf = (chunks: readonly Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

async function read(chunks: readonly Uint8Array[]) {
  const events = [];
  for await (const event of readEventStream(streamOf(chunks))) if (event) events.push(event);
  return events;
}

it('reads events with any line ending and chunking', async () => {
  const text = ': comment\r\nevent: run\r\ndata: {"a":"é"}\r\ndata\r\n\r\nretry: 10\nnonsense\n\ndata:x\n\n';
  const bytes = [...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte));
  expect((await read(bytes)).map(({ event, data }) => [event, data])).toEqual([
    ['run', '{"a":"é"}\n'],
    ['message', 'x'],
  ]);
});

it('keeps the last id and drops incomplete events', async () => {
  const bytes = new TextEncoder().encode('id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n');
  expect(await read([bytes])).toEqual([
    { event: 'message', data: 'a', id: '1' },
    { event: 'message', data: 'b', id: '1' },
  ]);
});

it('reads long events in many chunks, and rejects an event that is too large', async () => {
  const piece = new TextEncoder().encode('x'.repeat(16 * 1024));
  const [begin, end] = ['data: ', '\n\n'].map((text) => new TextEncoder().encode(text));
  if (!begin || !end) throw new Error('no bytes');
  const one = [begin, ...Array.from({ length: 150 }, () => piece), end];
  expect((await read([...one, ...one])).map(({ data }) => data.length)).toEqual([2_457_600, 2_457_600]);
  await expect(read([begin, ...Array.from({ length: 300 }, () => piece)])).rejects.toThrow('too large');
});
