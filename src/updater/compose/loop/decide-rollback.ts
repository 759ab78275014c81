import { CancelledError, InterruptedError } from '../../../core/cancellation/cancelled.ts';
import { requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import type { RestorePointRecord } from '../../data/copies/restore-point-record.ts';
import { formatRestorePointTime, type RestorePointRecordData } from '../../data/restore-point.ts';
import { createFailedOutcome, maskOutcome, type RunOutcome } from '../../run/log/run-outcome.ts';
import { journalOutcomeFactsOf } from '../../run/state/journal.ts';
import { hasNewVersionStarted } from '../../run/state/rollout.ts';
import { isReplacingOrVerifying, unfinishedStateOf } from '../../run/state/run-state.ts';
import { findUserEdits } from '../concurrent-changes/find-user-edits.ts';
import { createDataContext } from '../data-services/stop-data-services.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import {
  beginRollbackWithData,
  createRollbackImpossibleError,
  findRestorePointRecord,
} from '../rollback/restore-data.ts';
import type { ComposeStepContext } from './compose-step-context.ts';

/**
 * Chooses how to roll back after an error, and records the rollback in the journal. After the rollback, the returned
 * function returns the run's final error.
 * @throws the final error of a run that cannot be rolled back
 */
export function decideRollback(work: ComposeStepContext, error: unknown): Promise<() => unknown> {
  if (error instanceof InterruptedError) throw error;
  return isReplacingOrVerifying(work.journal.data.state)
    ? chooseRollbackAfterReplacing(work, error)
    : chooseRollbackBeforeReplacing(work, error);
}

/** Called before any container has been replaced, so no container of the new version should be running. */
async function chooseRollbackBeforeReplacing(
  work: ComposeStepContext,
  cause: unknown,
): Promise<() => unknown> {
  const { lasting } = work;
  const { engine, log, options, cancellation } = lasting;
  work.close();
  const error = toSaveFailedError(cause);
  const isThere = await engine.isResponding();
  const failure = isThere && !options.noRollback ? toUncancelledError(error) : null;
  if (failure instanceof UpdateError && (await isNewVersionOnSavedData(lasting)))
    return beginDataRollback(lasting, { error: failure, record: null });
  // A signal cancelled the run, and the engine does not respond because it is shutting down. The engine will restart
  // this container, so the run counts as interrupted.
  if (error instanceof CancelledError && !isThere) throw new InterruptedError();
  // If the engine does not respond, record no outcome, so that this container begins the update again once restarted.
  if (isThere) {
    const facts = { ...work.facts(), product: options.product };
    await recordRollbackStart(lasting, createFailedOutcome(error, facts, log, cancellation.signalNumber));
  }
  const message = 'another version was started while the data was being saved';
  return () => (work.isOvertaken ? new UpdateError('containers-changed', message, { cause: error }) : error);
}

/**
 * Chooses a rollback once containers may have been replaced. If the new version has started, the rollback requires the
 * restore point.
 */
async function chooseRollbackAfterReplacing(
  work: ComposeStepContext,
  error: unknown,
): Promise<() => unknown> {
  const { lasting, journal, record } = work;
  const { engine, log, options } = lasting;
  const now = await listProjectContainers(engine, journal.data.project.name).catch((cause) => {
    if (cause instanceof InterruptedError) throw cause;
    throw new UpdateError('engine-lost', (error as Error).message, { cause });
  });
  const isBroken = error instanceof UpdateError && error.outcome === 'broken';
  if (journal.data.started || hasNewVersionStarted(work.changeover(), now.containers)) {
    const leftAlone = await findUserEdits(engine, journal.data);
    await journal.tryWrite({ started: true, ...(leftAlone && { leftAlone }) });
    const failed = requireUpdateError(error);
    if (journal.data.point?.state === 'saved' && !options.noRollback)
      return beginDataRollback(lasting, { error: failed, record });
    throw isBroken ? error : failed.withCode('broken');
  }
  record?.cancelHashing();
  const failure = isBroken ? error.withCode('recreate-failed') : error;
  const outcome = createFailedOutcome(
    failure,
    { ...journalOutcomeFactsOf(journal.data), product: options.product },
    log,
  );
  for (const line of outcome.lines) log.error(line);
  log.warn('no container of the new version was started; restoring the old version');
  await recordRollbackStart(lasting, outcome);
  return () =>
    failure instanceof UpdateError
      ? new UpdateError(failure.code, failure.message, {
          advice: failure.advice,
          isLogged: true,
          cause: failure,
        })
      : failure;
}

