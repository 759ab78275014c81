import type { Automatic, Rehearsal, RollbackOffer, Run, Status, ToldRun } from '../status.ts';
import {
  type NonAdminStatus,
  parseRehearsal,
  parseRollbackOffer,
  parseRunHistory,
  parseRunWithServerTime,
  parseStatus,
} from './parse-responses.ts';
import {
  createNoResponseResult,
  type FailedResult,
  findResponseFailure,
  type RequestResult,
  readResponseJson,
} from './request-result.ts';

/** Timeout in ms for requests for which the server starts an updater and waits for it. */
export const updaterDeadlineMs = 330_000;

/** In milliseconds. */
const usualDeadlines = {
  read: 15_000,
  /** The server reads the feed before it responds. */
  refresh: 30_000,
  /** The server pauses its queue and checks its jobs before it responds. */
  change: 60_000,
  /** Before the server responds, an updater checks the restore point. */
  check: updaterDeadlineMs,
};

const json = ['application/json'];
const stream = 'text/event-stream';

interface ReaderOptions {
  /** Address of the endpoints: `https://svc.example.org/api/v1/instance/update`, without a final slash. */
  address: string;
  /** Called for every request. If the result is null, no user is logged in, and the request is not sent. */
  headers?: () => Record<string, string> | Promise<Headers | null>;
  /** `same-origin` prevents requests to another origin than the page's, which must not get its headers. */
  mode?: 'same-origin';
  fetch?: typeof fetch;
  deadlines?: Partial<typeof usualDeadlines>;
}

export interface UpdateRequestBody {
  target: string;
  when?: 'idle';
  force?: true;
  /** Whether to install all steps of the upgrade path to the target. */
  allSteps?: true;
  /** Values for the release's new settings, keyed by name. */
  settings?: Readonly<Record<string, string>>;
}

export type RehearsalRequestBody = Pick<UpdateRequestBody, 'target' | 'settings'>;

/** Changes to the settings of automatic updates. Omitted settings remain unchanged. */
export type AutomaticUpdatesRequestBody = Partial<Omit<Automatic, 'nextAt' | 'blockedBy'>>;

export interface RollbackRequestBody extends Omit<UpdateRequestBody, 'target' | 'allSteps' | 'settings'> {
  /** Version to roll back to. Must equal `to` of the rollback offer. */
  confirm: string;
}

type StatusResult = RequestResult<Status | NonAdminStatus>;
/** Unread body of a response; null if there is no body. */
type OpenResult = RequestResult<Response['body']>;

/**
 * Client for the server's endpoints, for pages and programs. Methods never reject: the result's `kind` indicates a
 * failure. Redirects are not followed, because they could send the token to another server.
 */
