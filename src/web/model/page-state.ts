import type { Refused } from '../../wire/reader-answer.ts';
import { isForAdmins, type Problem, type UserStatus } from '../../wire/reader-shapes.ts';
import type { JobInTheWay, Reason, Run, Status, ToldRun } from '../../wire/status.ts';
import { readClock, type ServerClock } from './ages.ts';
import { clean } from './clean.ts';

/** Times are milliseconds of the page's counter, `performance.now()`. */
type Moment = number;

/** That svc does not answer. */
export interface Absence {
  since: Moment;
  /** Since when a page that is no error answers in its place. */
  pageSince: Moment | null;
}

/** What the person at this page has asked for. */
export type Start =
  /** An update is asked for, and not answered yet. */
  | { kind: 'pressed'; to: string | null; at: Moment }
  /** It was not accepted; `problem` is null where its answer was lost. */
  | { kind: 'not-started'; problem: Problem | null };

/** All that a page knows. It is never changed in place. */
export interface PageState {
  /** For admins. */
  status: Status | null;
  /** For everybody. */
  version: string | null;
  isUpdating: boolean;
  /** The version of the answer before the last one. */
  versionBefore: string | null;
  answeredAt: Moment | null;
  clock: ServerClock | null;
  loggedOut: boolean;
  absence: Absence | null;
  /** The last run that this page has seen open, as it is by now. */
  watched: Run | null;
  /** When its end was action. */
  watchedEndedAt: Moment | null;
  /** svc says that it knows nothing of it. */
  isWatchedUnknown: boolean;
  start: Start | null;
  /** The answer to a cancellation that is not possible. */
  cancelProblem: Problem | null;
  history: readonly Run[] | null;
  /** Jobs that were queued when the last update was begun, or now where none is on. */
  queued: number;
}

export const initialState: PageState = {
  status: null,
  version: null,
  isUpdating: false,
  versionBefore: null,
  answeredAt: null,
  clock: null,
  loggedOut: false,
  absence: null,
  watched: null,
  watchedEndedAt: null,
  isWatchedUnknown: false,
  start: null,
  cancelProblem: null,
  history: null,
  queued: 0,
};

export type Action =
  | { kind: 'status'; status: Status | UserStatus }
  | { kind: 'run'; run: ToldRun }
  | { kind: 'heard' }
  | { kind: 'refused'; refused: Refused }
  | { kind: 'run-unknown' }
  | { kind: 'history'; runs: readonly Run[] }
  | { kind: 'pressed'; to: string | null }
  /** A start was answered by 409. */
  | { kind: 'in-the-way'; reason: Reason }
  | { kind: 'not-started'; problem: Problem | null }
  | { kind: 'cancel-refused'; problem: Problem }
  /** What was said of the person's own act has been read. */
  | { kind: 'acknowledged' };

/** What a page knows after it was told something. */
export function reduce(state: PageState, action: Action, at: Moment): PageState {
  switch (action.kind) {
    case 'status':
      return withStatus({ ...state, ...answered }, clean(action.status), at);
    case 'run':
      return withToldRun(state, clean(action.run), at);
    case 'heard':
      return { ...state, ...answered };
    case 'refused':
      return withRefusal(state, action.refused, at);
    case 'run-unknown':
      return { ...state, ...answered, isWatchedUnknown: true };
    case 'history':
      return withHistory({ ...state, ...answered, history: clean(action.runs) }, at);
    case 'pressed':
      return { ...state, start: { kind: 'pressed', to: action.to, at } };
    case 'in-the-way':
      return {
        ...state,
        start: null,
        status: state.status && { ...state.status, canUpdate: false, reason: clean(action.reason) },
        queued: queuedIn(action.reason.jobs),
      };
    case 'not-started':
      return { ...state, start: { kind: 'not-started', problem: clean(action.problem) } };
    case 'cancel-refused':
      return { ...state, cancelProblem: clean(action.problem) };
    case 'acknowledged':
      return { ...state, start: null, cancelProblem: null };
  }
}

const answered = { loggedOut: false, absence: null };

function withStatus(state: PageState, status: Status | UserStatus, at: Moment): PageState {
  const { version } = status;
  const common = { ...state, version, versionBefore: state.version, answeredAt: at };
  if (!isForAdmins(status)) return { ...common, status: null, isUpdating: status.updating };
  const kept = state.status?.releases?.[0]?.version === status.next?.version ? state.status?.releases : [];
  const next: PageState = {
    ...common,
    clock: readClock(status.now, at, state.clock),
    status: { ...status, releases: status.releases ?? kept },
    isUpdating: status.run !== null && status.run.outcome === null,
    // After an update it is still told how many there were.
    queued:
      isOpen(status.run) || state.watched?.outcome === 'updated'
        ? state.queued
        : queuedIn(status.reason?.jobs),
  };
  return status.run === null ? next : withRun(next, status.run, at);
}

const isOpen = (run: Run | null): boolean => run !== null && run.outcome === null;
const queuedIn = (jobs: readonly JobInTheWay[] = []): number =>
  jobs.filter(({ state }) => state === 'queued').length;

function withToldRun(state: PageState, run: ToldRun, at: Moment): PageState {
  const next = withRun({ ...state, ...answered, clock: readClock(run.now, at, state.clock) }, run, at);
  const hasBeenUpdated = isOpen(state.watched) && next.watched?.outcome === 'updated';
  // What the server runs is asked next, and so long the version before is no longer true.
  return hasBeenUpdated ? { ...next, version: run.to ?? next.version } : next;
}

function withRun(state: PageState, run: Run, at: Moment): PageState {
  const { watched, status } = state;
  const isOn = run.outcome === null;
  if (watched === null || watched.id !== run.id) {
    if (!isOn) return state;
    // Another run is on: it is the one to watch.
    return { ...state, watched: run, watchedEndedAt: null, isWatchedUnknown: false, ...started(state) };
  }
  // A server that has just begun may still be reading what it told before; what was judged crashed may go on.
  if (isOn && watched.outcome !== null && watched.outcome !== 'crashed') return state;
  return {
    ...state,
    watched: run,
    watchedEndedAt: isOn ? null : (state.watchedEndedAt ?? at),
    isWatchedUnknown: false,
    isUpdating: isOn,
    status: status && status.run?.id === run.id ? { ...status, run } : status,
    ...(isOn ? {} : { cancelProblem: null }),
  };
}

/** A run has begun: whatever was said of starting one is out of date. */
const started = ({ start }: PageState) => ({
  isUpdating: true,
  cancelProblem: null,
  start: start?.kind === 'not-started' ? null : start,
});

function withHistory(state: PageState, at: Moment): PageState {
  const { watched, history } = state;
  const found = history?.find(({ id }) => id === watched?.id);
  return found && found.outcome !== null && watched?.outcome === null ? withRun(state, found, at) : state;
}

function withRefusal(state: PageState, refused: Refused, at: Moment): PageState {
  if (refused.kind === 'logged-out') return { ...state, loggedOut: true, absence: null };
  // It answers, though with an error of its own.
  if (refused.kind === 'problem') return { ...state, ...answered };
  const { why } = refused;
  const isPage = why.what === 'other' && why.status >= 200 && why.status < 300;
  const { since = at, pageSince = null } = state.absence ?? {};
  return {
    ...state,
    loggedOut: false,
    absence: { since, pageSince: isPage ? (pageSince ?? at) : null },
  };
}
