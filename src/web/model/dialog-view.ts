import { known, launchStates, phaseWords, type ReasonCode } from '../../wire/codes.ts';
import { type PathPlace, runPlace } from '../../wire/path.ts';
import { isTooLate, mayBeAway, type RowOfRun, rowsOf } from '../../wire/phase-rows.ts';
import type { Order } from '../../wire/reader.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import { pointOf } from '../../wire/rollback-point.ts';
import type {
  BlockingJob,
  PendingStep,
  PublishedRelease,
  Reason,
  RollbackOffer,
  Run,
  Status,
} from '../../wire/status.ts';
import { ageOf, serverTime } from './ages.ts';
import { isOpen, type PageState, type Rollback } from './page-state.ts';
import {
  betweenOf,
  type EndKind,
  endKind,
  isQuiet,
  isRollback,
  isSameVersion,
  offeredPath,
  openRun,
  orderOf,
  outdatedServers,
  placeBetween,
} from './selectors.ts';

/** The possible views of a dialog. Durations are in milliseconds. */
export type DialogView =
  | { kind: 'asking' }
  | { kind: 'users-only'; version: string }
  | { kind: 'logged-out'; isOn: boolean }
  /** A page that is not svc has been answering for a while. */
  | { kind: 'other-page'; isOn: boolean }
  /** svc is unavailable because it is being replaced. `log` is the log command, after a long wait. */
  | { kind: 'restarting'; run: Run; outageMs: number; log: string | null }
  /** svc is unavailable for an unknown reason. */
  | { kind: 'no-answer'; outageMs: number; isOn: boolean }
  | { kind: 'starting'; to: string | null; isRollback: boolean }
  | { kind: 'rollback-asking'; to: string; asked: number }
  | RollbackView
  | { kind: 'rollback-refused'; to: string; problem: Problem | null; jobs: JobAge[] }
  | { kind: 'not-started'; problem: Problem | null }
  | { kind: 'run-unknown'; run: Run; version: string | null }
  | RunView
  | BetweenView
  | EndView
  | {
      kind: 'nothing';
      status: Status;
      checked: number | null;
      nextCheck: number | null;
      /** The way out of a recalled version: a restore point, if there is one. Null if none is needed, or still unknown. */
      rollback: { to: string | null } | null;
    }
  | { kind: 'not-possible'; status: Status; reason: Reason }
  | { kind: 'other-update'; reason: Reason; since: number | null }
  | { kind: 'jobs'; status: Status; order: Order; jobs: JobAge[]; isStuck: boolean }
  /** The reason comes from a newer server and is unknown to this page. */
  | { kind: 'other-reason'; reason: Reason }
  | OfferView;

export type ViewOf<K extends DialogView['kind']> = DialogView & { kind: K };

/** An open run. It can be cancelled while it is `waiting`, `preparing` or `updating`. */
export interface RunView {
  kind: 'waiting' | 'preparing' | 'updating' | 'cancelling' | 'late' | 'other-state';
  run: Run;
  rows: RowOfRun[];
  /** Milliseconds since its start. */
  elapsed: number | null;
  jobs: JobAge[];
  cancelProblem: Problem | null;
  /** Its position on an upgrade path. */
  place: PathPlace | null;
  /** Seconds that svc and its data services were stopped for the last restore point. */
  saved: number | null;
}

/** A step of an upgrade path has ended, and the next step has not started yet. */
export interface BetweenView extends Pick<RunView, 'cancelProblem' | 'place'> {
  kind: 'pendingStep';
  version: string | null;
  pendingStep: PendingStep;
  /** The waiting time so far. */
  waited: number | null;
}

export interface EndView {
  kind: EndKind;
  run: Run;
  rows: RowOfRun[];
  /** The running version. */
  version: string | null;
  /** After `updated`: the running version is not `to`, and no later run changed it. */
  latestNotMoved: boolean;
  /** The order for *Try again*; null if it is no longer offered. */
  again: Order | null;
  outdatedServers: Status['buildServers'];
}

export interface OfferView {
  kind: 'available';
  status: Status;
  to: string;
  /** The release that requires `to`; null if `to` or the last version of `path` is the latest release. */
  before: string | null;
  /** The upgrade path to the latest release; empty if one update is enough. */
  path: readonly string[];
  major: boolean;
  /** The page of the offered release. */
  url: string | null;
  published: number | null;
  releases: readonly PublishedRelease[];
  /** The last downtime in seconds. */
  lastDowntime: number | null;
  /** The time since `to` was skipped; null if it is not skipped. */
  skipped: { age: number | null } | null;
}

