import { type Answer, noAnswer, type Refused, readJson, refusalIn } from './reader-answer.ts';
import { readHistory, readRollbackOffer, readStatus, readToldRun, type UserStatus } from './reader-shapes.ts';
import type { Automatic, RollbackOffer, Run, Status, ToldRun } from './status.ts';

/** Milliseconds that an answer may take. */
const usualDeadlines = {
  read: 15_000,
  /** The releases are read before it. */
  refresh: 30_000,
  /** The host holds its queue and looks at its jobs before it. */
  change: 60_000,
  /** An updater checks the restore point first. */
  check: 330_000,
};

const json = ['application/json'];
const stream = 'text/event-stream';

export interface ReaderOptions {
  /** Where the endpoints are: `https://svc.example.org/api/v1/instance/update`, without a slash at the end. */
  address: string;
  /** Sent with each request. */
  headers?: Readonly<Record<string, string>>;
  fetch?: typeof fetch;
  deadlines?: Partial<typeof usualDeadlines>;
}

/** What an update is asked to be. */
export interface Order {
  target: string;
  when?: 'idle';
  force?: true;
  /** The target is where a path ends, whose releases come before it. */
  allSteps?: true;
}

/** What is set of updates by themselves; what is left out stays. */
export type AutomaticChoice = Partial<Omit<Automatic, 'nextAt' | 'blockedBy'>>;

/** A rollback that the person has confirmed. */
export interface RollbackOrder extends Omit<Order, 'target' | 'allSteps'> {
  /** The version to roll back to, `to` of the offer. */
  confirm: string;
}

/** An event stream that has begun. */
export interface OpenStream {
  body: ReadableStream<Uint8Array>;
}

/**
 * The one reader of the server's answers, for pages and programs. It never rejects: whatever is no answer of svc's is
 * said in the answer's `kind`. No redirect is followed, as it leads to a log-in, or a token to a stranger.
 */
