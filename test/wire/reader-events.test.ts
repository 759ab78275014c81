import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readEvents } from '../../src/wire/reader-events.ts';

const streamOf = (chunks: readonly Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

async function read(chunks: readonly Uint8Array[]) {
  const events = [];
  for await (const event of readEvents(streamOf(chunks))) if (event) events.push(event);
  return events;
}

/** As another's parser reads it. */
function readElsewhere(text: string) {
  const events: { event: string; data: string }[] = [];
  createParser({
    onEvent: ({ event = 'message', data }) => events.push({ event: event || 'message', data }),
  }).feed(text);
  return events;
}

const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    'data',
    'data:',
    ': comment',
    'retry: 10',
    'nonsense',
    'id: 7',
    'event: run',
    'event:',
  ),
  fc.string().map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
  fc.string({ unit: 'grapheme' }).map((text) => `data:${text.replace(/[\r\n]/g, '')}`),
);
const text = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')))
  .map((lines) => `${lines.map(([one, end]) => one + end).join('')}\n\n`);

it('reads what others read, wherever the pieces are cut', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat({ max: 400 })), async (whole, cuts) => {
      const bytes = new TextEncoder().encode(whole.toWellFormed());
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const chunks = places.slice(1).map((end, at) => bytes.slice(places[at], end));
      const found = await read(chunks);
      expect(found.map(({ event, data }) => ({ event, data }))).toEqual(readElsewhere(whole.toWellFormed()));
    }),
    { numRuns: 300 },
  );
});

it('keeps the last id, and gives half an event to nobody', async () => {
  const bytes = new TextEncoder().encode('id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n');
  expect(await read([bytes])).toEqual([
    { event: 'message', data: 'a', id: '1' },
    { event: 'message', data: 'b', id: '1' },
  ]);
});

it('takes a long event that comes in many pieces, and another one behind it', async () => {
  const piece = new TextEncoder().encode('x'.repeat(16 * 1024));
  const [begin, end] = ['data: ', '\n\n'].map((text) => new TextEncoder().encode(text));
  if (!begin || !end) throw new Error('no bytes');
  const one = [begin, ...Array.from({ length: 150 }, () => piece), end];
  expect((await read([...one, ...one])).map(({ data }) => data.length)).toEqual([2_457_600, 2_457_600]);
  await expect(read([begin, ...Array.from({ length: 300 }, () => piece)])).rejects.toThrow('no end');
});
