import { automaticCaller } from '../../wire/codes.ts';
import {
  findExpectedUpgradeStep,
  findUpgradePathPosition,
  type UpgradePathPosition,
} from '../../wire/derived/upgrade-path-position.ts';
import type { PendingStep, Run } from '../../wire/status.ts';
import { isRunInProgress, type PageState } from './page-state.ts';

export function findRunInProgress({ watched, status, isWatchedUnknown }: PageState): Run | null {
  if (isRunInProgress(watched) && !isWatchedUnknown) return watched;
  const last = status?.run;
  return isRunInProgress(last) && last.id !== watched?.id ? last : null;
}

/**
 * Returns the id of the completed update after which the page must reload (docs/contract.md 10.4). Returns null if the
 * page must not reload, or not yet.
 */
export function findRunIdToReloadAfter(state: PageState): string | null {
  const { watched, watchedEndedAt, answeredAt } = state;
  if (watched?.outcome !== 'updated' || watchedEndedAt === null || findPendingStep(state)) return null;
  const isAnswered = answeredAt !== null && answeredAt > watchedEndedAt;
  return isAnswered && isResultKnown(state, watched) ? watched.id : null;
}

/**
 * Whether the server knows the result of the run. A server that does not may be the old one, and would serve the old
 * page.
 */
const isResultKnown = ({ status }: PageState, { id }: Run): boolean =>
  status !== null && (status.run?.id !== id || status.run.outcome !== null);

/**
 * Returns the next step between two updates of an upgrade path. The event stream reports the end of a run before the
 * status reports the next step. Until then, the step is derived from the completed run.
 */
export function findPendingStep(state: PageState): PendingStep | null {
  const { status, watched, watchedEndedAt, answeredAt } = state;
  if (findRunInProgress(state)) return null;
  const isTold =
    watched === null ||
    watchedEndedAt === null ||
    (answeredAt !== null && answeredAt >= watchedEndedAt && isResultKnown(state, watched));
  return isTold ? (status?.pendingStep ?? null) : findExpectedUpgradeStep(watched);
}

export const findPendingStepPosition = (
  { status, watched }: PageState,
  { to }: PendingStep,
): UpgradePathPosition | null =>
  [status?.run, watched]
    .map(findUpgradePathPosition)
    .find((location) => location?.versions[location.at + 1] === to) ?? null;

/**
 * Whether the run was automatic and was cancelled or refused. Such a run has changed nothing, so its result need not be
 * shown.
 */
export const isAutomaticRunWithoutChange = ({ by, outcome }: Run): boolean =>
  by === automaticCaller && (outcome === 'cancelled' || outcome === 'refused');

export const isRollbackRun = (run: Run | null): boolean => run?.kind === 'rollback';
