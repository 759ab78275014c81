import type { Compose } from '../../../engine/cli/compose.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { Journal } from '../../run/state/journal.ts';
import type { Changeover } from '../../run/state/rollout.ts';
import type { StartTimes } from '../health/health-watch.ts';

export interface JournaledContext extends RunContext {
  journal: Journal;
}

/** Context for replacing and verifying containers. No signal interrupts this work. */
export interface Replacement extends JournaledContext {
  compose: Compose;
  changeover: Changeover;
  /** Start times of containers, as observed by this run. */
  starts: StartTimes;
}
