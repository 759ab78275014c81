import type { Engine } from '../../engine/cli/engine.ts';
import type { Log } from '../log/log.ts';
import type { Cancellation } from './cancellation.ts';
import type { UpdateOptions } from './options.ts';

/** The doors that every phase of a run gets. */
export interface RunContext {
  engine: Engine;
  options: UpdateOptions;
  log: Log;
  cancellation: Cancellation;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The same moment by `performance.now()`, a clock that nobody sets: every duration is reckoned from it. */
  beganAt: number;
}
