import { mayBeAway } from '../../wire/phase-rows.ts';
import { openRun } from './dialog-view.ts';
import type { PageState } from './page-state.ts';

/** What the title of the tab says of an update; null where it says what the page itself wants. */
export type TitleView =
  | { kind: 'percent'; percent: number }
  | { kind: 'updating' }
  | { kind: 'away'; absent: number }
  | { kind: 'updated'; version: string }
  | { kind: 'ended' }
  | null;

export function titleView(state: PageState, now: number, dismissed: ReadonlySet<string>): TitleView {
  const run = openRun(state);
  const { absence, watched, version } = state;
  if (run) {
    if (absence && mayBeAway(run)) return { kind: 'away', absent: now - absence.since };
    return run.percent === null ? { kind: 'updating' } : { kind: 'percent', percent: run.percent };
  }
  if (watched === null || watched.outcome === null || dismissed.has(watched.id)) return null;
  if (watched.outcome === 'updated') return version === null ? null : { kind: 'updated', version };
  return watched.outcome === 'unchanged' || watched.outcome === 'cancelled' ? null : { kind: 'ended' };
}
