import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { UpdateError } from '../../core/errors/update-error.ts';
import { settingValuesPath } from '../../core/release/release-settings.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { removeOwnHelperContainers } from '../../engine/containers/helper-container.ts';
import { addProjectOptions } from '../compose/inspect/choose-workers.ts';
import { type FoundInstance, findInstance } from '../compose/inspect/find-project/find-instance.ts';
import { maxUpdaterStarts } from '../compose/recovery/plan-recovery.ts';
import {
  createProjectRunState,
  type ProjectRunState,
  projectOutcomeFactsOf,
} from '../compose/recovery/project-run-state.ts';
import { joinWithAnd } from '../run/log/format-values.ts';
import { logLastLine, type RunOutcome } from '../run/log/run-outcome.ts';
import type { CommandLine } from '../run/options/command-line.ts';
import { runAndLogOutcome } from '../run/run-and-log-outcome.ts';
import type { InitialRunContext, RunContext } from '../run/run-context.ts';
import { isRunUnfinished, type JournalData, readJournal } from '../run/state/journal.ts';
import { removeOwnLock } from '../run/state/lock.ts';
import { stateDirectoryOf } from '../run/state/state-directory.ts';

export interface InstanceCommand {
  /** `look` commands, such as `plan` or `fetch`, take no lock, write no journal, and need no clean-up. */
  kind: 'run' | 'rollback' | 'look';
  /** Command to run again, for advice; by default, the update or the rollback. */
  again?: string;
  /** Runs the command for a compose project. `context` includes the settings file's options and the chosen workers. */
  onProject(
    context: RunContext,
    instance: FoundInstance,
    soFar: ProjectRunState,
    line: CommandLine,
  ): Promise<RunOutcome>;
  /** Runs the command for a stack and returns the exit code. Missing if the command does not support stacks. */
  onStack?(given: InitialRunContext): Promise<number>;
}

/**
 * Finds the project, reads its settings, chooses the workers and runs a command. Returns the exit code. Always logs the
 * outcome and releases the lock.
 */
export async function runInstanceCommand(given: InitialRunContext, story: InstanceCommand): Promise<number> {
  const { kind, again, onStack } = story;
  const { options } = given;
  if (onStack && options.stack.name !== null) return onStack(given);
  const [search] = await Promise.allSettled([findInstance(given)]);
  if (onStack && search.status === 'rejected') {
    const { shouldFallBackToStack } = await import('../swarm/index.ts');
    if (await shouldFallBackToStack(given, search.reason)) return onStack(given);
  }
  const soFar = createProjectRunState();
  try {
    return await runAndLogOutcome(given, {
      work: () => onProject(given, story, search, soFar),
      facts: () => ({
        ...projectOutcomeFactsOf(soFar),
        product: options.product,
        isRollback: kind === 'rollback',
        ...(again && { command: again }),
      }),
      close: (outcome) => closeRun(given, soFar, outcome),
      recordCrash: (outcome) => recordCrash(soFar, outcome),
      afterShutdown: kind === 'look' ? null : 'the update resumes when the updater is started again',
    });
  } finally {
    await soFar.lock?.release();
  }
}

async function onProject(
  given: InitialRunContext,
  story: InstanceCommand,
  search: PromiseSettledResult<FoundInstance>,
  soFar: ProjectRunState,
): Promise<RunOutcome> {
  if (search.status === 'rejected') throw search.reason;
  const instance = search.value;
  warnOfStackOptions(given);
  if (story.kind !== 'look') {
    soFar.instance = instance;
    const journal = await readOwnJournal(instance);
    if (
      journal?.state.at === 'ended' &&
      !(journal.state.ending.outcome === 'crashed' && isRunUnfinished(journal))
    ) {
      await removeOwnLock(instance.location.mountedAt, instance.own);
      given.notifier.addresses = [];
      return logLastLine({ ...journal.state.ending, exitCode: 0 }, given.log);
    }
    if (journal === null) requireGivenSettings(given);
  } else requireGivenSettings(given);
  const context = await addProjectOptions(given, instance.location);
  return story.onProject(context, instance, soFar, given.line);
}

