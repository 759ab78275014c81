import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { watchStops } from '../../../src/engine/api/stops.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { type Answer, chunked, startRawEngine } from '../raw-engine.ts';

const event = (Action: string, ID: string) => `${JSON.stringify({ Action, Actor: { ID } })}\n`;

async function watch(answer: Answer['bytes'], end: 'hang' | 'hang up') {
  const raw = await startRawEngine(() => ({ bytes: answer, end }));
  onTestFinished(() => raw.close());
  const engine = new Engine({ host: `unix://${raw.path}`, tls: [], configDirectory: '/' }, { home: '/' });
  const stops = watchStops(engine, ['a', 'b']);
  onTestFinished(() => stops.close());
  return stops;
}

describe('watchStops', () => {
  const told = [event('kill', 'a'), event('kill', 'b').slice(0, 9), event('kill', 'b').slice(9)];

  it('tells who was told to stop and has not ended, by lines that come in pieces', async () => {
    const { bytes } = chunked([...told, 'a page of a proxy\n\n', event('die', 'a')]);
    const stops = await watch(bytes.subarray(0, -5), 'hang');
    await expect.poll(() => stops.underWay()).toEqual(['b']);
  });

  it.each(['hang', 'hang up'] as const)(
    'keeps what was told by an engine that breaks off: %s',
    async (end) => {
      const { bytes } = chunked(told);
      const stops = await watch(bytes.subarray(0, -9), end);
      await expect.poll(() => stops.underWay()).toContain('a');
      // What comes of the broken answer would be unhandled by now.
      await sleep(50);
      expect(stops.underWay()).toContain('a');
    },
  );

  it('knows of none where nobody answers', async () => {
    const engine = new Engine(
      { host: 'unix:///nonexistent/s', tls: [], configDirectory: '/' },
      { home: '/' },
    );
    const stops = watchStops(engine, ['a']);
    await sleep(50);
    expect(stops.underWay()).toEqual([]);
    stops.close();
  });
});
