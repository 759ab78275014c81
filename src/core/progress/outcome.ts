/** Outcomes of a run (docs/contract.md 1.4). */
export const outcomes = [
  'updated',
  'unchanged',
  'fetched',
  'rehearsed',
  'crashed',
  'usage',
  'refused',
  'failed',
  'broken',
  'cancelled',
] as const;

export type Outcome = (typeof outcomes)[number];

/** Exit codes by outcome. For `cancelled`, the exit code is 128 plus the signal number. */
export const exitCodes: Record<Exclude<Outcome, 'cancelled'>, number> = {
  updated: 0,
  unchanged: 0,
  fetched: 0,
  rehearsed: 0,
  crashed: 1,
  usage: 2,
  refused: 3,
  failed: 4,
  broken: 5,
};

export const isSuccess = (outcome: Outcome): boolean => outcome !== 'cancelled' && exitCodes[outcome] === 0;
