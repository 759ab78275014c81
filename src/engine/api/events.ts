import type { Engine } from '../cli/engine.ts';
import type { Filters } from '../engine-api.ts';
import { EngineError } from '../http/engine-error.ts';
import { linesOfStream } from '../http/lines.ts';
import { parseObject } from '../json.ts';

/** What changes how a container is. The single health checks come as events, too, and are many. */
const changes = [
  ...['create', 'start', 'die', 'oom', 'restart', 'pause', 'unpause', 'rename', 'destroy'],
  'health_status',
];

/** Between two looks where the engine tells what happens; where it does not, or may not. */
const calmMs = 2_000;
const deafMs = 250;

/**
 * Listens to the engine's events about containers, for those who look by themselves now and then, and want to know sooner.
 * Events may be lost, broken off, or refused by a proxy: no failure of theirs is told.
 * @param about ids of containers, `{ container: […] }`, or a label of theirs
 */
export function listen(engine: Engine, about: Filters) {
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
        // What has happened before the first event, or after the last one, only a look tells.
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
     * Resolves when it is time to look: the engine has told something since the last call, or has begun or ceased to tell;
     * else after two seconds, or a quarter of one where it tells nothing, and after that many milliseconds at the latest.
     */
    async next(withinMs: number): Promise<void> {
      // Something that ends each stream at once is not asked for the next one at each look.
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
 * Watches for stops of these containers. The engine continues a stop if the client that requested it is gone, tells of it
 * only in its events, and only while it happens.
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
  /** Ids of the containers that were told to stop since the watch began, and have not ended since. */
  const underWay = () => [...stopping];
  return { underWay, close };
}

/** Starts of containers, whichever client requested them, from the call on. Gives what ends the watch. */
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
  /** Nothing more comes, or nothing ever came. */
  onEnd?: (isRefused: boolean) => void;
}

/** Until it is closed, which this gives, or the engine goes away. */
function follow(
  engine: Engine,
  filters: Filters,
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
