import { isGoodEnd } from './codes.ts';
import type { PendingStep, Run } from './status.ts';

/** A position on an upgrade path, counted from 0. */
export interface PathPlace {
  versions: readonly string[];
  at: number;
}

/** The position of a run on its upgrade path. */
export function runPlace(run: Pick<Run, 'upgradePath' | 'to'> | null | undefined): PathPlace | null {
  if (!run || run.upgradePath.length < 2) return null;
  const at = run.upgradePath.indexOf(run.to ?? '');
  return at < 0 ? null : { versions: run.upgradePath, at };
}

/** The step after a run on its upgrade path; null if the run is the last step or a single update. */
export function afterOnPath(run: Pick<Run, 'upgradePath' | 'to'>): string | null {
  const place = runPlace(run);
  return place?.versions[place.at + 1] ?? null;
}

/** The same, but null if the run did not succeed. */
export const nextOnPath = (run: Pick<Run, 'upgradePath' | 'to' | 'outcome'>): string | null =>
  isGoodEnd(run.outcome) ? afterOnPath(run) : null;

/** The next step as the run itself shows it, until the status contains it. */
export function expectedStep(run: Run): PendingStep | null {
  const to = nextOnPath(run);
  return to === null ? null : { to, reason: null, since: run.endedAt ?? run.startedAt, until: '' };
}
