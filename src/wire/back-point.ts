import type { RestorePoint, Run } from './status.ts';

/** A run that can be gone back from, and what it has kept. */
export type PastPoint = Run & { point: RestorePoint };

/**
 * The run that `back` would undo, of the past ones, the newest first: the last that has changed anything, where it has
 * kept a restore point and has not gone back by itself. Null where there is none; the updater has the last word.
 */
export function pointOf(past: readonly Run[]): PastPoint | null {
  const last = past.find(({ outcome, wentBack }) => wentBack !== null || changing.includes(outcome));
  return last?.point && last.wentBack === null ? { ...last, point: last.point } : null;
}

/** The others leave everything as it was. */
const changing: readonly Run['outcome'][] = ['updated', 'broken', 'crashed'];

/** Seconds that the data were kept the last time, while the product was away; null where no run tells. */
export function secondsToKeep(past: readonly Run[]): number | null {
  const seconds = past.flatMap(({ point, steps }) =>
    steps.flatMap(({ state, startedAt, endedAt }) => {
      const took = (Date.parse(endedAt ?? '') - Date.parse(startedAt)) / 1000;
      return point !== null && state === 'save' && took >= 0 ? [Math.round(took * 10) / 10] : [];
    }),
  );
  return seconds[0] ?? null;
}
