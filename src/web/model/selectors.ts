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

/** If the page must reload now, returns the id of the completed update (docs/contract.md 10.4). Otherwise null. */
export function findRunIdToReloadAfter(state: PageState): string | null {
  const { watched, watchedEndedAt, answeredAt } = state;
  if (watched?.outcome !== 'updated' || watchedEndedAt === null || findPendingStep(state)) return null;
  const isAnswered = answeredAt !== null && answeredAt > watchedEndedAt;
  return isAnswered && isResultKnown(state, watched) ? watched.id : null;
}

/** A server without the result may be the old server, and would serve the old page. */
const isResultKnown = ({ status }: PageState, { id }: Run): boolean =>
  status !== null && (status.run?.id !== id || status.run.outcome !== null);

/**
 * An event stream reports the end of a run before the status reports the next step. Until then, derive the step from
 * the completed run.
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

/** An automatic run without changes: its result need not be shown. */
export const isAutomaticRunWithoutChange = ({ by, outcome }: Run): boolean =>
  by === automaticCaller && (outcome === 'cancelled' || outcome === 'refused');

export const isRollbackRun = (run: Run | null): boolean => run?.kind === 'rollback';
