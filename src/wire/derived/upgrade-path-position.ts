import { isGoodOutcome } from '../codes.ts';
import type { PendingStep, Run } from '../status.ts';

/** An upgrade path and a position on it, counted from 0. */
export interface PathPosition {
  versions: readonly string[];
  at: number;
}

/** Returns the position of a run on its upgrade path; null if the run is a single update or not on the path. */
export function findUpgradePathPosition(
  run: Pick<Run, 'upgradePath' | 'to'> | null | undefined,
): PathPosition | null {
  if (!run || run.upgradePath.length < 2) return null;
  const at = run.upgradePath.indexOf(run.to ?? '');
  return at < 0 ? null : { versions: run.upgradePath, at };
}

/**
 * Returns the version of the step after a run on its upgrade path; null if the run is the last step or a single update.
 */
export function findNextStepVersion(run: Pick<Run, 'upgradePath' | 'to'>): string | null {
  const place = findUpgradePathPosition(run);
  return place?.versions[place.at + 1] ?? null;
}

/**
 * Returns the version of the step after a run on its upgrade path; null if the run did not succeed or has no next step.
 */
export const findNextStepVersionAfterSuccess = (
  run: Pick<Run, 'upgradePath' | 'to' | 'outcome'>,
): string | null => (isGoodOutcome(run.outcome) ? findNextStepVersion(run) : null);

/** Derives the pending step after a run, for use until the status contains that step; null if no step is pending. */
export function findExpectedStep(run: Run): PendingStep | null {
  const to = findNextStepVersionAfterSuccess(run);
  return to === null ? null : { to, reason: null, since: run.endedAt ?? run.startedAt, until: '' };
}
