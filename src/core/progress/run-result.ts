import * as z from 'zod/mini';
import { outcomes } from './outcome.ts';

/** Result of a run: the field `result` in the last event of `--log json`. */
export interface RunResult extends z.infer<typeof runResultSchema> {}
export const runResultSchema = z.object({
  outcome: z.enum(outcomes),
  /**
   * Error code in lower-case letters, digits and `-`. Null after a success, and for the outcomes `usage`, `cancelled`
   * and `crashed`.
   */
  code: z.nullable(z.string()),
  /**
   * State of the instance in one sentence without a period. After a success, this is the whole last line of the log.
   */
  message: z.string(),
  /** Last error of the run; null after a success. */
  detail: z.nullable(z.string()),
  /** Advice in one or two sentences. */
  advice: z.nullable(z.string()),
  /** Additional values for programs, such as `requiredRelease`. */
  facts: z.record(z.string(), z.unknown()),
});

/**
 * Formats the last line of an unsuccessful run (docs/contract.md 6.11): `failed (pull-unknown): nothing was changed,
 * v1.4.2 runs on. Next: Check that …`.
 */
export function formatLastLogLine({
  outcome,
  code,
  message,
  advice,
}: Omit<RunResult, 'detail' | 'facts'>): string {
  const head = code === null ? outcome : `${outcome} (${code})`;
  // The advice begins after the first `. Next: ` in the line, so the state must not contain this text.
  const state = oneLine(message).replaceAll('. Next: ', '. next: ');
  return advice === null ? `${head}: ${state}` : `${head}: ${state}. Next: ${oneLine(advice)}`;
}

/** Replaces line breaks with spaces, so that the outcome stays on one line of the log. */
const oneLine = (text: string): string =>
  text.replace(/\s+/g, (blank) => (/[\r\n]/.test(blank) ? ' ' : blank));
