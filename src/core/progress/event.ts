/** Phases of a run, in the order of the run (docs/contract.md 2.1). */
export const phases = ['inspect', 'plan', 'pull', 'save', 'write', 'recreate', 'verify', 'done'] as const;
export type Phase = (typeof phases)[number];

export const levels = ['info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

/** An entry of the log. */
export interface ProgressEvent {
  /** Time in ISO 8601 in UTC with milliseconds. */
  time: string;
  level: Level;
  phase: Phase;
  /** Progress as an integer from 0 to 100, if known. */
  percent?: number;
  /** Message for users: one sentence. */
  message: string;
}
