import type { NonAdminStatus, Problem } from '../../wire/api-client/parse-responses.ts';
import type { RequestResult } from '../../wire/api-client/request-result.ts';
import { followRun } from '../../wire/api-client/run-follow-events.ts';
import {
  type AutomaticUpdatesRequestBody,
  type RehearsalRequestBody,
  type RollbackRequestBody,
  UpdateApiClient,
  type UpdateRequestBody,
} from '../../wire/api-client/update-api-client.ts';
import type { Status, ToldRun } from '../../wire/status.ts';
import {
  initialPageState,
  type PageAction,
  type PageState,
  type RollbackRequestState,
  reducePageState,
} from '../model/page-state.ts';
import { planRequests, shortPollIntervalMs } from '../model/schedule.ts';
import { findPendingStep, findRunInProgress } from '../model/selectors.ts';
import { DismissedRunStorage, storeReloadHandover } from '../model/storage.ts';
import { addRefreshListener, createRequestHeaders } from '../session.ts';
import { RunLogLines } from './log-lines.ts';

/**
 * Time in ms after which a missing run counts as unknown. Until then, a new server process may still be searching for
 * the run.
 */
const missingRunToleranceMs = 5_000;

const createRejectedRollback =
  (to: string) =>
  (problem: Problem | null): PageAction => ({ kind: 'rollback', rollback: { kind: 'refused', to, problem } });

/** State and requests shared by all elements with the same address. */
export class PageStore {
  logLines: RunLogLines;
  readonly dismissedRuns = new DismissedRunStorage(() => localStorage);
  readonly #client: UpdateApiClient;
  readonly #listeners = new Set<() => void>();
  #state: PageState = initialPageState;
  #openDialogs = 0;
  /** Aborts all requests when the session of the user ends. */
  #sessionAbort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRequestPending = false;
  #isStatusNeeded = false;
  #requestedAt: number | null = null;
  /** Run whose event stream is being read, and a controller that stops reading it. */
  #following: { id: string; end: AbortController } | null = null;
  /**
   * Value of `performance.now()` when a response first omitted the watched run although it was in progress. Null if the
   * run is not missing.
   */
  #missingSince: number | null = null;
  #isChecking = false;

