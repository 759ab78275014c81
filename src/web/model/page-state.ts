import { escapeUnprintable, mapTexts } from '../../core/text/plain-text.ts';
import { isAdminStatus, type Problem, type UserStatus } from '../../wire/api-client/parse-responses.ts';
import type { FailedResult } from '../../wire/api-client/request-result.ts';
import type { RunFollowEvent } from '../../wire/api-client/run-follow-events.ts';
import type { BlockingJob, Reason, RollbackOffer, Run, Status, ToldRun } from '../../wire/status.ts';
import { advanceServerClock, type ServerClock } from './server-clock.ts';

/** A time as the value of the page's counter `performance.now()` in milliseconds. */
type Moment = number;

/** An outage, during which the server does not respond. */
interface Outage {
  since: Moment;
  /**
   * Time of the first successful response from another sender than the server, such as a proxy; null if there is none.
   */
  pageSince: Moment | null;
}

/** State of a start request that was sent from this page. */
export type StartRequestState =
  /** The request has been sent, and the response is pending. */
  | { kind: 'pressed'; to: string | null; isRollback?: boolean }
  /** The start request was not accepted. `problem` is null if the connection was lost. */
  | { kind: 'not-started'; problem: Problem | null };

/** State of a rollback that was requested on this page. */
export type RollbackRequestState =
  | { kind: 'asking'; to: string; since: Moment }
  | { kind: 'offer'; offer: RollbackOffer }
  /** The server refused the request for the offer or for the rollback. `problem` is null if the connection was lost. */
  | { kind: 'refused'; to: string; problem: Problem | null };

