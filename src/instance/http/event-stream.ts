import type { Run, ToldRun } from '../../wire/status.ts';
import type { RunRecord } from '../run/run-record.ts';

/** A run as it crosses HTTP by itself. */
export const toldRun = (run: Run): ToldRun => ({ ...run, now: new Date().toISOString() });

/** Milliseconds of silence after which a comment keeps proxies from hanging up. */
export const silence = 15_000;
/** Milliseconds after which a client comes back. */
const retry = 1_000;
/** Characters after which a piece is sent off; a longer line is sent whole. */
const pieceSize = 16 * 1024;

/** Whether an Accept header names text/event-stream, as `EventSource` does; who asks for anything gets JSON. */
export const wantsEventStream = (accept: string | null): boolean =>
  /(?:^|,)\s*text\/event-stream\s*(?:[,;]|$)/i.test(accept ?? '');

/** Whether a client comes back for a run whose end it was told. */
export function hasSeenTheEnd(record: RunRecord, lastEventId: string | null): boolean {
  return record.hasEnded && lastEventId === `${record.run.id}:end`;
}

/**
 * The run as a stream of events (docs/contract.md 8.3): `run` with its state, then `line` for each further line of its
 * log and `run` after whatever changed, up to the outcome; ids are `<run id>:<number of the last line>`, that of the last event
 * `<run id>:end`. Who comes back with an id of this run gets every line since. It stops without an outcome when
 * `closing` is given: the client comes back to the next server.
 *
 * Nothing is made before somebody reads: a client that does not read costs a cursor, and gets what is kept once it reads.
 * `onEnd` is called when it has ended or its client has left, perhaps more than once.
 */
export function eventStream(
  record: RunRecord,
  lastEventId: string | null,
  closing: AbortSignal,
  onEnd: () => void = () => {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const unseen = new UnseenEvents(record, lastEventId);
  let isOpen = true;
  let wake = () => {};

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const waiting = new AbortController();
        wake = () => waiting.abort();
        const timer = setTimeout(wake, silence);
        closing.addEventListener('abort', wake);
        let text: string;
        try {
          text = await unseen.next(closing.aborted ? closing : waiting.signal);
        } finally {
          clearTimeout(timer);
          closing.removeEventListener('abort', wake);
        }
        if (!isOpen) return;
        if (text === '' && !closing.aborted) {
          text = ': still here\n\n';
          unseen.catchUp();
        }
        if (text !== '') controller.enqueue(encoder.encode(text));
        if (!unseen.isOver && !closing.aborted) return;
        controller.close();
        onEnd();
      },
      cancel() {
        onEnd();
        isOpen = false;
        wake();
      },
    },
    { highWaterMark: 0 },
  );
}

/** What one client has not been told yet. */
class UnseenEvents {
  /** The client has been told how the run ended. */
  isOver = false;
  readonly #record: RunRecord;
  /** The last line that the client has, or does without. */
  #cursor: number;
  #told: Run | null = null;
  #hasBegun = false;

  constructor(record: RunRecord, lastEventId: string | null) {
    this.#record = record;
    this.#cursor = lineNumber(record.run.id, lastEventId) ?? record.lineCount;
  }

  /** The next events, as soon as there are any; empty if the signal is given before. */
  async next(signal: AbortSignal): Promise<string> {
    for (;;) {
      const { changes } = this.#record;
      const text = this.#take();
      if (text !== '' || signal.aborted) return text;
      await this.#record.changeAfter(changes, signal);
    }
  }

  /** Waits no longer for lines that the client says it has. */
  catchUp(): void {
    this.#cursor = Math.min(this.#cursor, this.#record.lineCount);
  }

  #take(): string {
    let text = '';
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      text += `retry: ${retry}\n\n`;
    }
    const { run, hasEnded, lineCount } = this.#record;
    // A new server may still be reading lines that the client has read already: its state is an older one.
    if (this.#cursor > lineCount && !hasEnded) return text;
    const lines = this.#record.linesAfter(this.#cursor);
    if (this.#told === null && lines.length > 0) text += this.#tell(run);
    for (const { number, event } of lines) {
      if (text.length > pieceSize) return text;
      this.#cursor = number;
      text += message('line', this.#id(), event);
    }
    this.isOver = hasEnded;
    return hasEnded || !isSame(run, this.#told) ? text + this.#tell(run) : text;
  }

  #tell(run: Run): string {
    this.#told = run;
    return message('run', this.isOver ? `${run.id}:end` : this.#id(), toldRun(run));
  }

  #id(): string {
    return `${this.#record.run.id}:${this.#cursor}`;
  }
}

/** The number in an event's id; null for an id of another run, or of none. */
function lineNumber(runId: string, eventId: string | null): number | null {
  if (!eventId?.startsWith(`${runId}:`)) return null;
  const number = eventId.slice(runId.length + 1);
  return /^\d{1,9}$/.test(number) ? Number(number) : null;
}

/** A run is never changed in place, but a run that was made anew may say the same. */
const isSame = (run: Run, told: Run | null): boolean =>
  run === told || (told !== null && JSON.stringify(run) === JSON.stringify(told));

const message = (event: string, id: string, data: object): string =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
