import type { Log } from './log/run-log.ts';
import type { RunOutcome } from './log/run-outcome.ts';
import { type DrivenRun, updateOrRollBack } from './run-steps.ts';

/** Result of recovering an unfinished previous run. */
export type RecoveryResult<Left, R> =
  /** Recovery is complete. `left` contains what the update needs to know about the previous run. */
  | { kind: 'settled'; left: Left }
  /** The previous update must be resumed. */
  | { kind: 'resume'; run: R }
  /** The recovery has produced the outcome of this run. */
  | { kind: 'ended'; ending: RunOutcome };

/**
 * Continues after the recovery of the previous run.
 * @param prepareUpdate - plans the update and starts the journal; returns an outcome if there is nothing to update
 */
export async function runUpdate<Left, View, Step extends { kind: string }>(
  previous: RecoveryResult<Left, DrivenRun<View, Step>>,
  prepareUpdate: (left: Left) => Promise<DrivenRun<View, Step> | RunOutcome>,
  log: Log,
): Promise<RunOutcome> {
  if (previous.kind === 'ended') return previous.ending;
  const run = previous.kind === 'resume' ? previous.run : await prepareUpdate(previous.left);
  return 'outcome' in run ? run : updateOrRollBack(run, log);
}
