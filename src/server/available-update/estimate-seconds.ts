import { durationMsOf } from '../../wire/derived/phase-rows.ts';
import type { Run } from '../../wire/status.ts';

/** Number of recent updates that are used for the estimate. */
const telling = 3;

/**
 * Estimates the duration of an update in seconds: the median of the last successful updates, without the wait for jobs.
 * If the images are already local (`isReady`), the pull is also excluded. Null if there is no successful update.
 * @param past newest first
 */
export function estimateUpdateSeconds(
  past: readonly Run[],
  { isReady }: { isReady: boolean },
): number | null {
  const took = past
    .filter(
      ({ kind, outcome, rolledBack }) => kind === 'update' && outcome === 'updated' && rolledBack === null,
    )
    .slice(0, telling)
    .flatMap(({ steps }) => {
      const counted = steps.filter(({ state }) => state !== 'waiting' && !(isReady && state === 'pull'));
      return durationMsOf(counted, Number.NaN) || [];
    })
    .sort((a, b) => a - b);
  const middle = took[Math.floor(took.length / 2)];
  return middle === undefined ? null : Math.round(middle / 1000);
}
