import { escapeUnprintable, mapJsonStrings } from '../../core/text/plain-text.ts';
import { isAdminStatus, type NonAdminStatus, type Problem } from '../../wire/api-client/parse-responses.ts';
import type { FailedResult } from '../../wire/api-client/request-result.ts';
import type { RunFollowEvent } from '../../wire/api-client/run-follow-events.ts';
import { canProductBeUnavailable } from '../../wire/derived/phase-rows.ts';
import type { BlockingJob, Reason, RollbackOffer, Run, Status, ToldRun } from '../../wire/status.ts';
import { type ServerClock, syncServerClock } from './server-clock.ts';

/** Value of `performance.now()` in milliseconds. */
type PageTimeMs = number;

interface Outage {
  since: PageTimeMs;
  /**
   * Time of the first 2xx response that another program, such as a proxy, sent instead of the server. Null if there was
   * no such response.
   */
  pageSince: PageTimeMs | null;
}

export type StartRequestState =
  /** The start or rollback request has been sent, and its response is pending. */
  | { kind: 'pressed'; to: string | null; isRollback?: boolean }
  /** The start request failed. `problem` is the server's response, or null if the connection was lost. */
  | { kind: 'not-started'; problem: Problem | null };

export type RollbackRequestState =
  | { kind: 'asking'; to: string; since: PageTimeMs }
  | { kind: 'offer'; offer: RollbackOffer }
  /** The rollback request, or the check before it, has failed. `problem` is null if the connection was lost. */
  | { kind: 'refused'; to: string; problem: Problem | null };

/** Never mutated: each action creates a new state. */
export interface PageState {
  /** Status for admins; null before the first response and for all other users. */
  status: Status | null;
  /** Running version; the server sends it to all users. */
  version: string | null;
  isUpdating: boolean;
  /** Running version in the previous response. */
  versionBefore: string | null;
  answeredAt: PageTimeMs | null;
  clock: ServerClock | null;
  loggedOut: boolean;
  outage: Outage | null;
  /** Latest known state of the last run that this page has seen in progress. */
  watched: Run | null;
  /** Time at which the page received the result of the watched run. */
  watchedEndedAt: PageTimeMs | null;
  /** Whether the server has no record of the watched run. */
  isWatchedUnknown: boolean;
  start: StartRequestState | null;
  rollback: RollbackRequestState | null;
  /** Problem document from a refused cancellation. */
  cancelProblem: Problem | null;
  history: readonly Run[] | null;
  /** Number of queued jobs when the update started; if no update is in progress, the current number. */
  queued: number;
}

export const initialPageState: PageState = {
  status: null,
  version: null,
  isUpdating: false,
  versionBefore: null,
  answeredAt: null,
  clock: null,
  loggedOut: false,
  outage: null,
  watched: null,
  watchedEndedAt: null,
  isWatchedUnknown: false,
  start: null,
  rollback: null,
  cancelProblem: null,
  history: null,
  queued: 0,
};

export type PageAction =
  /**
   * Events of a run, without log lines. `unheard` is dispatched for every failed request, even if no run is followed.
   */
  | Exclude<RunFollowEvent, { kind: 'line' }>
  | { kind: 'status'; status: Status | NonAdminStatus }
  | { kind: 'history'; runs: readonly Run[] }
  | { kind: 'pressed'; to: string | null; isRollback?: boolean }
  /** The server rejected the start request with HTTP status 409 because of `reason`. */
  | { kind: 'in-the-way'; reason: Reason }
  | { kind: 'not-started'; problem: Problem | null }
  | { kind: 'cancel-refused'; problem: Problem }
  | { kind: 'rollback'; rollback: RollbackRequestState }
  /** The dialog stops showing the responses to start, rollback and cancellation requests. */
  | { kind: 'acknowledged' }
  | { kind: 'closed' };

export function reducePageState(state: PageState, action: PageAction, at: PageTimeMs): PageState {
  // After a logout, only a status shows that a user has logged in, who may not see anything of the last one.
  if (state.loggedOut && action.kind !== 'status' && action.kind !== 'unheard') return state;
  const answered = { ...state, loggedOut: false, outage: null };
  switch (action.kind) {
    case 'status':
      return applyStatus(answered, escapeTexts(action.status), at);
    case 'run':
      return applyServerRun(answered, escapeTexts(action.run), at);
    case 'heard':
      return answered;
    case 'unheard':
      return applyFailedRequest(state, action.refused, at);
    case 'unknown':
      return { ...answered, isWatchedUnknown: true };
    case 'history':
      return applyHistory({ ...answered, history: escapeTexts(action.runs) }, at);
    case 'pressed':
      return { ...state, start: action, rollback: null };
    case 'in-the-way':
      return {
        ...state,
        start: null,
        status: state.status && { ...state.status, canUpdate: false, reason: escapeTexts(action.reason) },
        queued: countQueuedJobs(action.reason.jobs),
      };
    case 'not-started':
      return { ...state, start: escapeTexts(action) };
    case 'cancel-refused':
      return { ...state, cancelProblem: escapeTexts(action.problem) };
    case 'rollback':
      return { ...state, start: null, rollback: escapeTexts(action.rollback) };
    case 'acknowledged':
      return { ...state, start: null, rollback: null, cancelProblem: null };
    case 'closed':
      // A start request remains pending even if the dialog is closed and opened again.
      return {
        ...state,
        start: isStartRequestPending(state) ? state.start : null,
        rollback: null,
        cancelProblem: null,
      };
  }
}

