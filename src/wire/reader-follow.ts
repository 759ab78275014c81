import type { Reader } from './reader.ts';
import { noAnswer, type Refused } from './reader-answer.ts';
import { EndlessEvent, readEvents, type StreamEvent } from './reader-events.ts';
import { readToldRun } from './reader-shapes.ts';
import type { ToldRun } from './status.ts';

/** News for a client that follows a run. */
export type News =
  /** The current state of the run; the last news if it has an outcome. */
  | { kind: 'run'; run: ToldRun }
  /** A line of the updater log, as sent by the stream. */
  | { kind: 'line'; line: unknown }
  /** svc is reachable: it sent an event or a comment. */
  | { kind: 'heard' }
  /** An attempt failed and is repeated automatically. */
  | { kind: 'unheard'; refused: Refused }
  /** svc responds but does not know the run. This is the last news. */
  | { kind: 'unknown' };

/** All in milliseconds. */
interface FollowTiming {
  /** Pause before the next attempt. It grows by half each time, up to the longest. */
  firstPause: number;
  longestPause: number;
  /** A stream without events or comments for this time is dead. svc sends a comment every 15 s. */
  silence: number;
  /** How long svc may report an unknown run, because a new server may still be looking for it. */
  unknown: number;
  /** Polling interval if a proxy buffers streams. */
  poll: number;
}

const usualTiming: FollowTiming = {
  firstPause: 500,
  longestPause: 5_000,
  silence: 20_000,
  unknown: 5_000,
  poll: 2_000,
};

interface Following {
  /** The id of the run. */
  run: string;
  /** Stops following without further news. */
  signal: AbortSignal;
  timing?: Partial<FollowTiming>;
  /** The id of the last event that the caller has. Default: only events from now on. */
  after?: string;
}

/**
 * Follows a run to its end across servers and downtime. Reconnects to the event stream, and polls if a proxy buffers the
 * stream.
 */
export async function* followRun(
  reader: Reader,
  { run: id, signal, timing, after }: Following,
): AsyncGenerator<News, void> {
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
    /** svc has as many streams as it gives: what they would tell is asked for. */
    let isFull = false;
    let hasEnded = false;
    if (!polls) {
      for await (const piece of streamed(reader, lastEventId, signal, silence)) {
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
          // A proxy that collects an answer until it is whole sends not even its head.
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
        // A client that reconnects after the end receives the result first, then the lines since its last event.
        if (hasEnded && (eventId === null || eventId.endsWith(':end'))) return;
      }
    }
    if (hasEnded) return;
    // Where a stream is held back; and where another run is the last one by now.
    if (polls || isHeld || isUnknown || isFull) {
      const found = await lookUp(reader, id, signal);
      if (signal.aborted) return;
      if ('refused' in found) {
        isUnknown = false;
        yield { kind: 'unheard', refused: found.refused };
      } else {
        isUnknown = found.run === null;
        hasHeard = true;
        // Where streams have come before, this one met the moment in which svc was away.
        polls ||= isHeld && !streamsCome;
        yield found.run === null ? { kind: 'heard' } : { kind: 'run', run: found.run };
        if (found.run !== null && found.run.outcome !== null) return;
      }
    }
    unknownSince = isUnknown ? (unknownSince ?? performance.now()) : null;
    if (unknownSince !== null && performance.now() - unknownSince >= unknown)
      return yield { kind: 'unknown' };
    if (hasHeard) pause = firstPause;
    await rest((polls || isFull) && hasHeard ? poll : pause, signal);
    if (!hasHeard) pause = Math.min(pause * 1.5, longestPause);
  }
}

type Piece =
  | { news: News; eventId: string | null }
  /** It was opened and has never said anything, or says something that nobody can read. */
  | { held: 'silent' | 'endless' };

const heard: Piece = { news: { kind: 'heard' }, eventId: null };
const unheard = (refused: Refused): Piece => ({ news: { kind: 'unheard', refused }, eventId: null });

/** What one stream says, until it ends, breaks or falls silent. */
async function* streamed(
  reader: Reader,
  lastEventId: string | null,
  signal: AbortSignal,
  silence: number,
): AsyncGenerator<Piece, void> {
  const dead = new AbortController();
  const opened = await reader.events(lastEventId, AbortSignal.any([signal, dead.signal]));
  if (signal.aborted) return;
  if (opened.kind !== 'ok') return yield unheard(opened);
  // It has no more: the run has ended, and its end is asked for.
  if (opened.value === null) return yield { held: 'silent' };
  let hasSpoken = false;
  let timer = setTimeout(() => dead.abort(), silence);
  try {
    for await (const event of readEvents(opened.value.body)) {
      clearTimeout(timer);
      timer = setTimeout(() => dead.abort(), silence);
      hasSpoken = true;
      yield { news: newsOf(event), eventId: event?.id ?? null };
    }
    // It was there until it let go; since when it is away is reckoned from here.
    if (hasSpoken) yield heard;
  } catch (cause) {
    if (signal.aborted) return;
    if (cause instanceof EndlessEvent) return yield { held: 'endless' };
    if (dead.signal.aborted && !hasSpoken) return yield { held: 'silent' };
    if (!dead.signal.aborted && hasSpoken) yield heard;
    yield unheard(noAnswer(dead.signal.aborted ? { what: 'late' } : { what: 'nothing', cause }));
  } finally {
    clearTimeout(timer);
    dead.abort();
  }
}

/** A comment, or an event that cannot be read, shows that svc is alive. */
function newsOf(event: StreamEvent | null): News {
  try {
    const data: unknown = JSON.parse(event?.data ?? 'null');
    if (event?.event === 'line') return { kind: 'line', line: data };
    const run = event?.event === 'run' ? readToldRun(data) : null;
    if (run !== null) return { kind: 'run', run };
  } catch {}
  return { kind: 'heard' };
}

/** The run by asking: the current one, or one that has ended; null where svc knows of none with that id. */
async function lookUp(
  reader: Reader,
  id: string,
  signal: AbortSignal,
): Promise<{ run: ToldRun | null } | { refused: Refused }> {
  const current = await reader.progress({ signal });
  if (current.kind === 'ok' && current.value.id === id) return { run: current.value };
  if (current.kind !== 'ok' && !isNoRun(current)) return { refused: current };
  const past = await reader.history({ signal });
  if (past.kind !== 'ok') return { refused: past };
  const run = past.value.find((one) => one.id === id && one.outcome !== null);
  return { run: run ? { ...run, now: run.endedAt ?? run.startedAt } : null };
}

const isNoRun = (refused: Refused): boolean => refused.kind === 'problem' && refused.problem.status === 404;

/** Resolves after the time, or with the signal. */
function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
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