/** Immutable state of a page. */
export interface PageState {
  /** Status from the server; null if the user is not an admin. */
  status: Status | null;
  /** Running version, which all users receive. */
  version: string | null;
  isUpdating: boolean;
  /** Version in the response before the last response. */
  versionBefore: string | null;
  answeredAt: Moment | null;
  clock: ServerClock | null;
  loggedOut: boolean;
  outage: Outage | null;
  /** Latest state of the watched run: the last run that this page has seen in progress. */
  watched: Run | null;
  /** Time at which the page received the result of the watched run. */
  watchedEndedAt: Moment | null;
  /** Whether the server has no record of the watched run. */
  isWatchedUnknown: boolean;
  start: StartRequestState | null;
  rollback: RollbackRequestState | null;
  /** Problem document of a refused cancellation. */
  cancelProblem: Problem | null;
  history: readonly Run[] | null;
  /** Number of queued jobs at the start of the update. If no update is in progress, the current number. */
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
  /** Events of a run, and responses to other requests. Log lines are not part of the state. */
  | Exclude<RunFollowEvent, { kind: 'line' }>
  | { kind: 'status'; status: Status | UserStatus }
  | { kind: 'history'; runs: readonly Run[] }
  | { kind: 'pressed'; to: string | null; isRollback?: boolean }
  /** The start request was rejected with status 409, and `reason` explains what prevents the start. */
  | { kind: 'in-the-way'; reason: Reason }
  | { kind: 'not-started'; problem: Problem | null }
  | { kind: 'cancel-refused'; problem: Problem }
  | { kind: 'rollback'; rollback: RollbackRequestState }
  /** The responses to the start, rollback and cancellation requests need no longer be shown. */
  | { kind: 'acknowledged' }
  | { kind: 'closed' };

export function reducePageState(state: PageState, action: PageAction, at: Moment): PageState {
  const answered = { ...state, loggedOut: false, outage: null };
  switch (action.kind) {
    case 'status':
      return withStatus(answered, clean(action.status), at);
    case 'run':
      return withToldRun(answered, clean(action.run), at);
    case 'heard':
      return answered;
    case 'unheard':
      return withRefusal(state, action.refused, at);
    case 'unknown':
      return { ...answered, isWatchedUnknown: true };
    case 'history':
      return withHistory({ ...answered, history: clean(action.runs) }, at);
    case 'pressed':
      return { ...state, start: action, rollback: null };
    case 'in-the-way':
      return {
        ...state,
        start: null,
        status: state.status && { ...state.status, canUpdate: false, reason: clean(action.reason) },
        queued: queuedIn(action.reason.jobs),
      };
    case 'not-started':
      return { ...state, start: clean(action) };
    case 'cancel-refused':
      return { ...state, cancelProblem: clean(action.problem) };
    case 'rollback':
      return { ...state, start: null, rollback: clean(action.rollback) };
    case 'acknowledged':
      return { ...state, start: null, rollback: null, cancelProblem: null };
    case 'closed':
      // A start request whose response is pending is kept, even if the dialog was closed and opened again.
      return {
        ...state,
        start: isStartPending(state) ? state.start : null,
        rollback: null,
        cancelProblem: null,
      };
  }
}

/**
 * Escapes all characters in the server's texts that could hide or reverse other text. Line breaks and tabs remain,
 * because release notes need them.
 */
const clean = <T>(value: T): T =>
  mapTexts(value, (text) => text.replace(/(?:(?!\r\n)[^\n\t])+/g, (piece) => escapeUnprintable(piece)));

function withStatus(state: PageState, status: Status | UserStatus, at: Moment): PageState {
  const { version } = status;
  const common = { ...state, version, versionBefore: state.version, answeredAt: at };
  if (!isAdminStatus(status)) return { ...common, status: null, isUpdating: status.updating };
  const kept = state.status?.releases?.[0]?.version === status.next?.version ? state.status?.releases : [];
  const next: PageState = {
    ...common,
    clock: advanceServerClock(status.now, at, state.clock),
    status: { ...status, releases: status.releases ?? kept },
    isUpdating: isRunInProgress(status.run),
    // The page shows this number of queued jobs after the reload.
    queued:
      isRunInProgress(status.run) || state.watched?.outcome === 'updated'
        ? state.queued
        : queuedIn(status.reason?.jobs),
  };
  if (status.run === null) return next;
  // The page expects the next step of an upgrade path but may not see it in progress, because it may start and end
  // between two requests.
  return withRun(next, status.run, at, state.status?.pendingStep?.to === status.run.to);
}

/**
 * Checks whether the response to a start or rollback request is pending. Until it arrives, no button may send another
 * request.
 */
export const isStartPending = ({ start }: PageState): boolean => start?.kind === 'pressed';
/** Checks whether a run is in progress. */
export const isRunInProgress = (run: Run | null | undefined): run is Run & { outcome: null } =>
  run?.outcome === null;
const queuedIn = (jobs: readonly BlockingJob[] = []): number =>
  jobs.filter(({ state }) => state === 'queued').length;

function withToldRun(state: PageState, run: ToldRun, at: Moment): PageState {
  const next = withRun({ ...state, clock: advanceServerClock(run.now, at, state.clock) }, run, at);
  const hasBeenUpdated = isRunInProgress(state.watched) && next.watched?.outcome === 'updated';
  // The new version is set now, although the server has not reported it yet, because the old version is outdated.
  return hasBeenUpdated ? { ...next, version: run.to ?? next.version } : next;
}

/**
 * Adds a run to the state.
 * @param isAwaited whether the page expected the run, so that the run is accepted even if it was never seen in progress
 */
function withRun(state: PageState, run: Run, at: Moment, isAwaited = false): PageState {
  const { watched, status, start } = state;
  const isOn = isRunInProgress(run);
  const seen = { ...state, watched: run, isWatchedUnknown: false, isUpdating: isOn };
  if (watched?.id !== run.id) {
    if (!isOn && !isAwaited) return state;
    // Another run has started, so the response to an earlier start request or cancellation is outdated.
    const isOld = start?.kind === 'not-started';
    const watchedEndedAt = isOn ? null : at;
    return { ...seen, watchedEndedAt, cancelProblem: null, rollback: null, start: isOld ? null : start };
  }
  // A run in progress is ignored if its result is already known, because a server that has just started may still
  // report an older state. Only a run that was reported as crashed may be in progress again.
  if (isOn && watched.outcome !== null && watched.outcome !== 'crashed') return state;
  return {
    ...seen,
    watchedEndedAt: isOn ? null : (state.watchedEndedAt ?? at),
    status: status?.run?.id === run.id ? { ...status, run } : status,
    cancelProblem: isOn ? state.cancelProblem : null,
  };
}

function withHistory(state: PageState, at: Moment): PageState {
  const { watched, history } = state;
  const found = history?.find(({ id }) => id === watched?.id);
  return found && !isRunInProgress(found) && isRunInProgress(watched) ? withRun(state, found, at) : state;
}

function withRefusal(state: PageState, refused: FailedResult, at: Moment): PageState {
  if (refused.kind === 'logged-out') return { ...state, loggedOut: true, outage: null };
  // A problem document from the server shows that the server is available.
  if (refused.kind === 'problem') return { ...state, loggedOut: false, outage: null };
  const { why } = refused;
  const isPage = why.what === 'other' && why.status >= 200 && why.status < 300;
  const { since = at, pageSince = null } = state.outage ?? {};
  return { ...state, loggedOut: false, outage: { since, pageSince: isPage ? (pageSince ?? at) : null } };
}
