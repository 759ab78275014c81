import { isAhead } from '../../release/channel.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { Reason, Status } from '../../wire/status.ts';
import { names } from '../names.ts';
import { offerLines, refusalLines } from '../status-lines.ts';
import { clean } from '../text.ts';

/** What somebody wants; the target is null where none was named. */
export interface Wish {
  target: string | null;
  whenIdle: boolean;
  force: boolean;
  /** To the end of the path. */
  allSteps: boolean;
}

/** No update comes of it, and why. */
export interface Stay {
  lines: string[];
  /** What svc says for programs; null where there was nothing to be asked. */
  problem: Problem | null;
  exitCode: number;
}

/**
 * The target of what is to be started, by the status: what is asked for is the version that was shown, never "the
 * newest".
 */
export function decide(status: Status, { target, whenIdle, force, allSteps }: Wish): string | Stay {
  const { reason, next, run } = status;
  const { code, jobs = [] } = reason ?? {};
  const isPassed = jobs.length > 0 && (force || (whenIdle && !jobs.some(({ stuck }) => stuck)));
  if (reason !== null && !isPassed && code !== 'up-to-date') return stayFor(reason, status);
  // After such an end the same release is accepted again: the updater looks whether it runs and is well.
  const isInTrouble = run?.outcome === 'broken' || run?.outcome === 'crashed';
  // Not where a newer version runs by now, as after a repair by hand: there is no downgrade.
  const isAgain = isInTrouble && run.to !== null && !isAhead(status.version, run.to);
  const offered = (allSteps ? next?.upgradePath.at(-1) : null) ?? next?.version;
  const goal = target ?? offered ?? (isAgain ? run.to : null);
  if (goal !== null && (goal !== status.version || isInTrouble)) return goal;
  const lines = goal === null ? offerLines(clean(status)) : [`${names().name} ${goal} runs already.`];
  return { lines, problem: reason && problemOf(reason), exitCode: 0 };
}

export const stayFor = (reason: Reason, status: Status, problem = problemOf(reason)): Stay => ({
  lines: refusalLines(clean(reason), clean(status)),
  problem,
  exitCode: 3,
});

/** As svc would answer. */
const problemOf = (reason: Reason): Problem => ({
  type: 'about:blank',
  title: 'Conflict',
  status: 409,
  detail: reason.message,
  reason,
});
