import { isAhead } from '../../core/release/channel.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { Reason, Status } from '../../wire/status.ts';
import { names } from '../names.ts';
import { offerLines, refusalLines } from '../status-lines.ts';
import { clean } from '../text.ts';

/** The requested update. */
export interface Wish {
  /** Null if the offered version is meant. */
  target: string | null;
  whenIdle: boolean;
  force: boolean;
  /** All steps of the upgrade path. */
  allSteps: boolean;
}

/** No update is started, and why. */
export interface Stay {
  lines: string[];
  /** The problem document for `--json`; null if there is none. */
  problem: Problem | null;
  exitCode: number;
}

/**
 * Decides on the target. The request contains the version that the status has shown, so that a release published in the
 * meantime is not installed by surprise.
 */
export function decideStart(status: Status, { target, whenIdle, force, allSteps }: Wish): string | Stay {
  const { reason, next, run } = status;
  const { code, jobs = [] } = reason ?? {};
  const isPassed = jobs.length > 0 && (force || (whenIdle && !jobs.some(({ stuck }) => stuck)));
  if (reason !== null && !isPassed && code !== 'up-to-date') return stayFor(reason, status);
  // After these outcomes the server accepts the same release again; the updater then verifies the containers.
  const isInTrouble = run?.outcome === 'broken' || run?.outcome === 'crashed';
  // Not if a newer version is running, for example after a manual repair: there is no downgrade.
  const isAgain = isInTrouble && run.to !== null && !isAhead(status.version, run.to);
  const offered = (allSteps ? next?.upgradePath.at(-1) : null) ?? next?.version;
  const goal = target ?? offered ?? (isAgain ? run.to : null);
  if (goal !== null && (goal !== status.version || isInTrouble)) return goal;
  const lines = goal === null ? offerLines(clean(status)) : [`${names().name} ${goal} is already running.`];
  return { lines, problem: reason && problemOf(reason), exitCode: 0 };
}

export const stayFor = (reason: Reason, status: Status, problem = problemOf(reason)): Stay => ({
  lines: refusalLines(clean(reason), clean(status)),
  problem,
  exitCode: 3,
});

/** The problem document that the server would send. */
const problemOf = (reason: Reason): Problem => ({
  type: 'about:blank',
  title: 'Conflict',
  status: 409,
  detail: reason.message,
  reason,
});