/** A rollback to the restore point, before it is confirmed. */
export interface RollbackView {
  kind: 'rollback';
  offer: RollbackOffer;
  version: string | null;
  /** The jobs that the rollback would interrupt. */
  jobs: JobAge[];
}

export interface JobAge extends BlockingJob {
  age: number | null;
}

/** Milliseconds of an unexpected outage before it is shown. */
const blip = 2_000;
/** Milliseconds of a restart after which the log command is shown. */
const longRestart = 60_000;
/** Milliseconds for which a proxy may show its own page before it finds the new container. */
const pageGrace = 10_000;

/**
 * Selects the view of a dialog: the first one that applies (docs/contract.md 10.2).
 * @param now time of the page's counter. @param dismissed ids of runs whose result was dismissed in this browser
 */
export function dialogView(state: PageState, now: number, dismissed: ReadonlySet<string>): DialogView {
  const server = serverTime(state.clock, now);
  const { status, start } = state;
  const open = openRun(state);

  if (state.loggedOut) return { kind: 'logged-out', isOn: open !== null };
  const away = outageView(state, open, now);
  if (away) return away;
  if (state.isWatchedUnknown && state.watched && !dismissed.has(state.watched.id))
    return { kind: 'run-unknown', run: state.watched, version: state.version };
  if (open) return runView(open, state, server);
  if (start?.kind === 'pressed') {
    const { to, isRollback = false } = start;
    return { kind: 'starting', to, isRollback };
  }
  if (start?.kind === 'not-started') return { kind: 'not-started', problem: start.problem };
  if (state.rollback) return rollbackView(state.rollback, state, now, server);
  if (status === null)
    return state.version === null ? { kind: 'asking' } : { kind: 'users-only', version: state.version };
  const pendingStep = betweenOf(state);
  if (pendingStep) return betweenView(pendingStep, state, server);
  const ended = undismissedEnd(state, dismissed);
  if (ended) return endView(ended, state, server);
  return idleView(status, state, server);
}

function rollbackView(
  rollback: Rollback,
  { status, version }: PageState,
  now: number,
  server: number | null,
): DialogView {
  switch (rollback.kind) {
    case 'asking':
      return { kind: 'rollback-asking', to: rollback.to, asked: Math.max(0, now - rollback.since) };
    case 'refused': {
      const { to, problem } = rollback;
      const { jobs = [] } = (problem?.reason ?? {}) as Partial<Reason>;
      return { kind: 'rollback-refused', to, problem, jobs: withAges(jobs, server) };
    }
    case 'offer': {
      const { offer } = rollback;
      const jobs = withAges(status?.reason?.jobs ?? [], server);
      return { kind: 'rollback', offer, version, jobs };
    }
  }
}

/** The run whose result was not dismissed yet. The result `updated` only counts if this page has seen the run open. */
function undismissedEnd({ watched, status }: PageState, dismissed: ReadonlySet<string>): Run | undefined {
  return [watched, status?.run].find(
    (run): run is Run =>
      !!run &&
      !isOpen(run) &&
      !dismissed.has(run.id) &&
      !isQuiet(run) &&
      (run.outcome !== 'updated' || run.id === watched?.id),
  );
}

function outageView(state: PageState, open: Run | null, now: number): DialogView | null {
  const { outage } = state;
  if (outage === null) return null;
  const outageMs = Math.max(0, now - outage.since);
  const isOn = open !== null || state.isUpdating || betweenOf(state) !== null;
  if (outage.pageSince !== null && now - outage.pageSince >= pageGrace) return { kind: 'other-page', isOn };
  if (open && mayBeAway(open))
    return { kind: 'restarting', run: open, outageMs, log: outageMs >= longRestart ? open.log : null };
  const isFirst = state.answeredAt === null;
  return outageMs >= blip || isFirst ? { kind: 'no-answer', outageMs, isOn } : null;
}

function runView(run: Run, state: PageState, server: number | null): RunView {
  const now = server ?? Date.parse(run.startedAt);
  return {
    kind: runKind(run),
    run,
    rows: rowsOf(run, now),
    elapsed: ageOf(run.startedAt, server),
    jobs: withAges(run.jobs, server),
    cancelProblem: state.cancelProblem,
    place: runPlace(run),
    saved: state.status?.restorePoint?.downtimeSeconds ?? null,
  };
}

function betweenView(pendingStep: PendingStep, state: PageState, server: number | null): BetweenView {
  const { version, cancelProblem } = state;
  const waited = ageOf(pendingStep.since, server);
  return {
    kind: 'pendingStep',
    version,
    pendingStep,
    waited,
    cancelProblem,
    place: placeBetween(state, pendingStep),
  };
}

