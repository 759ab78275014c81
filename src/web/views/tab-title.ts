import { isSuccessfulOrCancelledRun } from '../../presentation/present-result.ts';
import type { TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import { canProductBeUnavailable } from '../../wire/derived/phase-rows.ts';
import type { PageState } from '../model/page-state.ts';
import {
  findPendingStep,
  findRunInProgress,
  isAutomaticRunWithoutChange,
  isRollbackRun,
} from '../model/selectors.ts';

/**
 * Returns the tab title during and after an update. Returns null if the page keeps its own title.
 * @param now - current value of `performance.now()`
 * @param dismissed - ids of the runs whose results were dismissed in this browser
 */
export function formatTabTitle(
  state: PageState,
  { now, dismissed }: { now: number; dismissed: ReadonlySet<string> },
  t: TextsAndFormats,
): string | null {
  const run = findRunInProgress(state);
  const { outage, watched, version } = state;
  if (run) {
    if (outage && canProductBeUnavailable(run))
      return t.titleUnavailable(t.duration(now - outage.since), t.product);
    if (run.percent !== null) return t.titlePercent(run.percent, t.product);
    return isRollbackRun(run) ? t.titleRollback(t.product) : t.titleUpdating(t.product);
  }
  if (findPendingStep(state)) return t.titleUpdating(t.product);
  if (
    watched === null ||
    watched.outcome === null ||
    dismissed.has(watched.id) ||
    isAutomaticRunWithoutChange(watched)
  )
    return null;
  if (watched.outcome === 'updated') return version === null ? null : t.titleUpdated(version, t.product);
  if (isSuccessfulOrCancelledRun(watched)) return null;
  return isRollbackRun(watched) ? t.titleRollbackFailed(t.product) : t.titleFailed(t.product);
}
