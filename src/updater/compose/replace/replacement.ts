import type { Compose } from '../../../engine/cli/compose.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { Changeover } from '../../run/state/changeover.ts';
import type { Journal } from '../../run/state/journal.ts';
import type { StartTimes } from './health.ts';

/** What a run with a journal works with. */
export interface JournaledContext extends RunContext {
  journal: Journal;
}

/** What replacing and verifying containers works with. No signal ends it. */
export interface Replacement extends JournaledContext {
  compose: Compose;
  changeover: Changeover;
  /** When the containers started that the run has seen start. */
  starts: StartTimes;
}
