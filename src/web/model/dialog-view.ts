import { type EndState, launchStates, phaseWords, type ReasonCode } from '../../wire/codes.ts';
import { mayBeAway, rowsOf } from '../../wire/phase-rows.ts';
import type { Run, Status } from '../../wire/status.ts';
import { ageOf, serverTime } from './ages.ts';
import type { DialogView, EndView, OfferView, RunView } from './dialog-states.ts';
import type { PageState } from './page-state.ts';

export interface Surroundings {
  /** Of the page's counter. */
  now: number;
  dismissed: ReadonlySet<string>;
}

/** A blip is no news, where svc has no reason to be away. */
const blip = 2_000;
/** After which it is said where to look. */
const long = 60_000;
/** For so long another page may be that of a proxy that is being told of the new svc. */
const pageGrace = 10_000;

/** What a dialog shows of what the page knows: the first of these that holds. */
export function dialogView(state: PageState, { now, dismissed }: Surroundings): DialogView {
  const server = serverTime(state.clock, now);
  const { status, start } = state;
  const open = openRun(state);

  if (state.loggedOut) return { kind: 'logged-out', isOn: open !== null };
  const away = absenceView(state, open, now);
  if (away) return away;
  if (state.isWatchedUnknown && state.watched && !dismissed.has(state.watched.id))
    return { kind: 'run-unknown', run: state.watched, version: state.version };
  if (open) return runView(open, state, server);
  if (start?.kind === 'pressed') return { kind: 'starting', to: start.to };
  if (start?.kind === 'not-started') return { kind: 'not-started', problem: start.problem };
  if (status === null)
    return state.version === null ? { kind: 'asking' } : { kind: 'users-only', version: state.version };
  const ended = undismissedEnd(state, dismissed);
  if (ended) return endView(ended, state, server);
  return idleView(status, state, server);
}

/** The run that is on, as far as the page knows. */
export function openRun({ watched, status, isWatchedUnknown }: PageState): Run | null {
  const isOpen = (run: Run | null | undefined) => run !== null && run !== undefined && run.outcome === null;
  if (isOpen(watched) && !isWatchedUnknown) return watched;
  const last = status?.run ?? null;
  return isOpen(last) && last?.id !== watched?.id ? last : null;
}

/** The end that the person has not closed yet. A good one only where this page has seen the run. */
export function undismissedEnd({ watched, status }: PageState, dismissed: ReadonlySet<string>): Run | null {
  const found = [watched, status?.run ?? null].find(
    (run) =>
      run !== null &&
      run.outcome !== null &&
      !dismissed.has(run.id) &&
      (run.outcome !== 'updated' || run.id === watched?.id),
  );
  return found ?? null;
}

function absenceView(state: PageState, open: Run | null, now: number): DialogView | null {
  const { absence } = state;
  if (absence === null) return null;
  const absent = Math.max(0, now - absence.since);
  const isOn = open !== null || state.isUpdating;
  if (absence.pageSince !== null && now - absence.pageSince >= pageGrace) return { kind: 'other-page', isOn };
  if (open && mayBeAway(open))
    return { kind: 'restarting', run: open, absent, log: absent >= long ? open.log : null };
  const isFirst = state.answeredAt === null;
  return absent >= blip || isFirst ? { kind: 'no-answer', absent, isOn } : null;
}

function runView(run: Run, state: PageState, server: number | null): RunView {
  const now = server ?? Date.parse(run.startedAt);
  return {
    kind: runKind(run),
    run,
    rows: rowsOf(run, now),
    elapsed: ageOf(run.startedAt, server),
    jobs: run.jobs.map((job) => ({ ...job, age: ageOf(job.since, server) })),
    cancelProblem: state.cancelProblem,
  };
}

function runKind(run: Run): RunView['kind'] {
  if (mayBeAway(run)) return 'late';
  const isKnown = ([...launchStates, ...phaseWords] as string[]).includes(run.state);
  if (run.cancelAskedBy !== null) return 'cancelling';
  if (!isKnown) return 'other-state';
  if (run.state === 'waiting') return 'waiting';
  return run.state === 'preparing' || run.state === 'launching' ? 'preparing' : 'updating';
}

