import type { Engine } from '../cli/engine.ts';
import { linesOf } from '../http/lines.ts';
import { parseObject } from '../json.ts';
import { logTiming } from '../timing.ts';
import { streamApi } from './api.ts';

/** What changes how a container is. The single health checks come as events, too, and are many. */
const changes = ['start', 'die', 'oom', 'restart', 'pause', 'unpause', 'destroy', 'health_status'];

interface EngineEvents {
  /** Resolves once the engine has told something since the last call, and after that many milliseconds at the latest. */
  next(withinMs: number): Promise<void>;
  close(): void;
}

/**
 * Listens to the engine's events about these containers. For those who look by themselves now and then, and want to know
 * sooner: an engine that goes away is not told of.
 */
export function listen(engine: Engine, ids: readonly string[]): EngineEvents {
  let hasNews = false;
  let wake = () => {};
  const close = follow(engine, { container: ids, event: changes }, () => {
    hasNews = true;
    wake();
  });
  return {
    async next(withinMs) {
      if (!hasNews) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, withinMs);
        wake = resolve;
        await promise;
        clearTimeout(timer);
      }
      hasNews = false;
    },
    close,
  };
}

interface StopWatch {
  /** Ids of the containers that were told to stop since the watch began, and have not ended since. */
  underWay(): string[];
  close(): void;
}

/**
 * Watches for stops of these containers. The engine goes on with a stop when whoever asked for it is gone, tells of it
 * only in its events, and only while it happens.
 */
export function watchStops(engine: Engine, ids: readonly string[]): StopWatch {
  const stopping = new Set<string>();
  const close = follow(engine, { container: ids, event: ['kill', 'die'] }, ({ Action, Actor }) => {
    if (typeof Actor?.ID !== 'string') return;
    if (Action === 'kill') stopping.add(Actor.ID);
    else if (Action === 'die') stopping.delete(Actor.ID);
  });
  return { underWay: () => [...stopping], close };
}

interface EngineEvent {
  Action?: string;
  Actor?: { ID?: string };
}

/** Until it is closed, which this gives, or the engine goes away. */
function follow(
  engine: Engine,
  filters: Readonly<Record<string, readonly string[]>>,
  onEvent: (event: EngineEvent) => void,
): () => void {
  const query = new URLSearchParams({ filters: JSON.stringify(filters) });
  const beganAt = performance.now();
  let status: number | null = null;
  const closing = new AbortController();
  const read = async () => {
    const stream = await streamApi(engine, `/events?${query}`, closing.signal);
    status = stream.status;
    for await (const line of linesOf(stream.chunks)) {
      const event = parseObject(line);
      if (event !== null) onEvent(event);
    }
  };
  read().catch(() => {});
  return () => {
    logTiming('GET /events', beganAt, `status ${status}`);
    closing.abort();
  };
}
