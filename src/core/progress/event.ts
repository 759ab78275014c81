/** Phases of a run, in the order of the run (docs/contract.md 2.1). */
export const phases = ['inspect', 'plan', 'pull', 'save', 'write', 'recreate', 'verify', 'done'] as const;
export type Phase = (typeof phases)[number];

export const logLevels = ['info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** An entry of the log. */
export interface ProgressEvent {
  /** Time in ISO 8601 in UTC with milliseconds. */
  time: string;
  level: LogLevel;
  phase: Phase;
  /** Progress as an integer from 0 to 100, if known. */
  percent?: number;
  /** Message for users: one sentence. */
  message: string;
}