/**
 * Escapes characters in the server's texts that could hide or reverse other text. Line breaks and tabs remain, because
 * release notes need them.
 */
const escapeTexts = <T>(value: T): T =>
  mapJsonStrings(value, (text) => text.replace(/(?:(?!\r\n)[^\n\t])+/g, (piece) => escapeUnprintable(piece)));

function applyStatus(state: PageState, status: Status | NonAdminStatus, at: PageTimeMs): PageState {
  const { version } = status;
  const common = { ...state, version, versionBefore: state.version, answeredAt: at };
  if (!isAdminStatus(status)) return { ...common, status: null, isUpdating: status.updating };
  const kept = state.status?.releases?.[0]?.version === status.next?.version ? state.status?.releases : [];
  const next: PageState = {
    ...common,
    clock: syncServerClock(status.now, at, state.clock),
    status: { ...status, releases: status.releases ?? kept },
    isUpdating: isRunInProgress(status.run),
    // During an update, keep the number of jobs that were queued when it started. The page shows this number after the
    // reload.
    queued:
      isRunInProgress(status.run) || state.watched?.outcome === 'updated'
        ? state.queued
        : countQueuedJobs(status.reason?.jobs),
  };
  if (status.run === null) return next;
  // The next step of an upgrade path may start and end between two requests. So accept its run even if the page has
  // never seen the run in progress.
  return applyRun(next, status.run, at, state.status?.pendingStep?.to === status.run.to);
}

/** While a start or rollback request is pending, no button may send another request. */
export const isStartRequestPending = ({ start }: PageState): boolean => start?.kind === 'pressed';
export const isRunInProgress = (run: Run | null | undefined): run is Run & { outcome: null } =>
  run?.outcome === null;
const countQueuedJobs = (jobs: readonly BlockingJob[] = []): number =>
  jobs.filter(({ state }) => state === 'queued').length;

function applyServerRun(state: PageState, run: ToldRun, at: PageTimeMs): PageState {
  const next = applyRun({ ...state, clock: syncServerClock(run.now, at, state.clock) }, run, at);
  const hasBeenUpdated = isRunInProgress(state.watched) && next.watched?.outcome === 'updated';
  // Set the new version although the server has not reported it yet, because the old version no longer runs.
  return hasBeenUpdated ? { ...next, version: run.to ?? next.version } : next;
}

/**
 * @param isAwaited - whether the page expected this run, which is then accepted even if the page never saw it in
 * progress
 */
function applyRun(state: PageState, run: Run, at: PageTimeMs, isAwaited = false): PageState {
  const { watched, status, start } = state;
  const isOn = isRunInProgress(run);
  const seen = { ...state, watched: run, isWatchedUnknown: false, isUpdating: isOn };
  if (watched?.id !== run.id) {
    if (!isOn && !isAwaited) return state;
    // A different run has started, so the responses to earlier start and cancellation requests no longer apply.
    const isOld = start?.kind === 'not-started';
    const watchedEndedAt = isOn ? null : at;
    return { ...seen, watchedEndedAt, cancelProblem: null, rollback: null, start: isOld ? null : start };
  }
  // Do not set a completed run back to in progress: a server that has just started may report an old state. Only a
  // crashed run may continue, because its updater may start again.
  if (isOn && watched.outcome !== null && watched.outcome !== 'crashed') return state;
  return {
    ...seen,
    watchedEndedAt: isOn ? null : (state.watchedEndedAt ?? at),
    status: status?.run?.id === run.id ? { ...status, run } : status,
    cancelProblem: isOn ? state.cancelProblem : null,
  };
}

function applyHistory(state: PageState, at: PageTimeMs): PageState {
  const { watched, history } = state;
  const found = history?.find(({ id }) => id === watched?.id);
  return found && !isRunInProgress(found) && isRunInProgress(watched) ? applyRun(state, found, at) : state;
}

function applyFailedRequest(state: PageState, refused: FailedResult, at: PageTimeMs): PageState {
  const { since = at, pageSince = null } = state.outage ?? {};
  if (refused.kind === 'logged-out') {
    const isReplaced = isRunInProgress(state.watched) && canProductBeUnavailable(state.watched);
    if (isReplaced && refused.status !== 401 && at - since < redirectToleranceMs)
      return { ...state, outage: { since, pageSince } };
    return { ...initialPageState, loggedOut: true };
  }
  // A problem document shows that the server is available.
  if (refused.kind === 'problem') return { ...state, loggedOut: false, outage: null };
  if (state.loggedOut) return state;
  const { why } = refused;
  const isPage = why.what === 'other' && why.status >= 200 && why.status < 300;
  return { ...state, outage: { since, pageSince: isPage ? (pageSince ?? at) : null } };
}

/** Time in ms for which a proxy may redirect to its login page because the product restarts. */
const redirectToleranceMs = 30_000;
