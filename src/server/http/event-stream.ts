import type { Run, ToldRun } from '../../wire/status.ts';
import type { RunRecord } from '../run/run-record.ts';

/** Converts a run to the form used in responses, which includes the server's current time. */
export const addServerTime = (run: Run): ToldRun => ({ ...run, now: new Date().toISOString() });

/** After this many ms without an event, the server sends a comment. Proxies then keep the connection open. */
export const keepAliveIntervalMs = 15_000;
/** Milliseconds after which a disconnected client reconnects. */
const reconnectDelayMs = 1_000;
/** A chunk of events ends after the line with which it exceeds this many characters, because lines are never split. */
const maxChunkCharacters = 16 * 1024;

/** Whether the Accept header names `text/event-stream`. A wildcard is not sufficient: the response is then JSON. */
export const isEventStreamRequested = (accept: string | null): boolean =>
  /(?:^|,)\s*text\/event-stream\s*(?:[,;]|$)/i.test(accept ?? '');

export function hasReceivedLastEvent(record: RunRecord, lastEventId: string | null): boolean {
  return record.hasEnded && lastEventId === `${record.run.id}:end`;
}

/**
 * Streams a run's events (docs/contract.md 8.3). If a client reconnects with an event id of this run, all lines that it
 * missed are sent. If the server closes, the stream ends without an outcome.
 * @param onEnd - called when the stream ends or the client disconnects, possibly more than once
 */
export function createEventStream(
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
        const timer = setTimeout(wake, keepAliveIntervalMs);
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
    // Events are created only when the client reads, so that none are buffered for a slow client.
    { highWaterMark: 0 },
  );
}

class UnseenEvents {
  /** Whether the client has received the last event. */
  isOver = false;
  readonly #record: RunRecord;
  /** Number of the last line that the client has received. */
  #cursor: number;
  #told: Run | null = null;
  #hasBegun = false;

  constructor(record: RunRecord, lastEventId: string | null) {
    this.#record = record;
    this.#cursor = parseLineNumber(record.run.id, lastEventId) ?? record.lineCount;
  }

  /** Waits for new events and returns their text. If the signal is aborted first, returns an empty string. */
  async next(signal: AbortSignal): Promise<string> {
    for (;;) {
      const { changeCount: changes } = this.#record;
      const text = this.#take();
      if (text !== '' || signal.aborted) return text;
      await this.#record.waitForChange(changes, signal);
    }
  }

  /** Stops waiting for lines that the client received from another server but that this record lacks. */
  catchUp(): void {
    this.#cursor = Math.min(this.#cursor, this.#record.lineCount);
  }

  #take(): string {
    let text = '';
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      text += `retry: ${reconnectDelayMs}\n\n`;
    }
    const { run, hasEnded, lineCount } = this.#record;
    // This server may not yet have read all lines that the client already has. Until then, this server's run state is
    // older than the client's, so send nothing.
    if (this.#cursor > lineCount && !hasEnded) return text;
    const lines = this.#record.linesAfter(this.#cursor);
    if (this.#told === null && lines.length > 0) text += this.#tell(run);
    for (const { number, event } of lines) {
      if (text.length > maxChunkCharacters) return text;
      this.#cursor = number;
      text += formatEvent('line', this.#id(), event);
    }
    this.isOver = hasEnded;
    return hasEnded || !isSameRun(run, this.#told) ? text + this.#tell(run) : text;
  }

  #tell(run: Run): string {
    this.#told = run;
    return formatEvent('run', this.isOver ? `${run.id}:end` : this.#id(), addServerTime(run));
  }

  #id(): string {
    return `${this.#record.run.id}:${this.#cursor}`;
  }
}

/** Returns the line number from an event id. Returns null if the id is missing or belongs to a different run. */
function parseLineNumber(runId: string, eventId: string | null): number | null {
  if (!eventId?.startsWith(`${runId}:`)) return null;
  const number = eventId.slice(runId.length + 1);
  return /^\d{1,9}$/.test(number) ? Number(number) : null;
}

/**
 * Compares the contents only if the objects differ. Runs are never changed in place, so the same object has the same
 * contents.
 */
const isSameRun = (run: Run, told: Run | null): boolean =>
  run === told || (told !== null && JSON.stringify(run) === JSON.stringify(told));

const formatEvent = (event: string, id: string, data: object): string =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
