import type { Log } from './log/run-log.ts';
import type { RunOutcome } from './log/run-outcome.ts';
import { type DrivenRun, runToGoal } from './run-steps.ts';

/** Result of recovering a previous run that was left unfinished. */
export type PreviousRun<Left, R> =
  /** The previous run needs no recovery. `left` is the state from its journal. */
  | { kind: 'settled'; left: Left }
  /** The update of the previous run must be resumed. */
  | { kind: 'resume'; run: R }
  /** The outcome of the previous run is also the outcome of this run. */
  | { kind: 'ended'; ending: RunOutcome };

/** The compose project or the stack that is updated. */
export interface UpdateSite<Left, View, Step extends { kind: string }> {
  /** Resumes or rolls back a previous run that was left unfinished. */
  settle(): Promise<PreviousRun<Left, DrivenRun<View, Step>>>;
  /**
   * Inspects the deployment, plans the update and starts the journal. Returns an outcome if nothing must be updated.
   */
  begin(left: Left): Promise<DrivenRun<View, Step> | RunOutcome>;
}

/** Runs an update, after recovering a previous run that was left unfinished. */
export async function runUpdate<Left, View, Step extends { kind: string }>(
  site: UpdateSite<Left, View, Step>,
  log: Log,
): Promise<RunOutcome> {
  const earlier = await site.settle();
  if (earlier.kind === 'ended') return earlier.ending;
  const run = earlier.kind === 'resume' ? earlier.run : await site.begin(earlier.left);
  return 'outcome' in run ? run : runToGoal(run, log);
}
