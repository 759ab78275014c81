import type { Compose } from '../../../engine/cli/compose.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { Journal } from '../../run/state/journal.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import type { ContainerStartTimes } from '../health/health-evaluator.ts';

export interface JournaledContext extends RunContext {
  journal: Journal;
}

/** Context for replacing and verifying containers, which no signal interrupts. */
export interface ReplacementContext extends JournaledContext {
  compose: Compose;
  changeover: Rollout;
  /** Start times of containers, as observed by this run. */
  starts: ContainerStartTimes;
}
