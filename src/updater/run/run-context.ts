import type { Engine } from '../../engine/cli/engine.ts';
import type { Notifier } from '../../notify/notifier.ts';
import type { Cancellation } from './cancellation.ts';
import type { CommandLine } from './command-line.ts';
import type { Log } from './log/log.ts';
import type { UpdateOptions } from './options.ts';

/** Dependencies and options of every phase of a run. */
export interface RunContext {
  engine: Engine;
  options: UpdateOptions;
  log: Log;
  cancellation: Cancellation;
  notifier: Notifier;
  /** Start of the run in milliseconds since the epoch. */
  startedAt: number;
  /** Start of the run by `performance.now()`. Durations use this clock, because the system clock may be changed. */
  beganAt: number;
}

/** Dependencies of code that calls the engine and logs. */
export type EngineContext = Pick<RunContext, 'engine' | 'log'>;

/** Reports an uncaught exception immediately. Returns the exit code. */
export type ReportCrash = (error: unknown) => number;

/** Context while the compose project, and with it the settings file, has not been found yet. */
export interface FirstContext extends RunContext {
  line: CommandLine;
  /** Replaces the crash report with a more specific report. */
  onCrash(report: ReportCrash): void;
}