export class UpdateApiClient {
  readonly #options: ReaderOptions;
  readonly #deadlines: typeof usualDeadlines;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#deadlines = { ...usualDeadlines, ...options.deadlines };
  }

  fetchStatus({
    refresh = false,
    notes = false,
    signal,
  }: Waiting & { refresh?: boolean; notes?: boolean } = {}): Promise<StatusResult> {
    const query = [...(refresh ? ['refresh=1'] : []), ...(notes ? ['notes=1'] : [])].join('&');
    const deadline = refresh ? this.#deadlines.refresh : this.#deadlines.read;
    return this.#ask(parseStatus, { path: query && `?${query}`, deadline, signal });
  }

  /** Fetches the run in progress; otherwise, the last run. Returns a 404 problem if there is no run. */
  fetchRun({ signal }: Waiting = {}): Promise<RequestResult<ToldRun>> {
    return this.#ask(parseRunWithServerTime, { path: '/progress', signal });
  }

  fetchPastRuns({ signal }: Waiting = {}): Promise<RequestResult<Run[]>> {
    return this.#ask(parseRunHistory, { path: '/history', signal });
  }

  /** If the response is lost, do not repeat the request. The current run shows whether the update started. */
  startUpdate(order: UpdateRequestBody, { signal }: Waiting = {}): Promise<RequestResult<ToldRun>> {
    return this.#change(parseRunWithServerTime, { method: 'POST', body: order, signal });
  }

  cancelRun({ signal }: Waiting = {}): Promise<RequestResult<ToldRun>> {
    return this.#change(parseRunWithServerTime, { method: 'DELETE', path: '/progress', signal });
  }

  /** The status contains the progress and the result. */
  startRehearsal(order: RehearsalRequestBody, { signal }: Waiting = {}): Promise<RequestResult<Rehearsal>> {
    return this.#change(parseRehearsal, { method: 'POST', path: '/rehearsal', body: order, signal });
  }

  cancelRehearsal({ signal }: Waiting = {}): Promise<RequestResult<Rehearsal>> {
    return this.#change(parseRehearsal, { method: 'DELETE', path: '/rehearsal', signal });
  }

  /** Fetches the effects of a rollback. Returns a 409 problem if there is no restore point. */
  fetchRollbackOffer({ signal }: Waiting = {}): Promise<RequestResult<RollbackOffer>> {
    return this.#ask(parseRollbackOffer, { path: '/rollback', deadline: this.#deadlines.check, signal });
  }

  /** If the response is lost, do not repeat the request. The current run shows whether the rollback started. */
  startRollback(order: RollbackRequestBody, { signal }: Waiting = {}): Promise<RequestResult<ToldRun>> {
    return this.#change(parseRunWithServerTime, { method: 'POST', path: '/rollback', body: order, signal });
  }

  setChannel(channel: string, { signal }: Waiting = {}): Promise<StatusResult> {
    return this.#change(parseStatus, { method: 'PUT', path: '/channel', body: { channel }, signal });
  }

  /** Returns a 400 problem if a setting is invalid, such as an unknown time zone. */
  setAutomatic(choice: AutomaticUpdatesRequestBody, { signal }: Waiting = {}): Promise<StatusResult> {
    return this.#change(parseStatus, { method: 'PUT', path: '/automatic', body: choice, signal });
  }

  /** Skips the newest release until a newer release is published; null makes the skipped release available again. */
  skipRelease(version: string | null, { signal }: Waiting = {}): Promise<StatusResult> {
    return this.#change(parseStatus, { method: 'PUT', path: '/skip', body: { version }, signal });
  }

  /**
   * Opens the event stream after the event `lastEventId`. The result's `value` is null if no more events follow. To
   * close the stream, abort the signal.
   */
  openEventStream(lastEventId: string | null, signal: AbortSignal): Promise<OpenResult> {
    // The id is a query parameter, because a custom header would cause a CORS preflight request.
    const path = `/progress${lastEventId === null ? '' : `?lastEventId=${encodeURIComponent(lastEventId)}`}`;
    return this.open({ path, accept: stream, signal });
  }

  /** Opens a response whose body the caller reads. The result's `value` is null if there is no body. */
  async open(question: Question & { accept: string; signal: AbortSignal }): Promise<OpenResult> {
    const { accept, deadline = this.#deadlines.read, signal } = question;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), deadline);
    try {
      const response = await this.#fetch({ ...question, signal: AbortSignal.any([signal, late.signal]) });
      if (response.status === 204) return { kind: 'ok', value: null };
      const refusal = await findResponseFailure(response, [accept]);
      if (refusal) return refusal;
      return response.body
        ? { kind: 'ok', value: response.body }
        : createNoResponseResult({ what: 'other', status: response.status, type: accept });
    } catch (cause) {
      return late.signal.aborted
        ? createNoResponseResult({ what: 'late' })
        : createNoResponseResult({ what: 'nothing', cause });
    } finally {
      clearTimeout(timer);
    }
  }

  #change<T>(read: (value: unknown) => T | null, question: Question): Promise<RequestResult<T>> {
    return this.#ask(read, { ...question, deadline: this.#deadlines.change });
  }

  async #ask<T>(read: (value: unknown) => T | null, question: Question): Promise<RequestResult<T>> {
    const { deadline = this.#deadlines.read, signal } = question;
    const late = AbortSignal.timeout(deadline);
    try {
      const either = signal ? AbortSignal.any([signal, late]) : late;
      const response = await this.#fetch({ ...question, accept: json[0] ?? '', signal: either });
      const refusal = await findResponseFailure(response, json);
      if (refusal) return toTimeoutIfLate(refusal, late);
      const body = await readResponseJson(response);
      if ('why' in body) return toTimeoutIfLate(createNoResponseResult(body.why), late);
      const value = read(body.value);
      const { status } = response;
      return value === null
        ? createNoResponseResult({ what: 'other', status, type: 'application/json' })
        : { kind: 'ok', value };
    } catch (cause) {
      return toTimeoutIfLate(createNoResponseResult({ what: 'nothing', cause }), late);
    }
  }

  async #fetch({
    method = 'GET',
    path = '',
    body,
    accept,
    signal,
  }: Question & { accept: string }): Promise<Response> {
    const { address, mode, headers: createHeaders = () => ({}), fetch = globalThis.fetch } = this.#options;
    // A function that fails counts as a redirect to a login page: the product may be restarting.
    const given = await Promise.resolve()
      .then(createHeaders)
      .catch(() => undefined);
    signal?.throwIfAborted();
    if (!given) return new Response(null, { status: given === null ? 401 : 302 });
    const headers = new Headers(given);
    headers.set('Accept', accept);
    if (body) headers.set('Content-Type', 'application/json');
    else headers.delete('Content-Type');
    return fetch(`${address}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
      ...(mode && { mode }),
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
  /** Timeout in milliseconds. */
  deadline?: number;
}

/** A failure after the deadline counts as a timeout, whatever the cause. */
export const toTimeoutIfLate = (refusal: FailedResult, late: AbortSignal): FailedResult =>
  refusal.kind === 'none' && late.aborted ? createNoResponseResult({ what: 'late' }) : refusal;
