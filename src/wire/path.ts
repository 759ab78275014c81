import { isGoodEnd } from './codes.ts';
import type { Run } from './status.ts';

/** The release that comes after a run on its path; null where that is the last, or is on none. */
export function afterOnPath({ upgradePath: path, to }: Pick<Run, 'upgradePath' | 'to'>): string | null {
  const at = to === null ? -1 : path.indexOf(to);
  return at < 0 ? null : (path[at + 1] ?? null);
}

/** The same where the run has ended so that the path goes on. */
export const nextOnPath = (run: Pick<Run, 'upgradePath' | 'to' | 'outcome'>): string | null =>
  isGoodEnd(run.outcome) ? afterOnPath(run) : null;
