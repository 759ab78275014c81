import * as z from 'zod/mini';
import { outcomes } from './outcome.ts';

/** How a run ended: the field `result` of the last event of `--log json`. */
export interface RunResult extends z.infer<typeof runResultSchema> {}
export const runResultSchema = z.object({
  outcome: z.enum(outcomes),
  /** Lower-case letters, digits and `-`. Null for the outcomes `usage`, `cancelled` and `crashed`, and after a success. */
  code: z.nullable(z.string()),
  /** The state of the instance: one sentence without its full stop. After a success, the whole last line. */
  message: z.string(),
  /** The last error before the end; null after a success. */
  detail: z.nullable(z.string()),
  /** What to do next, one or two sentences. */
  advice: z.nullable(z.string()),
  /** For programs, such as `requiredRelease`. */
  facts: z.record(z.string(), z.unknown()),
});

/**
 * The last line of an unsuccessful run (docs/contract.md 6.11): `failed (pull-unknown): nothing was changed, v1.4.2 runs on.
 * Next: Check that …`.
 */
export function formatEnd({ outcome, code, message, advice }: Omit<RunResult, 'detail' | 'facts'>): string {
  const head = code === null ? outcome : `${outcome} (${code})`;
  // The first `. Next: ` begins the advice, so the state must not contain one.
  const state = oneLine(message).replaceAll('. Next: ', '. next: ');
  return advice === null ? `${head}: ${state}` : `${head}: ${state}. Next: ${oneLine(advice)}`;
}

/** The log splits a message at line breaks, and the end must stay on one line. */
const oneLine = (text: string): string =>
  text.replace(/\s+/g, (blank) => (/[\r\n]/.test(blank) ? ' ' : blank));
