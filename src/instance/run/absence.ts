import type { Run } from '../../wire/status.ts';
import type { OpenRun } from '../store/open-run.ts';

/** Longer than any server takes to come back: then a clock was set. */
const longestMs = 3_600_000;

/** How long nobody answered, where a server before this one has noted its end, and this one began then. */
export function absence({ serverStoppedAt }: OpenRun, bootedAt: number): Partial<Pick<Run, 'away'>> {
  const ms = bootedAt - Date.parse(serverStoppedAt ?? '');
  return ms >= 0 && ms < longestMs ? { away: Math.round(ms / 100) / 10 } : {};
}
