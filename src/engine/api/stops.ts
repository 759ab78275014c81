import type { Engine } from '../cli/engine.ts';
import { inVersion } from '../http/api-version.ts';
import { linesOf } from '../http/lines.ts';
import { openStream } from '../http/request.ts';
import { logTiming } from '../timing.ts';
import { apiTarget } from './api.ts';

/** Nobody knows when something happens. */
const forever = Number.POSITIVE_INFINITY;

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
    const path = inVersion(engine.apiVersion, `/events?${query}`);
    const asked = { method: 'GET', path, signal: closing.signal } as const;
    const stream = await openStream(apiTarget(engine.address), { ...asked, deadlineMs: forever }, forever);
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