export class Reader {
  readonly #options: ReaderOptions;
  readonly #deadlines: typeof usualDeadlines;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#deadlines = { ...usualDeadlines, ...options.deadlines };
  }

  status({
    refresh = false,
    notes = false,
    signal,
  }: {
    refresh?: boolean;
    notes?: boolean;
    signal?: AbortSignal;
  } = {}): Promise<Answer<Status | UserStatus>> {
    const query = [...(refresh ? ['refresh=1'] : []), ...(notes ? ['notes=1'] : [])].join('&');
    const deadline = refresh ? this.#deadlines.refresh : this.#deadlines.read;
    return this.#ask(readStatus, { path: query && `?${query}`, deadline, signal });
  }

  /** The current run or the last one; a problem of 404 where there has been none. */
  progress({ signal }: Waiting = {}): Promise<Answer<ToldRun>> {
    return this.#ask(readToldRun, { path: '/progress', signal });
  }

  history({ signal }: Waiting = {}): Promise<Answer<Run[]>> {
    return this.#ask(readHistory, { path: '/history', signal });
  }

  /** Not to be repeated where its answer is lost: `progress` tells what became of it. */
  start(order: Order, { signal }: Waiting = {}): Promise<Answer<ToldRun>> {
    return this.#ask(readToldRun, { method: 'POST', body: order, deadline: this.#deadlines.change, signal });
  }

  cancel({ signal }: Waiting = {}): Promise<Answer<ToldRun>> {
    return this.#ask(readToldRun, {
      method: 'DELETE',
      path: '/progress',
      deadline: this.#deadlines.change,
      signal,
    });
  }

  /** The effects of a rollback to the last restore point; a problem of 409 if there is no restore point. */
  rollbackOffer({ signal }: Waiting = {}): Promise<Answer<RollbackOffer>> {
    return this.#ask(readRollbackOffer, { path: '/rollback', deadline: this.#deadlines.check, signal });
  }

  /** Like `start`. */
  rollback(order: RollbackOrder, { signal }: Waiting = {}): Promise<Answer<ToldRun>> {
    const { change: deadline } = this.#deadlines;
    return this.#ask(readToldRun, { method: 'POST', path: '/rollback', body: order, deadline, signal });
  }

  async setChannel(channel: string, { signal }: Waiting = {}): Promise<Answer<Status | UserStatus>> {
    const body = { channel };
    return this.#ask(readStatus, {
      method: 'PUT',
      path: '/channel',
      body,
      deadline: this.#deadlines.change,
      signal,
    });
  }

  /** Gives a problem of 400 for what cannot be, such as a time zone that the server does not know. */
  async setAutomatic(
    choice: AutomaticChoice,
    { signal }: Waiting = {},
  ): Promise<Answer<Status | UserStatus>> {
    const { change: deadline } = this.#deadlines;
    return this.#ask(readStatus, { method: 'PUT', path: '/automatic', body: choice, deadline, signal });
  }

  /** What is the newest is not spoken of until there is a newer one; null: it is again. */
  async skip(version: string | null, { signal }: Waiting = {}): Promise<Answer<Status | UserStatus>> {
    const { change: deadline } = this.#deadlines;
    return this.#ask(readStatus, { method: 'PUT', path: '/skip', body: { version }, deadline, signal });
  }

  /**
   * Opens the event stream behind an event; null where the server says that it has no more. It lasts until the signal
   * is given.
   */
  async events(lastEventId: string | null, signal: AbortSignal): Promise<Answer<OpenStream | null>> {
    // Also in the address: a request with a header of its own makes a browser ask first whether it may.
    const path = `/progress${lastEventId === null ? '' : `?lastEventId=${encodeURIComponent(lastEventId)}`}`;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#deadlines.read);
    try {
      const either = AbortSignal.any([signal, late.signal]);
      const response = await this.#fetch({ path, accept: stream, signal: either });
      if (response.status === 204) return { kind: 'ok', value: null };
      const refusal = await refusalIn(response, [stream]);
      if (refusal) return refusal;
      return response.body
        ? { kind: 'ok', value: { body: response.body } }
        : noAnswer({ what: 'other', status: response.status, type: stream });
    } catch (cause) {
      return late.signal.aborted ? noAnswer({ what: 'late' }) : noAnswer({ what: 'nothing', cause });
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask<T>(read: (value: unknown) => T | null, question: Question): Promise<Answer<T>> {
    const { deadline = this.#deadlines.read, signal } = question;
    const late = AbortSignal.timeout(deadline);
    try {
      const either = signal ? AbortSignal.any([signal, late]) : late;
      const response = await this.#fetch({ ...question, accept: json[0] ?? '', signal: either });
      const refusal = await refusalIn(response, json);
      if (refusal) return lateOr(refusal, late);
      const body = await readJson(response);
      if ('why' in body) return lateOr(noAnswer(body.why), late);
      const value = read(body.value);
      const { status } = response;
      return value === null
        ? noAnswer({ what: 'other', status, type: 'application/json' })
        : { kind: 'ok', value };
    } catch (cause) {
      return lateOr(noAnswer({ what: 'nothing', cause }), late);
    }
  }

  #fetch({
    method = 'GET',
    path = '',
    body,
    accept,
    signal,
  }: Question & { accept: string }): Promise<Response> {
    const { address, headers = {}, fetch = globalThis.fetch } = this.#options;
    return fetch(`${address}${path}`, {
      method,
      headers: {
        ...headers,
        Accept: accept,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
      redirect: 'manual',
      cache: 'no-store',
    });
  }
}

interface Waiting {
  signal?: AbortSignal | undefined;
}

interface Question extends Waiting {
  method?: string;
  path?: string;
  body?: object;
  /** Milliseconds. */
  deadline?: number;
}

const lateOr = (refusal: Refused, late: AbortSignal): Refused =>
  refusal.kind === 'none' && late.aborted ? noAnswer({ what: 'late' }) : refusal;
