import { durationMsOf } from '../../wire/derived/phase-rows.ts';
import type { Run } from '../../wire/status.ts';

/** Number of recent updates on which the estimate is based. */
const maxCountedUpdates = 3;

/**
 * Returns the median duration of recent updates; null if no update has succeeded. If `isReady` is true, the images are
 * local, so the pull is not counted.
 * @param past - runs, newest first
 */
export function estimateUpdateSeconds(
  past: readonly Run[],
  { isReady }: { isReady: boolean },
): number | null {
  const took = past
    .filter(
      ({ kind, outcome, rolledBack }) => kind === 'update' && outcome === 'updated' && rolledBack === null,
    )
    .slice(0, maxCountedUpdates)
    .flatMap(({ steps }) => {
      const counted = steps.filter(({ state }) => state !== 'waiting' && !(isReady && state === 'pull'));
      return durationMsOf(counted, Number.NaN) || [];
    })
    .sort((a, b) => a - b);
  const middle = took[Math.floor(took.length / 2)];
  return middle === undefined ? null : Math.round(middle / 1000);
}
