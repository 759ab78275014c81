import { isSuccessfulOutcome } from '../codes.ts';
import type { PendingStep, Run } from '../status.ts';

/** Position on an upgrade path. `at` counts from 0. */
export interface UpgradePathPosition {
  versions: readonly string[];
  at: number;
}

/** Returns null for a single update, or if the target of the run is not on the path. */
export function findUpgradePathPosition(
  run: Pick<Run, 'upgradePath' | 'to'> | null | undefined,
): UpgradePathPosition | null {
  if (!run || run.upgradePath.length < 2) return null;
  const at = run.upgradePath.indexOf(run.to ?? '');
  return at < 0 ? null : { versions: run.upgradePath, at };
}

/** Returns null for the last step and for a single update. */
export function findNextStepVersion(run: Pick<Run, 'upgradePath' | 'to'>): string | null {
  const location = findUpgradePathPosition(run);
  return location?.versions[location.at + 1] ?? null;
}

/** Returns null unless the run succeeded and has a next step. */
export const findNextStepVersionAfterSuccess = (
  run: Pick<Run, 'upgradePath' | 'to' | 'outcome'>,
): string | null => (isSuccessfulOutcome(run.outcome) ? findNextStepVersion(run) : null);

/**
 * Returns the step that the status will contain as its pending step. Returns null if the run failed or was the last
 * step.
 */
export function findExpectedUpgradeStep(run: Run): PendingStep | null {
  const to = findNextStepVersionAfterSuccess(run);
  return to === null ? null : { to, reason: null, since: run.endedAt ?? run.startedAt, until: '' };
}