/**
 * Warns about ignored options that only stacks support. Files that a settings file lists may be meant for `bump`, so
 * they cause no warning.
 */
function warnOfStackOptions({ options: { stack }, log }: InitialRunContext): void {
  const typed = [...(stack.files.length > 0 ? ['--file'] : []), ...(stack.stopFirst ? ['--stop-first'] : [])];
  if (typed.length > 0)
    log.warn(`ignoring ${joinWithAnd(typed)}, because this is a compose project and not a Swarm stack`);
}

/** Returns the journal if an earlier start of this container wrote it. Otherwise, returns null. */
async function readOwnJournal({ own, location }: FoundInstance): Promise<JournalData | null> {
  // Ignore an unreadable journal: it is reported with a better message when the lock is taken.
  const given = await readJournal(stateDirectoryOf(location.mountedAt)).catch(() => null);
  return given === null || 'unreadable' in given || given.containerId !== own.id ? null : given;
}

/**
 * Rejects the run if the server's settings file is missing or empty. The server never passes an empty file, so the
 * engine has lost the file.
 */
function requireGivenSettings({ line, options }: InitialRunContext): void {
  if (line.values.get('set-file')?.[0]?.value !== settingValuesPath || options.settings?.size) return;
  throw new UpdateError('settings-invalid', `${settingValuesPath} does not exist in this container`, {
    advice: 'Start the update again and enter the new settings again.',
  });
}

/** Records a crash and returns whether the engine will restart this container. */
function recordCrash({ instance, journal }: ProjectRunState, outcome: RunOutcome): boolean {
  // If the write fails, the next run continues from the last written state.
  try {
    journal?.endSynchronously(outcome);
  } catch {}
  const { restartPolicy = 'no', restartCount = 0 } = instance?.own ?? {};
  return restartPolicy !== 'no' && (restartPolicy !== 'on-failure' || restartCount < maxUpdaterStarts - 1);
}

/** Writes the outcome to the journal, and then disables this container's restart policy. */
async function closeRun(context: RunContext, soFar: ProjectRunState, ending: RunOutcome): Promise<void> {
  const { instance, lock, journal } = soFar;
  const engine = context.engine.uncancellable().quiet();
  // If the engine does not respond, the run stays unfinished. The engine later restarts this failed container, which
  // continues from the journal.
  if (ending.exitCode !== 0 && !(await engine.isResponding())) return;
  // Remove the file with the values of new settings only now, because a run that is killed and restarted needs the
  // file.
  await rm(settingValuesPath, { force: true }).catch(() => {});
  if (instance === null) return;
  // Ignore a failure: the last line is already logged, and the next run recovers this run.
  await journal?.end(ending).catch(() => {});
  if (lock !== null) await removeOwnHelperContainers(engine).catch(() => {});
  // Release the lock before the restart policy is changed. If this process is killed in between, the restarted
  // container finds the outcome in the journal and cleans up.
  await lock?.release().catch(() => {});
  const { id, restartPolicy } = instance.own;
  if (restartPolicy === 'no') return;
  const updated = await engine.setRestartPolicy(id, 'no').catch(() => null);
  if (updated === null && engine.isPodman) await stopOwnContainer(engine, id);
}

/**
 * Stops this container on Podman 4, which cannot change a restart policy. After a stop request, Podman 4 never restarts
 * a container. This process ignores SIGTERM, so its exit code does not change.
 */
async function stopOwnContainer(engine: Engine, id: string): Promise<void> {
  const told = once(process, 'SIGTERM', { signal: AbortSignal.timeout(10_000) });
  const requested = engine.request('stopContainer', {
    params: { id },
    query: { t: '60' },
    deadlineMs: 10_000,
  });
  await Promise.race([told, requested]).catch(() => {});
}
