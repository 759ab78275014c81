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
export type Act =
  /** An update is asked for, and not answered yet. */
  | { kind: 'pressed'; to: string | null; at: Moment }
  /** It was not accepted; `problem` is null where its answer was lost. */
  | { kind: 'not-started'; problem: Problem | null };

/** All that a page knows. It is never changed in place. */
export interface Session {
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
  /** When its end was told. */
  watchedEndedAt: Moment | null;
  /** svc says that it knows nothing of it. */
  isWatchedUnknown: boolean;
  act: Act | null;
  /** The answer to a cancellation that is not possible. */
  cancelProblem: Problem | null;
  history: readonly Run[] | null;
  /** Jobs that were queued when the last update was begun, or now where none is on. */
  queued: number;
}

export const freshSession: Session = {
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
  act: null,
  cancelProblem: null,
  history: null,
  queued: 0,
};

export type Told =
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
  | { kind: 'act-read' };

/** What a page knows after it was told something. */
export function hear(session: Session, told: Told, at: Moment): Session {
  switch (told.kind) {
    case 'status':
      return withStatus({ ...session, ...heard }, clean(told.status), at);
    case 'run':
      return withTold(session, clean(told.run), at);
    case 'heard':
      return { ...session, ...heard };
    case 'refused':
      return withRefusal(session, told.refused, at);
    case 'run-unknown':
      return { ...session, ...heard, isWatchedUnknown: true };
    case 'history':
      return withHistory({ ...session, ...heard, history: clean(told.runs) }, at);
    case 'pressed':
      return { ...session, act: { kind: 'pressed', to: told.to, at } };
    case 'in-the-way':
      return {
        ...session,
        act: null,
        status: session.status && { ...session.status, canUpdate: false, reason: clean(told.reason) },
        queued: queuedIn(told.reason.jobs),
      };
    case 'not-started':
      return { ...session, act: { kind: 'not-started', problem: clean(told.problem) } };
    case 'cancel-refused':
      return { ...session, cancelProblem: clean(told.problem) };
    case 'act-read':
      return { ...session, act: null, cancelProblem: null };
  }
}

const heard = { loggedOut: false, absence: null };

function withStatus(session: Session, status: Status | UserStatus, at: Moment): Session {
  const { version } = status;
  const common = { ...session, version, versionBefore: session.version, answeredAt: at };
  if (!isForAdmins(status)) return { ...common, status: null, isUpdating: status.updating };
  const kept =
    session.status?.releases?.[0]?.version === status.next?.version ? session.status?.releases : [];
  const next: Session = {
    ...common,
    clock: readClock(status.now, at, session.clock),
    status: { ...status, releases: status.releases ?? kept },
    isUpdating: status.run !== null && status.run.outcome === null,
    // After an update it is still told how many there were.
    queued:
      isOpen(status.run) || session.watched?.outcome === 'updated'
        ? session.queued
        : queuedIn(status.reason?.jobs),
  };
  return status.run === null ? next : withRun(next, status.run, at);
}

const isOpen = (run: Run | null): boolean => run !== null && run.outcome === null;
const queuedIn = (jobs: readonly JobInTheWay[] = []): number =>
  jobs.filter(({ state }) => state === 'queued').length;

function withTold(session: Session, run: ToldRun, at: Moment): Session {
  const next = withRun({ ...session, ...heard, clock: readClock(run.now, at, session.clock) }, run, at);
  const hasBeenUpdated = isOpen(session.watched) && next.watched?.outcome === 'updated';
  // What the server runs is asked next, and so long the version before is no longer true.
  return hasBeenUpdated ? { ...next, version: run.to ?? next.version } : next;
}

function withRun(session: Session, run: Run, at: Moment): Session {
  const { watched, status } = session;
  const isOn = run.outcome === null;
  if (watched === null || watched.id !== run.id) {
    if (!isOn) return session;
    // Another run is on: it is the one to watch.
    return { ...session, watched: run, watchedEndedAt: null, isWatchedUnknown: false, ...started(session) };
  }
  // A server that has just begun may still be reading what it told before; what was judged crashed may go on.
  if (isOn && watched.outcome !== null && watched.outcome !== 'crashed') return session;
  return {
    ...session,
    watched: run,
    watchedEndedAt: isOn ? null : (session.watchedEndedAt ?? at),
    isWatchedUnknown: false,
    isUpdating: isOn,
    status: status && status.run?.id === run.id ? { ...status, run } : status,
    ...(isOn ? {} : { cancelProblem: null }),
  };
}

/** A run has begun: whatever was said of starting one is out of date. */
const started = ({ act }: Session) => ({
  isUpdating: true,
  cancelProblem: null,
  act: act?.kind === 'not-started' ? null : act,
});

function withHistory(session: Session, at: Moment): Session {
  const { watched, history } = session;
  const found = history?.find(({ id }) => id === watched?.id);
  return found && found.outcome !== null && watched?.outcome === null ? withRun(session, found, at) : session;
}

function withRefusal(session: Session, refused: Refused, at: Moment): Session {
  if (refused.kind === 'logged-out') return { ...session, loggedOut: true, absence: null };
  // It answers, though with an error of its own.
  if (refused.kind === 'problem') return { ...session, ...heard };
  const { why } = refused;
  const isPage = why.what === 'other' && why.status >= 200 && why.status < 300;
  const { since = at, pageSince = null } = session.absence ?? {};
  return {
    ...session,
    loggedOut: false,
    absence: { since, pageSince: isPage ? (pageSince ?? at) : null },
  };
}
