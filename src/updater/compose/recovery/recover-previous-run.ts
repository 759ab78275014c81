import { join } from 'node:path';
import { requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { removeHelperContainers } from '../../../engine/containers/helper-container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { Log } from '../../run/log/run-log.ts';
import { createFailedOutcome, logLastLine, type RunOutcome } from '../../run/log/run-outcome.ts';
import type { RunContext } from '../../run/run-context.ts';
import { runSteps } from '../../run/run-steps.ts';
import type { RecoveryResult } from '../../run/run-update.ts';
import {
  formatUnfinishedRunMessage,
  isRunUnfinished,
  Journal,
  type JournalData,
  journalOutcomeFactsOf,
  moveJournalToBackup,
  nextAttemptFieldsOf,
  readJournal,
} from '../../run/state/journal.ts';
import type { Lock } from '../../run/state/lock.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import {
  isBeforeReplacing,
  loggedPhaseOf,
  rollbackOf,
  runOutcomeOf,
  unfinishedStateOf,
} from '../../run/state/run-state.ts';
import { logFileName } from '../../run/state/state-directory.ts';
import { startDataServices } from '../data-services/start-data-services.ts';
import { ComposeRun } from '../loop/compose-run.ts';
import { createRolledBackWithDataError, recordRollbackStart } from '../loop/decide-rollback.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { beginRollbackWithData, findRestorePointRecord } from '../rollback/restore-data.ts';
import { removeRunRestorePoint } from '../save/remove-run-restore-point.ts';
import { gatherPreviousRunFacts } from './gather-previous-run.ts';
import { maxUpdaterStarts, planRecovery } from './plan-recovery.ts';
import type { LockedInstance, ProjectRunState } from './project-run-state.ts';

/**
 * Completes or undoes an interrupted run, or returns the run to resume. Also makes the log write to the state
 * directory.
 * @throws UpdateError files-not-restored, containers-not-restored, killed-repeatedly, broken
 */
export async function recoverPreviousRun(
  context: RunContext,
  { lock, instance }: LockedInstance,
  soFar: ProjectRunState,
): Promise<RecoveryResult<JournalData | null, ComposeRun>> {
  const { log } = context;
  if (lock.takenOver) await removeHelperContainers(context.engine, instance.location.name);
  const data = await readPreviousJournal(lock, log);
  log.copyTo(join(lock.state, logFileName), { add: data !== null && data.state.at !== 'ended' });
  const fresh = { kind: 'settled', left: data } as const;
  if (data === null || !isRunUnfinished(data)) return fresh;
  soFar.previousRun = { data, stands: true };
  log.warn(formatUnfinishedRunMessage(data));
  const { files, facts, rejection } = await gatherPreviousRunFacts(context, instance, data);
  const step = planRecovery(data, facts);
  if (rejection !== null && (step.kind === 'resume' || step.kind === 'complete')) throw rejection;
  const journal = new Journal(lock, data);
  const work = { ...context, journal };
  if (step.kind !== 'start-over' && step.kind !== 'leave') {
    // Record this container as the owner of the journal.
    await journal.tryWrite({
      files,
      containerId: instance.own.id,
      ...nextAttemptFieldsOf(data),
      attempt: facts.attempt,
      // A `roll-back` keeps the outcome in the journal, so that a crash stays recorded even if this run is killed.
      ...(step.kind !== 'roll-back' && { state: unfinishedStateOf(data.state) ?? data.state }),
    });
  }
  const over = { data, stands: false };
  switch (step.kind) {
    case 'start-over':
      return fresh;
    case 'leave': {
      // Services that the interrupted run stopped to save their data must be started again.
      if (isBeforeReplacing(data.state)) {
        // Ports are read in a helper container that uses the image of the recorded updater container. The recorded
        // container may have been removed, so record this container instead.
        await journal.tryWrite({ containerId: instance.own.id });
        const without = ['restore-files', 'end-restore-point'] as const;
        const run = new ComposeRun(context, journal, { wasKilled: true, without });
        await runSteps(run, 'rollback', log).catch(createWarningLogger(log));
        if (data.point?.state !== 'saved') await removeRunRestorePoint(work);
      }
      const location = await moveJournalToBackup(lock.state, data);
      log.warn(
        `${step.because}: files or containers have changed since the update was interrupted, so the update was not undone; the journal was moved to ${location}`,
      );
      soFar.previousRun = over;
      return fresh;
    }
    case 'resume':
      soFar.journal = journal;
      log.info('resuming the interrupted update');
      await startServicesOfSavedData(work);
      return { kind: 'resume', run: new ComposeRun(context, journal) };
    case 'undo': {
      if (facts.hasNewVersionStarted) {
        soFar.journal = journal;
        if (shouldRestoreData(context, data))
          await beginRestorePointRollback(work, 'the update was interrupted');
        soFar.journal = null;
      }
      if (rollbackOf(journal.data.state) === null) await recordRollbackStart(work, null);
      const run = new ComposeRun(context, journal, { wasKilled: true });
      await runSteps(run, 'rollback', log);
      if (!run.isOvertaken) log.info(`the interrupted update was undone, and ${data.from} has been restored`);
      soFar.previousRun = over;
      if (step.afterwards.kind === 'repeat') {
        soFar.journal = journal;
        return { kind: 'ended', ending: logLastLine(step.afterwards.ending, log) };
      }
      if (step.afterwards.kind === 'give-up') {
        // Keep the journal, so that a restarted container of this run reports the error again.
        soFar.journal = journal;
        throw new UpdateError('killed-repeatedly', describeRepeatedFailure(data));
      }
      await journal.closeForLaterRun('cancelled', 'the update was interrupted, and the next run undid it');
      return fresh;
    }
    case 'complete':
      await completeUpdate(work, step.changeover);
      await journal.closeForLaterRun('broken', 'another update was started before this one was verified');
      soFar.previousRun = over;
      return fresh;
    case 'roll-back': {
      soFar.journal = journal;
      const ending = await beginRestorePointRollback(work, describeRepeatedFailure(data));
      if (ending === null) throw new UpdateError('broken', "the restore point's record is missing");
      await runSteps(new ComposeRun(context, journal, { wasKilled: true }), 'rollback', log);
      return { kind: 'ended', ending: logLastLine(ending, log) };
    }
    case 'give-up': {
      soFar.journal = journal;
      const why = data.point?.state === 'saved' ? '--no-rollback was given' : 'there is no restore point';
      throw new UpdateError('broken', describeRepeatedFailure(data), {
        state: `the new version has started, but it was not verified; it was not rolled back, because ${why}`,
      });
    }
  }
}

