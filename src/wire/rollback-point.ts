import type { RestorePoint, Run } from './status.ts';

/** An update that can be rolled back, with its restore point. */
export type PastPoint = Run & { restorePoint: RestorePoint };

/**
 * The update that `rollback` would roll back: the last past run that changed anything, if it was an update that saved a
 * restore point and was not rolled back automatically. Null otherwise. The updater has the last word.
 * @param past newest first
 */
export function pointOf(past: readonly Run[]): PastPoint | null {
  const last = past.find(({ outcome, rolledBack }) => rolledBack !== null || changing.includes(outcome));
  // The data that a rollback saves is for manual recovery.
  const isOffered = last?.kind === 'update' && last.rolledBack === null;
  return isOffered && last.restorePoint ? { ...last, restorePoint: last.restorePoint } : null;
}

/** All other outcomes change nothing. */
const changing: readonly Run['outcome'][] = ['updated', 'broken', 'crashed'];

/**
 * Seconds for which the product and its data services were stopped for the last restore point; null if unknown.
 * @param past newest first
 */
export const secondsToSave = (past: readonly Run[]): number | null =>
  past.find(({ restorePoint }) => restorePoint !== null && restorePoint.downtimeSeconds !== null)
    ?.restorePoint?.downtimeSeconds ?? null;
