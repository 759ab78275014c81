import type { Engine } from '../cli/engine.ts';
import { linesOf } from '../http/lines.ts';
import { logTiming } from '../timing.ts';
import { streamApi } from './api.ts';

export interface StopWatch {
  /** Ids of the containers that were told to stop since the watch began, and have not ended since. */
  underWay(): string[];
  close(): void;
}

/**
 * Watches for stops of these containers. The engine goes on with a stop when whoever asked for it is gone, tells of it
 * only in its events, and only while it happens.
 */
export function watchStops(engine: Engine, ids: readonly string[]): StopWatch {
  const query = new URLSearchParams({ filters: JSON.stringify({ container: ids, event: ['kill', 'die'] }) });
  const beganAt = performance.now();
  const told = new Set<string>();
  let status: number | null = null;
  const closing = new AbortController();
  const hear = async () => {
    const stream = await streamApi(engine, `/events?${query}`, closing.signal);
    status = stream.status;
    for await (const line of linesOf(stream.chunks)) note(line, told);
  };
  hear().catch(() => {});
  return {
    underWay: () => [...told],
    close: () => {
      logTiming('GET /events', beganAt, `status ${status}`);
      closing.abort();
    },
  };
}

/** One event a line: `{"Action":"kill","Actor":{"ID":…}}`. */
function note(line: string, told: Set<string>): void {
  if (line.trim() === '') return;
  try {
    const { Action, Actor } = JSON.parse(line);
    if (Action === 'kill') told.add(String(Actor.ID));
    else if (Action === 'die') told.delete(String(Actor.ID));
  } catch {
    // No event of the engine's: a proxy's page, say. Whoever asks looks at the containers as well.
  }
}
