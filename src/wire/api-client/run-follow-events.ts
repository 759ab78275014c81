import type { ToldRun } from '../status.ts';
import { parseRunWithServerTime } from './parse-responses.ts';
import { OversizedEventError, readEventStream, type StreamEvent } from './read-event-stream.ts';
import { createNoResponseResult, type FailedResult } from './request-result.ts';
import type { UpdateApiClient } from './update-api-client.ts';

export type RunFollowEvent =
  /** Current state of the run. If the run has an outcome, no event follows. */
  | { kind: 'run'; run: ToldRun }
  /** Line of the updater's log, as sent by the stream. */
  | { kind: 'line'; line: unknown }
  /** The server has sent an event or a comment, so it is alive. */
  | { kind: 'heard' }
  /** An attempt to reach the server failed. The next attempt follows automatically. */
  | { kind: 'unheard'; refused: FailedResult }
  /** The server responds but does not know the run. No event follows. */
  | { kind: 'unknown' };

/** All times are in milliseconds. */
const usualTiming = {
  /** Pause before the first reconnection. After each failure, the pause grows by half, up to `longestPause`. */
  firstPause: 500,
  longestPause: 5_000,
  /** A stream that sends nothing for this time is considered dead. The server sends comments every 15 s. */
  silence: 20_000,
  /** Time for which the server may not know the run, because a new server process must first find it. */
  unknown: 5_000,
  /** Polling interval if events cannot be streamed. */
  poll: 2_000,
};

interface Following {
  /** Id of the run to follow. */
  runId: string;
  /** Ends the generator without a further event. */
  signal: AbortSignal;
  timing?: Partial<typeof usualTiming>;
  /** Id of the last event that the caller has received. The server sends all later events. Default: only new events. */
  after?: string;
}

/** Follows a run to its end, even if the server restarts. If a proxy buffers the event stream, the run is polled. */
export async function* followRun(
  reader: UpdateApiClient,
  { runId: id, signal, timing, after }: Following,
): AsyncGenerator<RunFollowEvent, void> {
  const { firstPause, longestPause, silence, unknown, poll } = { ...usualTiming, ...timing };
  let lastEventId = after ?? null;
  let pause = firstPause;
  let polls = false;
  let streamsCome = false;
  let unknownSince: number | null = null;

  while (!signal.aborted) {
    let hasHeard = false;
    let isUnknown = false;
    let isHeld = false;
    /** Whether the server has too many open streams; the client must then poll. */
    let isFull = false;
    let hasEnded = false;
    if (!polls) {
      for await (const piece of streamPieces(reader, lastEventId, signal, silence)) {
        if (signal.aborted) return;
        if ('held' in piece) {
          isHeld = true;
          polls ||= piece.held === 'endless';
          continue;
        }
        const { news, eventId } = piece;
        if (news.kind === 'unheard') {
          if (hasEnded) return;
          const { refused } = news;
          // A timeout may mean that a proxy buffers the stream and holds back even the headers.
          isHeld = refused.kind === 'none' && refused.why.what === 'late' && !hasHeard;
          isUnknown = isNoRun(refused);
          isFull = refused.kind === 'problem' && refused.problem.status === 503;
          if (!isUnknown && !isHeld && !isFull) yield news;
          continue;
        }
        isUnknown = news.kind === 'run' && news.run.id !== id;
        if (isUnknown) break;
        hasHeard = true;
        streamsCome = true;
        lastEventId = eventId ?? lastEventId;
        yield news;
        hasEnded ||= news.kind === 'run' && news.run.outcome !== null;
        // On reconnection after the run's end, the server sends the result, the missed log lines, and the result again.
        // The last event is the only one whose id ends with `:end`.
        if (hasEnded && (eventId === null || eventId.endsWith(':end'))) return;
      }
    }
    if (hasEnded) return;
    // Poll if the stream is buffered or refused, or is about another run.
    if (polls || isHeld || isUnknown || isFull) {
      const found = await fetchRunById(reader, id, signal);
      if (signal.aborted) return;
      if ('refused' in found) {
        isUnknown = false;
        yield { kind: 'unheard', refused: found.refused };
      } else {
        isUnknown = found.run === null;
        hasHeard = true;
        // If a stream has delivered events before, a timeout is caused by an outage and not by a buffering proxy.
        polls ||= isHeld && !streamsCome;
        yield found.run === null ? { kind: 'heard' } : { kind: 'run', run: found.run };
        if (found.run !== null && found.run.outcome !== null) return;
      }
    }
    unknownSince = isUnknown ? (unknownSince ?? performance.now()) : null;
    if (unknownSince !== null && performance.now() - unknownSince >= unknown)
      return yield { kind: 'unknown' };
    if (hasHeard) pause = firstPause;
    await waitUnlessAborted((polls || isFull) && hasHeard ? poll : pause, signal);
    if (!hasHeard) pause = Math.min(pause * 1.5, longestPause);
  }
}