/** Begins a rollback of version, files and data, because a new container had started before the failure. */
async function beginDataRollback(
  context: JournaledContext,
  { error, record }: { error: UpdateError; record: RestorePointRecord | null },
): Promise<() => unknown> {
  const { log, options, cancellation, journal } = context;
  cancellation.disable();
  const { from } = journal.data;
  const facts = { ...journalOutcomeFactsOf(journal.data), product: options.product };
  for (const line of createFailedOutcome(error, facts, log).lines) log.error(line);
  const found = await findRestorePointRecord(journal).catch((cause) => {
    throw cause instanceof UpdateError ? createRollbackImpossibleError(cause) : cause;
  });
  if (found === null) throw createRollbackImpossibleError(new Error("the restore point's record is missing"));
  const { point } = found;
  log.warn(
    `${point.next} failed; rolling back to ${from} with the data saved at ${formatRestorePointTime(point)}`,
  );
  const rolledBack = createRolledBackWithDataError(point, error.message, { isLogged: true, cause: error });
  const target = { record: found, back: journal.data };
  await beginRollbackWithData(context, target, createFailedOutcome(rolledBack, facts, log));
  // Waits for the hashes that are already being computed, so that they are not computed again.
  await record?.waitForHashes(await createDataContext(context)).catch(() => {});
  return () => rolledBack;
}

export const createRolledBackWithDataError = (
  { version, at }: RestorePointRecordData,
  message: string,
  more: { isLogged?: boolean; cause?: unknown } = {},
): UpdateError =>
  new UpdateError('rolled-back', message, {
    ...more,
    state: `${version} is running again with the data saved at ${formatRestorePointTime({ at })}`,
    fields: { rolledBack: { version, at } },
  });

/**
 * A data service failed to start after the save. The rollback starts it again, so the error is `save-failed` for now.
 */
const toSaveFailedError = (error: unknown): unknown =>
  error instanceof UpdateError && error.code === 'containers-not-restored'
    ? error.withCode('save-failed')
    : error;

/** Turns a cancellation into an error that causes a rollback, because another version was started after the save. */
const toUncancelledError = (error: unknown): unknown =>
  error instanceof CancelledError
    ? new UpdateError('containers-changed', 'the update was cancelled after another version was started')
    : error;

/** Whether a concurrent command, such as `docker compose up`, started the new version after the save. */
async function isNewVersionOnSavedData({ engine, journal: { data } }: JournaledContext): Promise<boolean> {
  if (data.changeover === null || data.point?.state !== 'saved') return false;
  const { containers } = await listProjectContainers(engine, data.project.name);
  return hasNewVersionStarted(data.changeover, containers);
}

/**
 * Records in the journal that a rollback has begun.
 * @param outcome - the outcome to report after the rollback; null if the update then starts over
 */
export async function recordRollbackStart(
  { journal, log }: JournaledContext,
  outcome: RunOutcome | null,
): Promise<void> {
  const open = unfinishedStateOf(journal.data.state);
  if (open === null || open.at === 'rolling-back' || open.at === 'restoring') return;
  const kept = outcome && maskOutcome(log, outcome);
  const failure = await journal.tryWrite({ state: { at: 'rolling-back', from: open.at, ending: kept } });
  if (failure !== null) log.warn(failure);
}
