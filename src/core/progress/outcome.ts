import type { ProgressEvent } from './event.ts';

/** The outcomes of a run (docs/contract.md 1.4). */
export const outcomes = [
  'updated',
  'unchanged',
  'fetched',
  'crashed',
  'usage',
  'refused',
  'failed',
  'broken',
  'cancelled',
] as const;

export type Outcome = (typeof outcomes)[number];

/** Exit codes; `cancelled` is 128 plus the signal's number. */
export const exitCodes: Record<Exclude<Outcome, 'cancelled'>, number> = {
  updated: 0,
  unchanged: 0,
  fetched: 0,
  crashed: 1,
  usage: 2,
  refused: 3,
  failed: 4,
  broken: 5,
};

/** The outcome of an event of phase `done`, which is its first word: `updated v1.4.2 → …`, `failed: …`. */
export function outcomeOf({ phase, message }: Pick<ProgressEvent, 'phase' | 'message'>): Outcome | null {
  if (phase !== 'done') return null;
  const word = /^([a-z]+)(?=[\s:;,.]|$)/.exec(message)?.[1];
  return outcomes.find((outcome) => outcome === word) ?? null;
}
