import type { Engine } from '../cli/engine.ts';
import { logTiming } from '../timing.ts';
import { streamApi } from './api.ts';

/** What changes how a container is. The single health checks come as events, too, and are many. */
const kinds = ['start', 'die', 'oom', 'restart', 'pause', 'unpause', 'destroy', 'health_status'];

export interface EngineEvents {
  /** Resolves once the engine has told something since the last call, and after that many milliseconds at the latest. */
  next(withinMs: number): Promise<void>;
  close(): void;
}

/**
 * Listens to the engine's events about these containers. For those who look by themselves now and then, and want to know
 * sooner: an engine that goes away is not told of.
 */
export function listen(engine: Engine, ids: readonly string[]): EngineEvents {
  const query = new URLSearchParams({ filters: JSON.stringify({ container: ids, event: kinds }) });
  const beganAt = performance.now();
  let heard = false;
  let status: number | null = null;
  let wake = () => {};
  const closing = new AbortController();
  const hear = async () => {
    const stream = await streamApi(engine, `/events?${query}`, closing.signal);
    status = stream.status;
    for await (const _ of stream.chunks) {
      heard = true;
      wake();
    }
  };
  hear().catch(() => {});
  return {
    async next(withinMs) {
      if (!heard) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, withinMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      heard = false;
    },
    close: () => {
      logTiming('GET /events', beganAt, `status ${status}`);
      closing.abort();
    },
  };
}
