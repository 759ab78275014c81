import { createParser } from 'eventsource-parser';
import type { ToldRun } from '../../../src/wire/status.ts';
import { expectValid } from './send-request.ts';

/** `retry 1000`, `comment still here`, `run run1:3 pull`, `line run1:3 fetching`, `end`. */
export type Told = string;

/**
 * Reads an event stream one entry at a time, and validates each `run` and `line` against its schema. The text of a
 * `run` contains its state, the text of a `line` its message.
 */
export function follow(body: ReadableStream<Uint8Array> | null) {
  if (!body) throw new Error('there is no stream');
  // A pipe would read more than one entry in advance.
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const told: Told[] = [];
  const runs: ToldRun[] = [];
  const parser = createParser({
    onRetry: (milliseconds) => told.push(`retry ${milliseconds}`),
    onComment: (comment) => told.push(`comment ${comment}`),
    onError: (error) => {
      throw error;
    },
    onEvent: ({ event, id, data }) => {
      const value = JSON.parse(data);
      expectValid({ $ref: `#/components/schemas/${event === 'run' ? 'ToldRun' : 'Line'}` }, value);
      told.push(`${event} ${id} ${event === 'run' ? value.state : value.message}`);
      if (event === 'run') runs.push(value);
    },
  });

  const next = async (): Promise<Told> => {
    for (;;) {
      const first = told.shift();
      if (first !== undefined) return first;
      const { done, value } = await reader.read();
      if (done) return 'end';
      parser.feed(decoder.decode(value, { stream: true }));
    }
  };

  return {
    next,
    /** All complete `run` objects received so far. */
    runs,
    /** The next `count` entries. */
    async some(count: number): Promise<Told[]> {
      const all: Told[] = [];
      while (all.length < count) all.push(await next());
      return all;
    },
    /** All entries until the stream ends. */
    async rest(): Promise<Told[]> {
      const all: Told[] = [];
      for (let one = await next(); ; one = await next()) {
        all.push(one);
        if (one === 'end') return all;
      }
    },
    cancel: () => reader.cancel(),
  };
}
