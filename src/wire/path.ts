import { isGoodEnd } from './codes.ts';
import type { Run } from './status.ts';

/** The step after a run on its upgrade path; null if the run is the last step or a single update. */
export function afterOnPath({ upgradePath, to }: Pick<Run, 'upgradePath' | 'to'>): string | null {
  const at = to === null ? -1 : upgradePath.indexOf(to);
  return at < 0 ? null : (upgradePath[at + 1] ?? null);
}

/** The same, but null if the run did not succeed. */
export const nextOnPath = (run: Pick<Run, 'upgradePath' | 'to' | 'outcome'>): string | null =>
  isGoodEnd(run.outcome) ? afterOnPath(run) : null;
