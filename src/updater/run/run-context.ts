import type { Engine } from '../../engine/cli/engine.ts';
import type { Notifier } from '../../notify/notifier.ts';
import type { Cancellation } from './cancellation.ts';
import type { Log } from './log/run-log.ts';
import type { CommandLine } from './options/command-line.ts';
import type { UpdateOptions } from './options/update-options.ts';

export interface RunContext {
  engine: Engine;
  options: UpdateOptions;
  log: Log;
  cancellation: Cancellation;
  notifier: Notifier;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Start time from `performance.now()`, to measure durations even if the system clock is changed. */
  beganAt: number;
  /** Hash of the plan that was rehearsed before the update. Only this plan may be installed. */
  rehearsedPlan?: string | null;
}

export type EngineContext = Pick<RunContext, 'engine' | 'log'>;

/** Logs an uncaught exception immediately and returns the exit code of the process. */
export type CrashReporter = (error: unknown) => number;

/** Context of a command until the compose project and its settings file are found. */
export interface InitialRunContext extends RunContext {
  line: CommandLine;
  /** Replaces the report of an uncaught exception with a more specific report. */
  onCrash(report: CrashReporter): void;
}