const endKinds: Record<EndState, EndView['kind']> = {
  updated: 'updated',
  unchanged: 'unchanged',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'cancelled',
  broken: 'broken',
  crashed: 'broken',
};

function endView(run: Run, state: PageState, server: number | null): EndView {
  const { status, version } = state;
  const kind = run.outcome === null ? 'other-end' : (known(endKinds, run.outcome) ?? 'other-end');
  const isLast = status?.run?.id === run.id;
  return {
    kind,
    run,
    rows: rowsOf(run, server ?? Date.parse(run.endedAt ?? run.startedAt)),
    version,
    lags: kind === 'updated' && isLast && run.to !== null && version !== null && !isSame(version, run.to),
    // Of what may be half done the same version is asked for again: it is looked at, and finished.
    again:
      kind === 'broken'
        ? (run.to ?? version)
        : run.to !== null && status?.next?.version === run.to
          ? run.to
          : null,
    behind: status?.buildServers.filter(({ behind }) => behind) ?? [],
  };
}

/** Whether two versions are the same, however they are written: hosts write them with a `v` and without. */
export const isSame = (one: string, other: string): boolean =>
  one.replace(/^v/, '') === other.replace(/^v/, '');

/** What a table has for a code. A newer server may have another one, and it may be called `constructor`. */
export const known = <T>(table: Readonly<Record<string, T>>, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined;

type Blocking = 'place' | 'jobs' | 'run' | 'none';
const blocking: Record<ReasonCode, Blocking> = {
  'not-compose': 'place',
  swarm: 'place',
  'no-engine': 'place',
  'no-directory': 'place',
  'store-unavailable': 'place',
  'update-running': 'run',
  'foreign-container': 'place',
  'deployment-queued': 'jobs',
  'deployment-running': 'jobs',
  'backup-running': 'jobs',
  'cron-running': 'jobs',
  'cleanup-running': 'jobs',
  'job-running': 'jobs',
  'up-to-date': 'none',
};

/** How things stand, where nothing has happened. */
function idleView(status: Status, state: PageState, server: number | null): DialogView {
  const { next, reason } = status;
  if (next === null) {
    const nextCheck = status.feedError === null ? null : Date.parse(status.feedError.nextCheckAt);
    return {
      kind: 'nothing',
      status,
      checked: ageOf(status.checkedAt, server),
      nextCheck: nextCheck !== null && server !== null && nextCheck > server ? nextCheck - server : null,
    };
  }
  if (reason !== null) {
    const what = known(blocking, reason.code);
    if (what === undefined) return { kind: 'other-reason', reason };
    if (what === 'place') return { kind: 'not-possible', status, reason };
    if (what === 'run') return { kind: 'other-update', reason, since: ageOf(reason.since, server) };
    if (what === 'jobs') {
      const jobs = (reason.jobs ?? []).map((job) => ({ ...job, age: ageOf(job.since, server) }));
      return { kind: 'jobs', status, to: next.version, jobs, isStuck: jobs.some(({ stuck }) => stuck) };
    }
  }
  return offerView(status, state, server);
}

function offerView(status: Status, { history }: PageState, server: number | null): OfferView {
  const { next, latest, releases = [] } = status;
  const to = next?.version ?? '';
  const release = [...releases, ...(latest ? [latest] : [])].find(({ version }) => version === to);
  const last = history?.find(({ outcome, away }) => outcome === 'updated' && away !== null);
  return {
    kind: 'available',
    status,
    to,
    before: latest !== null && latest.version !== to ? latest.version : null,
    major: next?.major ?? false,
    url: release?.url ?? null,
    published: ageOf(release?.publishedAt, server),
    publishedAt: release?.publishedAt ?? null,
    releases: releases.filter(({ notes }) => notes !== null && notes.trim() !== ''),
    lastAway: last?.away ?? null,
  };
}
