/** Phases of a run, in order (docs/contract.md 2.1). */
export const phases = ['inspect', 'plan', 'pull', 'save', 'write', 'recreate', 'verify', 'done'] as const;
export type Phase = (typeof phases)[number];

export const logLevels = ['info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** An entry in the log of a run. */
export interface ProgressEvent {
  /** UTC time in ISO 8601 format, with milliseconds. */
  time: string;
  level: LogLevel;
  phase: Phase;
  /** Progress as an integer from 0 to 100, if known. */
  percent?: number;
  /** Message for users: one sentence. */
  message: string;
}
