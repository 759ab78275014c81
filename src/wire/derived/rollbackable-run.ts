import type { RestorePoint, Run } from '../status.ts';

export type RollbackableRun = Run & { restorePoint: RestorePoint };

/**
 * Returns the last run that changed the instance and was not rolled back automatically; null if that run was a rollback
 * or saved no restore point. Only the updater can determine whether a rollback is possible.
 * @param past - runs, newest first
 */
export function findRollbackableRun(past: readonly Run[]): RollbackableRun | null {
  const last = past.find(({ outcome, rolledBack }) => rolledBack === null && changing.includes(outcome));
  // A rollback cannot be rolled back, because the data that it saves is only for manual recovery.
  return last?.kind === 'update' && last.restorePoint ? { ...last, restorePoint: last.restorePoint } : null;
}

/** Outcomes of runs that may have changed the instance. */
const changing: readonly Run['outcome'][] = ['updated', 'broken', 'crashed'];

/**
 * Returns the downtime of the last successful run that saved a restore point, until the new version was running if that was
 * measured; null if the downtime is unknown. @param past - runs, newest first
 */
export function findDataSavingDowntimeSeconds(past: readonly Run[]): number | null {
  const last = past.find(
    ({ outcome, restorePoint }) =>
      outcome === 'updated' && restorePoint !== null && restorePoint.downtimeSeconds !== null,
  );
  const saving = last?.restorePoint?.downtimeSeconds ?? null;
  return saving === null ? null : Math.max(saving, last?.downtimeSeconds ?? 0);
}
