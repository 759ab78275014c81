import type { RestorePoint, Run } from '../status.ts';

/** An update with a restore point, so that it can be rolled back. */
export type RollbackableRun = Run & { restorePoint: RestorePoint };

/**
 * Returns the update that a rollback would undo. This is the last run that changed anything, if it was an update that
 * saved a restore point and was not rolled back automatically; otherwise null. The updater makes the final decision.
 * @param past past runs, newest first
 */
export function findRollbackableRun(past: readonly Run[]): RollbackableRun | null {
  const last = past.find(({ outcome, rolledBack }) => rolledBack !== null || changing.includes(outcome));
  // A rollback cannot be undone: the data that it saves is only for manual recovery.
  const isOffered = last?.kind === 'update' && last.rolledBack === null;
  return isOffered && last.restorePoint ? { ...last, restorePoint: last.restorePoint } : null;
}

/** Outcomes of runs that may have changed the instance. */
const changing: readonly Run['outcome'][] = ['updated', 'broken', 'crashed'];

/**
 * Returns the seconds for which the product and its data services were stopped while the last restore point was saved;
 * null if unknown.
 * @param past past runs, newest first
 */
export const findSaveDowntimeSeconds = (past: readonly Run[]): number | null =>
  past.find(({ restorePoint }) => restorePoint !== null && restorePoint.downtimeSeconds !== null)
    ?.restorePoint?.downtimeSeconds ?? null;
