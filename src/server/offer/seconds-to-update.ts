import { timeOf } from '../../wire/phase-rows.ts';
import type { Run } from '../../wire/status.ts';

/** So many of the last updates tell. */
const telling = 3;

/**
 * Seconds that an update takes, by the middle one of the last that ended well, without what they waited for jobs; null where
 * none tells. With the images here already what they pulled does not count.
 * @param past newest first
 */
export function secondsToUpdate(past: readonly Run[], { isReady }: { isReady: boolean }): number | null {
  const took = past
    .filter(
      ({ kind, outcome, rolledBack }) => kind === 'update' && outcome === 'updated' && rolledBack === null,
    )
    .slice(0, telling)
    .flatMap(({ steps }) => {
      const counted = steps.filter(({ state }) => state !== 'waiting' && !(isReady && state === 'pull'));
      return timeOf(counted, Number.NaN) || [];
    })
    .sort((a, b) => a - b);
  const middle = took[Math.floor(took.length / 2)];
  return middle === undefined ? null : Math.round(middle / 1000);
}