const withAges = (jobs: readonly BlockingJob[], server: number | null): JobAge[] =>
  jobs.map((job) => ({ ...job, age: ageOf(job.since, server) }));

function runKind(run: Run): RunView['kind'] {
  if (isTooLate(run)) return 'late';
  if (run.cancelRequestedBy !== null) return 'cancelling';
  if (!([...launchStates, ...phaseWords] as string[]).includes(run.state)) return 'other-state';
  if (run.state === 'waiting') return 'waiting';
  return run.state === 'preparing' || run.state === 'launching' ? 'preparing' : 'updating';
}

function endView(run: Run, state: PageState, server: number | null): EndView {
  const { status, version } = state;
  const kind = endKind(run);
  const isLast = status?.run?.id === run.id;
  return {
    kind,
    run,
    rows: rowsOf(run, server ?? Date.parse(run.endedAt ?? run.startedAt)),
    version,
    latestNotMoved:
      kind === 'updated' && isLast && run.to !== null && version !== null && !isSameVersion(version, run.to),
    // An update to the same version finishes an incomplete update.
    // A rollback is offered again with the current restore point.
    again: isRollback(run)
      ? null
      : kind === 'broken'
        ? orderTo(run.to ?? version)
        : status?.next?.version !== run.to
          ? null
          : status && run.upgradePath.length > 1
            ? orderOf(status)
            : orderTo(run.to),
    outdatedServers: outdatedServers(status),
  };
}

const orderTo = (target: string | null): Order | null => (target === null ? null : { target });

type Blocking = 'place' | 'jobs' | 'run' | 'none';
const blocking: Record<ReasonCode, Blocking> = {
  'not-compose': 'place',
  swarm: 'place',
  'no-engine': 'place',
  'no-directory': 'place',
  'store-unavailable': 'place',
  'update-running': 'run',
  'unrelated-container': 'place',
  'deployment-queued': 'jobs',
  'deployment-running': 'jobs',
  'backup-running': 'jobs',
  'cron-running': 'jobs',
  'cleanup-running': 'jobs',
  'job-running': 'jobs',
  'up-to-date': 'none',
  unproven: 'none',
  recalled: 'none',
  'settings-missing': 'none',
  'no-restore-point': 'none',
  'rollback-refused': 'none',
};

/** The view if there is no run to show. */
function idleView(status: Status, state: PageState, server: number | null): DialogView {
  const { next, reason } = status;
  const { history } = state;
  if (next === null) {
    const wait = Date.parse(status.feedError?.nextCheckAt ?? '') - (server ?? Number.NaN);
    return {
      kind: 'nothing',
      status,
      checked: ageOf(status.checkedAt, server),
      nextCheck: wait > 0 ? wait : null,
      rollback: status.recalled && history && { to: pointOf(history)?.restorePoint.version ?? null },
    };
  }
  if (reason !== null) {
    const what = known(blocking, reason.code);
    if (what === undefined) return { kind: 'other-reason', reason };
    if (what === 'place') return { kind: 'not-possible', status, reason };
    if (what === 'run') return { kind: 'other-update', reason, since: ageOf(reason.since, server) };
    if (what === 'jobs') {
      const jobs = withAges(reason.jobs ?? [], server);
      return { kind: 'jobs', status, order: orderOf(status), jobs, isStuck: jobs.some(({ stuck }) => stuck) };
    }
  }
  return offerView(status, state, server);
}

function offerView(status: Status, { history }: PageState, server: number | null): OfferView {
  const { next, latest, releases = [] } = status;
  const to = next?.version ?? '';
  const path = offeredPath(status);
  const goal = path.at(-1) ?? to;
  const release = [...releases, ...(latest ? [latest] : [])].find(({ version }) => version === goal);
  const last = history?.find(
    ({ outcome, downtimeSeconds, kind }) =>
      outcome === 'updated' && downtimeSeconds !== null && kind !== 'rollback',
  );
  return {
    kind: 'available',
    status,
    to,
    before: latest !== null && latest.version !== goal ? latest.version : null,
    path,
    major: (next?.major ?? false) || (path.length > 0 && majorOf(goal) !== majorOf(status.version)),
    url: release?.url ?? null,
    published: ageOf(release?.publishedAt, server),
    releases: releases.filter(({ notes }) => notes !== null && notes.trim() !== ''),
    lastDowntime: last?.downtimeSeconds ?? null,
    skipped: status.skipped && { age: ageOf(status.skipped.since, server) },
  };
}

const majorOf = (version: string): string | undefined => /\d+/.exec(version)?.[0];