/**
 * Whether undoing the run must also restore data. Before containers are replaced, only another process can have started
 * the new version. The new version may have changed the data.
 */
const shouldRestoreData = ({ options }: RunContext, { state }: JournalData): boolean =>
  rollbackOf(state) === null && isBeforeReplacing(state) && !options.noRollback;

/**
 * Begins a rollback to the restore point. Returns the outcome that the run will have after the rollback; null if the
 * restore point's record is missing.
 * @throws UpdateError broken
 */
async function beginRestorePointRollback(context: JournaledContext, why: string): Promise<RunOutcome | null> {
  const { journal } = context;
  const unusable = (cause: UpdateError) => {
    throw new UpdateError('broken', `the restore point cannot be used: ${cause.message}`, { cause });
  };
  const record = await findRestorePointRecord(journal).catch(unusable);
  if (record === null) return null;
  const facts = { ...journalOutcomeFactsOf(journal.data), product: context.options.product };
  const { lines, ...outcome } = createFailedOutcome(
    createRolledBackWithDataError(record.point, why),
    facts,
    context.log,
  );
  for (const line of lines) context.log.error(line);
  await beginRollbackWithData(context, { record, back: journal.data }, outcome);
  return outcome;
}

/**
 * Starts the data services again if data was saved. On a full disk, a killed run may have stopped all services without
 * a journal entry.
 */
async function startServicesOfSavedData(context: JournaledContext): Promise<void> {
  if (context.journal.data.point?.state !== 'saved') return;
  await startDataServices(context).catch(createWarningLogger(context.log));
}

/** Returns a handler that logs a failure without ending the run. */
const createWarningLogger =
  (log: Log) =>
  (error: unknown): void => {
    const { detail, message } = requireUpdateError(error);
    for (const line of [...detail, message]) log.warn(line);
  };

/** Reads the journal of a previous run. A malformed journal is moved to the backups and treated as missing. */
async function readPreviousJournal({ state }: Lock, log: Log): Promise<JournalData | null> {
  const previous = await readJournal(state);
  if (previous === null || !('unreadable' in previous)) return previous;
  const location = await moveJournalToBackup(state, previous);
  log.warn(`the journal of an earlier run cannot be read (${previous.mistake}); it was moved to ${location}`);
  return null;
}

const describeRepeatedFailure = ({ state }: JournalData): string =>
  `this updater ${runOutcomeOf(state)?.outcome === 'crashed' ? 'crashed' : `was interrupted ${maxUpdaterStarts} times`} during the ${loggedPhaseOf(state)} phase and will not try again automatically`;

/** Completes the interrupted update to a version that has already started, without verifying that it is healthy. */
async function completeUpdate(context: JournaledContext, rollout: Rollout): Promise<void> {
  const { log, journal } = context;
  const { goal } = rollout.words;
  const names = rollout.moved.map(({ name }) => name);
  log.info(`${goal} has already started; completing the interrupted update of ${joinWithAnd(names)} first`);
  // With `started` in the journal, the next run starts any container that exits during this attempt.
  await journal.tryWrite({ started: true });
  await startServicesOfSavedData(context);
  const run = new ComposeRun(context, journal, { without: ['announce', 'verify'] });
  await runSteps(run, 'update', log).catch(createWarningLogger(log));
}
