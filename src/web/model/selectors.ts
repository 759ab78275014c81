import type { EndState } from '../../wire/codes.ts';
import type { Run, Status } from '../../wire/status.ts';
import { isOpen, type PageState } from './page-state.ts';

/** The run that is on, as far as the page knows. */
export function openRun({ watched, status, isWatchedUnknown }: PageState): Run | null {
  if (isOpen(watched) && !isWatchedUnknown) return watched;
  const last = status?.run;
  return isOpen(last) && last.id !== watched?.id ? last : null;
}

/** The run for whose end the page is loaded anew (docs/contract.md 10.4); null where it is not, or not yet. */
export function reloadFor({ watched, watchedEndedAt, answeredAt, status }: PageState): string | null {
  if (watched?.outcome !== 'updated' || watchedEndedAt === null) return null;
  // A server that does not know the end yet may be the old one, with the old page.
  const isAnswered = answeredAt !== null && answeredAt > watchedEndedAt;
  const isKnown = status !== null && (status.run?.id !== watched.id || status.run.outcome !== null);
  return isAnswered && isKnown ? watched.id : null;
}

export type EndKind = 'updated' | 'unchanged' | 'failed' | 'cancelled' | 'broken' | 'other-end';

const endKinds: Record<EndState, EndKind> = {
  updated: 'updated',
  unchanged: 'unchanged',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'cancelled',
  broken: 'broken',
  crashed: 'broken',
};

/** How a run has ended, as the views tell ends apart. */
export const endKind = ({ outcome }: Run): EndKind => known(endKinds, outcome ?? '') ?? 'other-end';
export const isGoodEnd = (run: Run): boolean => ['updated', 'unchanged', 'cancelled'].includes(endKind(run));

/** A run to an older version, back to the data that were kept. */
export const isBack = (run: Run | null): boolean => run?.kind === 'back';

export const serversBehind = (status: Status | null): Status['buildServers'] =>
  status?.buildServers.filter(({ behind }) => behind) ?? [];

/** The address of the page about a version, where that is the latest one. */
export const newsUrl = (status: Status | null, version: string | null): string | null =>
  status?.latest?.version === version ? (status?.latest?.url ?? null) : null;

/** Whether two versions are the same, however they are written: hosts write them with a `v` and without. */
export const isSame = (one: string, other: string): boolean =>
  one.replace(/^v/, '') === other.replace(/^v/, '');

/** What a table has for a code of the server's. A newer server may have others, one called `constructor`, too. */
export const known = <T>(table: Readonly<Record<string, T>>, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined;
