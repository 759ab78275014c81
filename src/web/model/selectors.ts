import { byItself, type EndState } from '../../wire/codes.ts';
import type { Order } from '../../wire/reader.ts';
import type { PendingStep, Run, Status } from '../../wire/status.ts';
import { isOpen, type PageState } from './page-state.ts';

/** The run that is on, as far as the page knows. */
export function openRun({ watched, status, isWatchedUnknown }: PageState): Run | null {
  if (isOpen(watched) && !isWatchedUnknown) return watched;
  const last = status?.run;
  return isOpen(last) && last.id !== watched?.id ? last : null;
}

/** The run for whose end the page is loaded anew (docs/contract.md 10.4); null where it is not, or not yet. */
export function reloadFor(state: PageState): string | null {
  const { watched, watchedEndedAt, answeredAt } = state;
  if (watched?.outcome !== 'updated' || watchedEndedAt === null || betweenOf(state)) return null;
  const isAnswered = answeredAt !== null && answeredAt > watchedEndedAt;
  return isAnswered && isEndKnown(state, watched) ? watched.id : null;
}

/** A server that does not know the end of a run yet may be the old one, with the old page. */
const isEndKnown = ({ status }: PageState, { id }: Run): boolean =>
  status !== null && (status.run?.id !== id || status.run.outcome !== null);

/** Two updates of a path, where none is on. A stream tells the end of one before any status tells what comes next. */
export function betweenOf(state: PageState): PendingStep | null {
  const { status, watched, watchedEndedAt, answeredAt } = state;
  if (openRun(state)) return null;
  const isTold =
    watched === null ||
    watchedEndedAt === null ||
    (answeredAt !== null && answeredAt >= watchedEndedAt && isEndKnown(state, watched));
  if (isTold) return status?.pendingStep ?? null;
  const place = placeOf(watched);
  const to = place && watched.outcome === 'updated' ? place.versions[place.at + 1] : undefined;
  const since = watched.endedAt ?? watched.startedAt;
  return to === undefined ? null : { to, reason: null, since, until: '' };
}

/** Where on a path something is: the first of its versions is 0. */
export interface PathPlace {
  versions: readonly string[];
  at: number;
}

/** The place of a run on the path that it is a step of. */
export function placeOf(run: Run | null | undefined): PathPlace | null {
  if (!run || run.upgradePath.length < 2) return null;
  const at = run.upgradePath.indexOf(run.to ?? '');
  return at < 0 ? null : { versions: run.upgradePath, at };
}

/** The place that a path has come to between two of its updates. */
export const placeBetween = ({ status, watched }: PageState, { to }: PendingStep): PathPlace | null =>
  [status?.run, watched].map(placeOf).find((place) => place?.versions[place.at + 1] === to) ?? null;

/** The versions up to the latest one, where there is one at least between that and what runs. */
export function offeredPath({ next, latest }: Status): readonly string[] {
  const { upgradePath: path = [] } = next ?? {};
  return path.length > 1 && path.at(-1) === latest?.version ? path : [];
}

/** What a person who wants what is newest asks for. */
export function orderOf(status: Status): Order {
  const last = offeredPath(status).at(-1);
  return last === undefined ? { target: status.next?.version ?? '' } : { target: last, allSteps: true };
}

/** The end of a run that nobody has asked for and that has changed nothing: it never has to be read. */
export const isQuiet = ({ by, outcome }: Run): boolean =>
  by === byItself && (outcome === 'cancelled' || outcome === 'refused');

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

/** Whether the run restores an older version and its data. */
export const isRollback = (run: Run | null): boolean => run?.kind === 'rollback';

export const outdatedServers = (status: Status | null): Status['buildServers'] =>
  status?.buildServers.filter(({ outdated }) => outdated) ?? [];

/** The address of the page about a version, where that is the latest one. */
export const newsUrl = (status: Status | null, version: string | null): string | null =>
  status?.latest?.version === version ? (status?.latest?.url ?? null) : null;

/** Whether two versions are the same, however they are written: hosts write them with a `v` and without. */
export const isSame = (one: string, other: string): boolean =>
  one.replace(/^v/, '') === other.replace(/^v/, '');

/** What a table has for a code of the server's. A newer server may have others, one called `constructor`, too. */
export const known = <T>(table: Readonly<Record<string, T>>, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined;
