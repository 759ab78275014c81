import { type DrivenRun, runToGoal } from './drive.ts';
import type { Ending } from './log/ending.ts';
import type { Log } from './log/log.ts';

/** What the run before leaves to this one. */
export type Earlier<Left, R> =
  /** Nothing that has to be finished first. `left`: what its journal says. */
  | { kind: 'settled'; left: Left }
  /** The rest of its update. */
  | { kind: 'resume'; run: R }
  /** Its end, which is this run's as well. */
  | { kind: 'ended'; ending: Ending };

/** What is updated: a compose project or a stack. */
export interface Site<Left, View, Step extends { kind: string }> {
  /** Resumes or undoes what an earlier run left unfinished. */
  settle(): Promise<Earlier<Left, DrivenRun<View, Step>>>;
  /** Inspects, plans and begins the journal; or ends the run, if there is nothing to do. */
  begin(left: Left): Promise<DrivenRun<View, Step> | Ending>;
}

/** The story of an update. */
export async function update<Left, View, Step extends { kind: string }>(
  site: Site<Left, View, Step>,
  log: Log,
): Promise<Ending> {
  const earlier = await site.settle();
  if (earlier.kind === 'ended') return earlier.ending;
  const run = earlier.kind === 'resume' ? earlier.run : await site.begin(earlier.left);
  return 'outcome' in run ? run : runToGoal(run, log);
}
