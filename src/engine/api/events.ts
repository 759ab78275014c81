import type { Engine } from '../cli/engine.ts';
import type { EngineFilters } from '../engine-api.ts';
import { EngineError } from '../http/engine-error.ts';
import { linesOfStream } from '../http/lines.ts';
import { parseObject } from '../json.ts';

/** Events that change a container's state. Single health checks also cause events, but too many to subscribe to. */
const changes = [
  ...['create', 'start', 'die', 'oom', 'restart', 'pause', 'unpause', 'rename', 'destroy'],
  'health_status',
];

/** Milliseconds between two polls while the event stream is open, and while it is not. */
const calmMs = 2_000;
const deafMs = 250;

/**
 * Subscribes to the engine's events about containers, so that a caller can poll as soon as something changes. Events
 * may be lost or interrupted, or blocked by a proxy; such failures are not reported.
 * @param about ids of containers, `{ container: […] }`, or one of their labels
 */
export function listenForEvents(engine: Engine, about: EngineFilters) {
  let hasNews = false;
  let wake = () => {};
  let state: 'opening' | 'open' | 'refused' | 'over' = 'opening';
  let openedAt = 0;
  let close = () => {};
  const tell = () => {
    hasNews = true;
    wake();
  };
  const open = () => {
    [state, openedAt] = ['opening', performance.now()];
    close = follow(
      engine,
      { ...about, event: changes },
      {
        onEvent: tell,
        // Only a poll can find changes before the first event or after the last event.
        onOpen: () => {
          state = 'open';
          tell();
        },
        onEnd: (isRefused) => {
          if (state === 'open') tell();
          state = isRefused ? 'refused' : 'over';
        },
      },
    );
  };
  open();
  return {
    /**
     * Resolves when it is time to poll: if an event arrived since the last call, or the stream was opened or has ended.
     * Otherwise after two seconds, or 250 ms without an open stream, and after `withinMs` milliseconds at the latest.
     */
    async next(withinMs: number): Promise<void> {
      // Limits how often a stream is reopened, because a server may close each stream at once.
      if (state === 'over' && performance.now() - openedAt >= calmMs) open();
      if (!hasNews) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, Math.min(withinMs, state === 'open' ? calmMs : deafMs));
        wake = resolve;
        await promise;
        clearTimeout(timer);
      }
      hasNews = false;
    },
    close: () => close(),
  };
}

/**
 * Watches for stops of these containers. The engine continues a stop after its client has disconnected, and reports the
 * stop only in events, while it is in progress.
 */
export function watchStops(engine: Engine, ids: readonly string[]) {
  const stopping = new Set<string>();
  const close = follow(
    engine,
    { container: ids, event: ['kill', 'die'] },
    {
      onEvent: ({ Action, Actor }) => {
        if (typeof Actor?.ID !== 'string') return;
        if (Action === 'kill') stopping.add(Actor.ID);
        else if (Action === 'die') stopping.delete(Actor.ID);
      },
    },
  );
  /** Returns the ids of containers that have received a signal since the watch began and have not exited. */
  const underWay = () => [...stopping];
  return { underWay, close };
}

/** Watches for starts of containers, whichever client requested them. Returns a function that ends the watch. */
export const watchStarts = (
  engine: Engine,
  onStart: (id: string, attributes: Readonly<Record<string, string>>) => void,
): (() => void) =>
  follow(
    engine,
    { type: ['container'], event: ['start'] },
    {
      onEvent: ({ Actor }) => {
        if (typeof Actor?.ID === 'string') onStart(Actor.ID, Actor.Attributes ?? {});
      },
    },
  );

interface EngineEvent {
  Action?: string;
  Actor?: { ID?: string; Attributes?: Readonly<Record<string, string>> };
}

interface Listener {
  onEvent: (event: EngineEvent) => void;
  onOpen?: () => void;
  /** Called when the stream has ended or could not be opened. */
  onEnd?: (isRefused: boolean) => void;
}

/** Follows events until the engine closes the stream. Returns a function that ends the stream. */
function follow(
  engine: Engine,
  filters: EngineFilters,
  { onEvent, onOpen = () => {}, onEnd = () => {} }: Listener,
): () => void {
  let status: number | null = null;
  const closing = new AbortController();
  const read = async () => {
    const { signal } = closing;
    const stream = await engine.open('watchEvents', { filters, signal }, Number.POSITIVE_INFINITY);
    status = stream.status;
    onOpen();
    for await (const line of linesOfStream(stream.chunks)) {
      const event = parseObject(line);
      if (event !== null) onEvent(event);
    }
  };
  read().then(
    () => onEnd(false),
    (error) => {
      if (error instanceof EngineError) status = error.status;
      onEnd(status !== null && status >= 300);
    },
  );
  return () => closing.abort();
}
