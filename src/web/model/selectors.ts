import { automaticCaller } from '../../wire/codes.ts';
import {
  findExpectedStep,
  findUpgradePathPosition,
  type PathPosition,
} from '../../wire/derived/upgrade-path-position.ts';
import type { PendingStep, Run } from '../../wire/status.ts';
import { isRunInProgress, type PageState } from './page-state.ts';

/** Returns the run in progress, as far as the page knows. */
export function findRunInProgress({ watched, status, isWatchedUnknown }: PageState): Run | null {
  if (isRunInProgress(watched) && !isWatchedUnknown) return watched;
  const last = status?.run;
  return isRunInProgress(last) && last.id !== watched?.id ? last : null;
}

/**
 * Returns the id of the run after which the page must reload now (docs/contract.md 10.4). Null if the page must not
 * reload, or not yet.
 */
export function findReloadRunId(state: PageState): string | null {
  const { watched, watchedEndedAt, answeredAt } = state;
  if (watched?.outcome !== 'updated' || watchedEndedAt === null || findPendingStep(state)) return null;
  const isAnswered = answeredAt !== null && answeredAt > watchedEndedAt;
  return isAnswered && isEndKnown(state, watched) ? watched.id : null;
}

/**
 * Checks whether the server has the result of a run. If not, it may still be the old server, which serves the old page.
 */
const isEndKnown = ({ status }: PageState, { id }: Run): boolean =>
  status !== null && (status.run?.id !== id || status.run.outcome !== null);

/**
 * Returns the pending step between two updates of an upgrade path. It may be unknown for a moment, because a stream
 * reports the end of a step before the status reports the next step.
 */
export function findPendingStep(state: PageState): PendingStep | null {
  const { status, watched, watchedEndedAt, answeredAt } = state;
  if (findRunInProgress(state)) return null;
  const isTold =
    watched === null ||
    watchedEndedAt === null ||
    (answeredAt !== null && answeredAt >= watchedEndedAt && isEndKnown(state, watched));
  return isTold ? (status?.pendingStep ?? null) : findExpectedStep(watched);
}

/** Returns the position on an upgrade path while its next step is pending. */
export const findPendingStepPosition = (
  { status, watched }: PageState,
  { to }: PendingStep,
): PathPosition | null =>
  [status?.run, watched].map(findUpgradePathPosition).find((place) => place?.versions[place.at + 1] === to) ??
  null;

/** Checks whether a run was started automatically and changed nothing, so that its result need not be shown. */
export const isUneventfulRun = ({ by, outcome }: Run): boolean =>
  by === automaticCaller && (outcome === 'cancelled' || outcome === 'refused');

/** Checks whether a run is a rollback, which restores an older version and its data. */
export const isRollbackRun = (run: Run | null): boolean => run?.kind === 'rollback';
