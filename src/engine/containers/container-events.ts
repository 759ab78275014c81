import type { Engine } from '../cli/engine.ts';
import type { EngineFilters } from '../engine-request-sender.ts';
import { EngineError } from '../http/engine-error.ts';
import { decodeLines } from '../http/lines.ts';
import { parseJsonOrNull } from '../objects/json.ts';

/**
 * Events about a changed container state. Events about single health checks are left out, because there are too many.
 */
const changes = [
  ...['create', 'start', 'die', 'oom', 'restart', 'pause', 'unpause', 'rename', 'destroy'],
  'health_status',
];

/** Maximum time between two polls: `calmMs` while the event stream is open, `deafMs` while it is not. */
const calmMs = 2_000;
const deafMs = 250;

/**
 * Lets a caller poll as soon as a container changes. Failures of the event stream are not reported, because the caller
 * also polls without events.
 * @param about - filter for the containers: their ids, `{ container: […] }`, or a label
 */
export function listenForContainerChanges(engine: Engine, about: EngineFilters) {
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
    close = followEvents(
      engine,
      { ...about, event: changes },
      {
        onEvent: tell,
        // Poll now, because a change while the stream was closed caused no event.
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
     * Resolves when the caller should poll: after an event, or when the stream opens or ends. Waits no longer than
     * `withinMs`, and no longer than two seconds (250 ms if no stream is open). Resolves at once if there was a change
     * since the last call.
     */
    async next(withinMs: number): Promise<void> {
      // Reopen an ended stream at most once every two seconds, because a server may close each stream immediately.
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
 * Records which of these containers are being stopped. The engine continues a stop after its client has disconnected,
 * and only events show this.
 */
export function watchContainerStops(engine: Engine, ids: readonly string[]) {
  const stopping = new Set<string>();
  const close = followEvents(
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
  /** Returns the ids of containers that received a signal and have not exited since. */
  const underWay = () => [...stopping];
  return { underWay, close };
}

/** Calls `onStart` for every started container, whichever client started it. Returns a function that ends the watch. */
export const watchContainerStarts = (
  engine: Engine,
  onStart: (id: string, attributes: Readonly<Record<string, string>>) => void,
): (() => void) =>
  followEvents(
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
  /**
   * Called when the stream has ended or could not be opened.
   * @param isRefused - whether the response had an error status
   */
  onEnd?: (isRefused: boolean) => void;
}

/** Reads events until the engine closes the stream. Returns a function that closes it earlier. */
function followEvents(
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
    for await (const line of decodeLines(stream.chunks)) {
      const event = parseJsonOrNull(line);
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
