import { Compose } from '../../../engine/cli/compose.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { Changeover } from '../../run/state/changeover.ts';
import type { Journal } from '../../run/state/journal.ts';
import { StartTimes } from './health.ts';

/** What `recreate`, `verify` and the way back work on; all of it but the start times is in the journal, too. */
export interface Replacement extends RunContext {
  compose: Compose;
  journal: Journal;
  changeover: Changeover;
  /** When the containers started that the run has seen start. */
  starts: StartTimes;
}

/** A replacement that no signal ends: half of the containers would be of one version, half of the other. */
export function replacementOf(context: RunContext, journal: Journal, changeover: Changeover): Replacement {
  const engine = context.engine.uncancellable();
  const compose = new Compose(engine, journal.data.project);
  return { ...context, engine, compose, journal, changeover, starts: new StartTimes() };
}
