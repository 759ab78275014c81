import type { Engine } from '../../engine/cli/engine.ts';
import type { Notifier } from '../../notify/notifier.ts';
import type { Cancellation } from './cancellation.ts';
import type { CommandLine } from './command-line.ts';
import type { Log } from './log/log.ts';
import type { UpdateOptions } from './options.ts';

/** What every phase of a run works with. */
export interface RunContext {
  engine: Engine;
  options: UpdateOptions;
  log: Log;
  cancellation: Cancellation;
  notifier: Notifier;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The same moment by `performance.now()`. Durations use this clock, because the system clock may be changed. */
  beganAt: number;
}

/** What calls the engine, and logs it. */
export type EngineContext = Pick<RunContext, 'engine' | 'log'>;

/** Reports an exception that nothing has caught, at once. Gives the exit code. */
export type ReportCrash = (error: unknown) => number;

/** The context before the project is found, which is where the settings file is. */
export interface FirstContext extends RunContext {
  line: CommandLine;
  /** Replaces the report of a crash, for a run that knows more. */
  onCrash(report: ReportCrash): void;
}