type Piece =
  | { news: RunFollowEvent; eventId: string | null }
  /**
   * `silent` means that the stream has sent nothing, or will send no more events. `endless` means that an event is too
   * large to read.
   */
  | { held: 'silent' | 'endless' };

const heard: Piece = { news: { kind: 'heard' }, eventId: null };
const unheard = (refused: FailedResult): Piece => ({ news: { kind: 'unheard', refused }, eventId: null });

/** Yields events until the stream ends, breaks or stalls. */
async function* streamPieces(
  reader: UpdateApiClient,
  lastEventId: string | null,
  signal: AbortSignal,
  silence: number,
): AsyncGenerator<Piece, void> {
  const dead = new AbortController();
  const opened = await reader.openEventStream(lastEventId, AbortSignal.any([signal, dead.signal]));
  if (signal.aborted) return;
  if (opened.kind !== 'ok') return yield unheard(opened);
  // The run has finished and no more events follow, so the caller must fetch the outcome.
  if (opened.value === null) return yield { held: 'silent' };
  let hasSpoken = false;
  let timer = setTimeout(() => dead.abort(), silence);
  try {
    for await (const event of readEventStream(opened.value)) {
      clearTimeout(timer);
      timer = setTimeout(() => dead.abort(), silence);
      hasSpoken = true;
      yield { news: toFollowEvent(event), eventId: event?.id ?? null };
    }
    // The server was available as long as the stream was open, so an outage begins only now.
    if (hasSpoken) yield heard;
  } catch (cause) {
    if (signal.aborted) return;
    if (cause instanceof OversizedEventError) return yield { held: 'endless' };
    if (dead.signal.aborted && !hasSpoken) return yield { held: 'silent' };
    if (!dead.signal.aborted && hasSpoken) yield heard;
    yield unheard(
      createNoResponseResult(dead.signal.aborted ? { what: 'late' } : { what: 'nothing', cause }),
    );
  } finally {
    clearTimeout(timer);
    dead.abort();
  }
}

/** A comment (null) or an unreadable event still shows that the server is alive. */
function toFollowEvent(event: StreamEvent | null): RunFollowEvent {
  try {
    const data: unknown = JSON.parse(event?.data ?? 'null');
    if (event?.event === 'line') return { kind: 'line', line: data };
    const run = event?.event === 'run' ? parseRunWithServerTime(data) : null;
    if (run !== null) return { kind: 'run', run };
  } catch {}
  return { kind: 'heard' };
}

/** `run` is null if neither the current run nor a past run has the id. */
async function fetchRunById(
  reader: UpdateApiClient,
  id: string,
  signal: AbortSignal,
): Promise<{ run: ToldRun | null } | { refused: FailedResult }> {
  const current = await reader.fetchRun({ signal });
  if (current.kind === 'ok' && current.value.id === id) return { run: current.value };
  if (current.kind !== 'ok' && !isNoRun(current)) return { refused: current };
  const past = await reader.fetchPastRuns({ signal });
  if (past.kind !== 'ok') return { refused: past };
  const run = past.value.find((one) => one.id === id && one.outcome !== null);
  return { run: run ? { ...run, now: run.endedAt ?? run.startedAt } : null };
}

const isNoRun = (refused: FailedResult): boolean =>
  refused.kind === 'problem' && refused.problem.status === 404;

/** Resolves early if the signal is aborted. */
function waitUnlessAborted(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