  constructor(address: string) {
    this.#client = new UpdateApiClient({
      address,
      // While the user is logged out, only the scheduled status request is sent.
      headers: async () => (this.#state.loggedOut && !this.#isRequestPending ? null : createRequestHeaders()),
      mode: 'same-origin',
    });
    this.logLines = new RunLogLines(this.#client);
    addRefreshListener(() => this.refresh());
    addEventListener('online', () => this.requestStatusNow());
    // A page restored from the back/forward cache shows an outdated state.
    addEventListener('pageshow', ({ persisted }) => persisted && this.refresh());
    document.addEventListener('visibilitychange', () => this.refresh());
    // All tabs share the storage, in which another tab may have dismissed a result or stored a token.
    addEventListener('storage', () => (this.#state.loggedOut ? this.refresh() : this.#handleChange()));
  }

  get state(): PageState {
    return this.#state;
  }

  get isDialogOpen(): boolean {
    return this.#openDialogs > 0;
  }

  /** Whether the user has requested a check for new releases that is still in progress. */
  get isChecking(): boolean {
    return this.#isChecking;
  }

  /** Adds a listener, and returns a function that removes it. Without listeners, the store does not poll. */
  addListener(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#schedule();
    return () => {
      this.#listeners.delete(listener);
      this.#schedule();
    };
  }

  setDialogOpen(isOpen: boolean): void {
    this.#openDialogs += isOpen ? 1 : -1;
    if (isOpen) {
      this.requestStatusNow();
      void this.#readHistory();
    } else this.#dispatch({ kind: 'closed' });
    this.#handleChange();
  }

  requestStatusNow(): void {
    if (this.#state.loggedOut) return;
    this.#isStatusNeeded = true;
    this.#schedule();
  }

  /** Requests the status, even if the user was logged out. */
  refresh(): void {
    // A request that is still pending may not contain the current login.
    if (this.#state.answeredAt === null) this.#endSession();
    this.#isStatusNeeded = true;
    this.#schedule();
  }

  async checkForReleases(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#dispatch({ kind: 'acknowledged' });
    await this.#readStatus(true);
    this.#isChecking = false;
    this.#handleChange();
  }

  /**
   * Starts an update. Until the response arrives, the dialog has no start button (docs/contract.md 10.3).
   * @param end - id of the run that is being retried; its result is dismissed once the server has started or refused
   * the update
   */
  async start(order: UpdateRequestBody, end: string | null = null): Promise<void> {
    this.#dispatch({ kind: 'pressed', to: order.target });
    const response = await this.#client.startUpdate(order, this.#sessionAbort);
    const refusal =
      response.kind === 'problem' && response.problem.status === 409 ? response.problem.reason : undefined;
    if (end !== null && (response.kind === 'ok' || refusal)) this.dismissedRuns.add(end);
    if (refusal) {
      this.#dispatch({ kind: 'in-the-way', reason: refusal });
      // Only a new status contains the run that is already in progress.
      if (refusal.code === 'update-running') this.requestStatusNow();
    } else await this.#applyStart(response, (problem) => ({ kind: 'not-started', problem }));
  }

  /** Starts a rehearsal. Only the status contains its progress. */
  async rehearse(order: RehearsalRequestBody): Promise<void> {
    const response = await this.#client.startRehearsal(order, this.#sessionAbort);
    if (response.kind === 'problem') this.#dispatch({ kind: 'not-started', problem: response.problem });
    this.requestStatusNow();
  }

  async cancelRehearsal(): Promise<void> {
    await this.#client.cancelRehearsal(this.#sessionAbort);
    this.requestStatusNow();
  }

  /**
   * Requests what a rollback would restore, or why it is not possible. The response is ignored if the user has left the
   * view in the meantime.
   */
  async checkRollback(to: string): Promise<void> {
    const asking: RollbackRequestState = { kind: 'asking', to, since: performance.now() };
    this.#dispatch({ kind: 'rollback', rollback: asking });
    const response = await this.#client.fetchRollbackOffer(this.#sessionAbort);
    const { rollback } = this.#state;
    if (rollback?.kind !== 'asking' || rollback.since !== asking.since) return;
    if (response.kind === 'ok')
      this.#dispatch({ kind: 'rollback', rollback: { kind: 'offer', offer: response.value } });
    else if (response.kind === 'logged-out') this.#dispatch({ kind: 'unheard', refused: response });
    else this.#dispatch(createRejectedRollback(to)(response.kind === 'problem' ? response.problem : null));
  }

  /** Starts a rollback. Until the response arrives, the dialog has no start button. */
  async rollback(order: RollbackRequestBody): Promise<void> {
    const { confirm: to } = order;
    this.#dispatch({ kind: 'pressed', to, isRollback: true });
    const response = await this.#client.startRollback(order, this.#sessionAbort);
    await this.#applyStart(response, createRejectedRollback(to));
  }

  /**
   * Handles the response to a start or rollback request.
   * @param refused - creates the action for a failure; `problem` is null if the connection was lost
   */
  async #applyStart(
    response: RequestResult<ToldRun>,
    refused: (problem: Problem | null) => PageAction,
  ): Promise<void> {
    if (this.#state.loggedOut) return;
    if (response.kind === 'ok') {
      this.#dispatch({ kind: 'run', run: response.value });
      this.#dispatch({ kind: 'acknowledged' });
    } else if (response.kind === 'logged-out') {
      this.#dispatch({ kind: 'acknowledged' });
      this.#dispatch({ kind: 'unheard', refused: response });
    } else if (response.kind === 'problem') this.#dispatch(refused(response.problem));
    else if (await this.#hasNotStarted()) this.#dispatch(refused(null));
    else this.#dispatch({ kind: 'acknowledged' });
  }

  async cancel(): Promise<void> {
    const answer = await this.#client.cancelRun(this.#sessionAbort);
    if (answer.kind === 'ok') {
      this.#dispatch({ kind: 'run', run: answer.value });
      // Between two updates of an upgrade path, a cancellation drops the remaining updates. Only the status reports
      // this, so request the status.
      if (answer.value.outcome !== null) await this.#readStatus(false);
    } else if (answer.kind === 'problem') this.#dispatch({ kind: 'cancel-refused', problem: answer.problem });
    else if (answer.kind === 'logged-out') this.#dispatch({ kind: 'unheard', refused: answer });
    // The response was lost. Even if the stream is still open, only a status request shows whether the server is
    // available.
    else this.requestStatusNow();
  }

  async setChannel(channel: string): Promise<RequestResult<Status | NonAdminStatus>> {
    return this.#applyStatus(await this.#client.setChannel(channel, this.#sessionAbort));
  }

  async setAutomatic(choice: AutomaticUpdatesRequestBody): Promise<RequestResult<Status | NonAdminStatus>> {
    return this.#applyStatus(await this.#client.setAutomatic(choice, this.#sessionAbort));
  }

  #applyStatus(response: RequestResult<Status | NonAdminStatus>): RequestResult<Status | NonAdminStatus> {
    if (response.kind === 'ok') this.#dispatch({ kind: 'status', status: response.value });
    if (response.kind === 'logged-out') this.#dispatch({ kind: 'unheard', refused: response });
    return response;
  }

  async skip(version: string | null): Promise<void> {
    const response = this.#applyStatus(await this.#client.skipRelease(version, this.#sessionAbort));
    // The request failed, but the server may have processed it. The next status shows whether the version is skipped.
    if (response.kind !== 'ok') this.requestStatusNow();
  }

  dismiss(id: string): void {
    this.dismissedRuns.add(id);
    this.#handleChange();
  }

  /**
   * Called when the response to a start request was lost. Resolves with true if a new status shows that no run has
   * started.
   */
  async #hasNotStarted(): Promise<boolean> {
    const before = this.#state.watched?.id;
    const response = await this.#readStatus(false);
    const { watched } = this.#state;
    return response.kind === 'ok' && (watched === null || watched.id === before);
  }

  #dispatch(action: PageAction): void {
    const before = this.#state;
    this.#state = reducePageState(before, action, performance.now());
    const { loggedOut } = this.#state;
    if (loggedOut && !before.loggedOut) {
      this.#endSession();
      // A rollback may end the session of its user, who sees its result after the next login.
      if (before.watched) storeReloadHandover(() => sessionStorage, { run: before.watched.id, queued: 0 });
    }
    const hasEnded = findRunInProgress(before) !== null && findRunInProgress(this.#state) === null;
    // The next status contains the running version and the update's downtime.
    this.#isStatusNeeded ||= hasEnded && !loggedOut;
    if (this.isDialogOpen && !loggedOut && (hasEnded || before.loggedOut)) void this.#readHistory();
    this.#handleChange();
  }

  #endSession(): void {
    this.#sessionAbort.abort();
    this.#sessionAbort = new AbortController();
    this.#isRequestPending = false;
    this.logLines = new RunLogLines(this.#client);
  }

  #handleChange(): void {
    for (const listener of this.#listeners) listener();
    this.#schedule();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const run = findRunInProgress(this.#state);
    const { askAt, follow } = planRequests({
      isVisible: this.#listeners.size > 0 && document.visibilityState !== 'hidden',
      isDialogOpen: this.isDialogOpen && !this.#state.loggedOut,
      hasServerResponse: this.#state.answeredAt !== null || this.#state.loggedOut,
      runInProgressId: run?.id ?? (this.#state.isUpdating || findPendingStep(this.#state) ? '' : null),
      isRequestPending: this.#isRequestPending,
      requestedAt: this.#requestedAt,
      isStatusNeeded: this.#isStatusNeeded,
    });
    if (this.#following?.id !== follow) {
      this.#following?.end.abort();
      this.#following = null;
      if (follow !== null) void this.#follow(follow);
    }
    if (askAt === null) return;
    const pause = askAt - performance.now();
    if (pause <= 0) void this.#readStatus(false);
    else this.#timer = setTimeout(() => this.#schedule(), pause);
  }

  async #readStatus(refresh: boolean): Promise<RequestResult<Status | NonAdminStatus>> {
    this.#isRequestPending = true;
    this.#isStatusNeeded = false;
    this.#requestedAt = performance.now();
    const { status } = this.#state;
    // Release notes are long and shown only in a dialog, so they are requested only once for each available release.
    const hasNotes = status !== null && (status.next === null || (status.releases ?? []).length > 0);
    const notes = this.isDialogOpen && (refresh || !hasNotes);
    const sessionAbort = this.#sessionAbort;
    const response = await this.#client.fetchStatus({ refresh, notes, signal: sessionAbort.signal });
    if (sessionAbort !== this.#sessionAbort) return response;
    this.#isRequestPending = false;
    if (response.kind === 'ok') {
      this.#dispatch({ kind: 'status', status: response.value });
      await this.#findWatched();
    } else this.#dispatch({ kind: 'unheard', refused: response });
    return response;
  }

  /** Searches the history for the watched run if it is no longer the last run in the status. */
  async #findWatched(): Promise<void> {
    const { watched, status } = this.#state;
    const isMissing = watched !== null && watched.outcome === null && status?.run?.id !== watched.id;
    // While the page reads the event stream of the run, the stream reports the state of the run. So the history is not
    // needed.
    if (!isMissing || status === null || this.#following !== null) {
      this.#missingSince = null;
      return;
    }
    await this.#readHistory();
    if (this.#state.watched?.outcome !== null) return;
    this.#missingSince ??= performance.now();
    if (performance.now() - this.#missingSince >= missingRunToleranceMs - shortPollIntervalMs / 2)
      this.#dispatch({ kind: 'unknown' });
  }

  async #readHistory(): Promise<void> {
    const response = await this.#client.fetchPastRuns(this.#sessionAbort);
    if (response.kind === 'ok') this.#dispatch({ kind: 'history', runs: response.value });
  }

  async #follow(id: string): Promise<void> {
    const end = new AbortController();
    this.#following = { id, end };
    const { signal } = end;
    for await (const news of followRun(this.#client, {
      runId: id,
      signal,
      timing: { poll: shortPollIntervalMs },
    })) {
      if (signal.aborted) return;
      if (news.kind === 'line') this.logLines.add(id, news.line);
      else this.#dispatch(news);
    }
    if (signal.aborted) return;
    this.#following = null;
    this.requestStatusNow();
  }
}
