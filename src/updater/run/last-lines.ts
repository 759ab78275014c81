import { exitCodes } from '../../core/progress/outcome.ts';
import { formatSeconds } from './log/format-values.ts';
import type { Log, LogFields } from './log/run-log.ts';
import { logSuccess, type RunOutcome } from './log/run-outcome.ts';
import type { RunContext } from './run-context.ts';

// Last log lines of successful runs, for both projects and stacks.

type TimedLog = Pick<RunContext, 'log' | 'beganAt'>;

/**
 * @param runs - sentence that states the running version: `app runs v1.5.0 already`
 * @param to - target version of the plan
 */
export function logUnchangedOutcome({ log, beganAt }: TimedLog, runs: string, to: string): RunOutcome {
  const took = formatSeconds(performance.now() - beganAt);
  return logSuccess(log, 'unchanged', `unchanged: ${runs}; nothing to do (${took})`, { to });
}

/**
 * @param facts - additional fields for programs
 * @param reached - new version; for a floating tag, followed by the version label of the image
 * @param next - rest of the line: each service's version if needed, and the next action for the user
 */
export function logUpdatedOutcome(
  { log, beganAt }: TimedLog,
  facts: { from: string; to: string; images: readonly string[] },
  { reached, next }: { reached: string; next: string },
): RunOutcome {
  const took = formatSeconds(performance.now() - beganAt);
  const images = [...new Set(facts.images)];
  return logSuccess(log, 'updated', `updated ${facts.from} → ${reached} in ${took}${next}`, {
    ...facts,
    images,
  });
}

export function logPlanResult(log: Log, next: string, fields?: LogFields): RunOutcome {
  log.enterPhase('done');
  const message = `planned: nothing was changed; ${next}`;
  log.info(message, fields);
  return { outcome: 'unchanged', exitCode: exitCodes.unchanged, message };
}

export const logUpdatePlanResult = (log: Log): RunOutcome =>
  logPlanResult(log, 'to update, run the same command without "plan"');
