/** Phases of a run, in the order in which they happen (docs/contract.md 2.1). */
export const phases = ['inspect', 'plan', 'pull', 'save', 'write', 'recreate', 'verify', 'done'] as const;
export type Phase = (typeof phases)[number];

export const levels = ['info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

/** One line of the log. */
export interface ProgressEvent {
  /** ISO 8601 in UTC with milliseconds. */
  time: string;
  level: Level;
  phase: Phase;
  /** 0 to 100, whole, where known. */
  percent?: number;
  /** One sentence for people. */
  message: string;
}
