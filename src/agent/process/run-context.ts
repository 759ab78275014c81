import type { Engine } from '../../engine/cli/engine.ts';
import type { EndingFacts } from '../log/ending-facts.ts';
import type { Log } from '../log/log.ts';
import type { Cancellation } from './cancellation.ts';
import type { UpdateOptions } from './options.ts';

/** What every phase of a run gets. */
export interface RunContext {
  engine: Engine;
  options: UpdateOptions;
  log: Log;
  cancellation: Cancellation;
  /** Milliseconds since the epoch. */
  startedAt: number;
  known: EndingFacts;
}
