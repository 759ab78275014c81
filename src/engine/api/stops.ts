import type { Engine } from '../cli/engine.ts';
import { logTiming } from '../timing.ts';
import { apiTarget, openRequest } from './api.ts';

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
  let rest = '';
  let status: number | null = null;
  const asked = openRequest(apiTarget(engine.address), `/events?${query}`);
  asked.on('error', () => {});
  asked.on('response', (answer) => {
    status = answer.statusCode ?? null;
    answer.setEncoding('utf8');
    answer.on('error', () => {});
    answer.on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) note(line, told);
    });
  });
  asked.end();
  return {
    underWay: () => [...told],
    close: () => {
      logTiming('GET /events', beganAt, `status ${status}`);
      asked.destroy();
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
