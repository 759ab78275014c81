import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { UpdateError } from '../../core/progress/update-error.ts';
import { givenSettingsPath } from '../../core/release/release-settings.ts';
import { removeOwnScratches } from '../../engine/api/scratch.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { withProjectOptions } from '../compose/inspect/choose-workers.ts';
import { type FoundInstance, findInstance } from '../compose/inspect/find-instance.ts';
import { maxAttempts } from '../compose/resume/plan-earlier.ts';
import { endingFacts, nothingYet, type RunSoFar } from '../compose/resume/run-so-far.ts';
import type { CommandLine } from '../run/command-line.ts';
import { type Ending, logEnd } from '../run/log/ending.ts';
import { and } from '../run/log/wording.ts';
import type { FirstContext, RunContext } from '../run/run-context.ts';
import { runToEnd } from '../run/run-to-end.ts';
import { isPending, type JournalData, readJournal } from '../run/state/journal.ts';
import { dropLock } from '../run/state/lock.ts';
import { stateDirectory } from '../run/state/state-directory.ts';
import { isStackInstead } from '../swarm/index.ts';

export interface Story {
  /** A `look` (plan, fetch) takes no lock and writes no journal, so it needs no clean-up. */
  kind: 'run' | 'rollback' | 'look';
  /** The options of the context include the settings file and the workers of the project; the command line does not. */
  onProject(
    context: RunContext,
    instance: FoundInstance,
    soFar: RunSoFar,
    line: CommandLine,
  ): Promise<Ending>;
  /** Gives the exit code. Without it, the command only works for a compose project. */
  onStack?(given: FirstContext): Promise<number>;
}

/**
 * Finds the project, reads its settings file, chooses the workers and runs a command. Always logs how the command ended,
 * and releases the lock. Gives the exit code.
 */
export async function runOnInstance(given: FirstContext, story: Story): Promise<number> {
  const { kind, onStack } = story;
  const { options } = given;
  if (onStack && options.stack.name !== null) return onStack(given);
  const [search] = await Promise.allSettled([findInstance(given)]);
  if (onStack && search.status === 'rejected' && (await isStackInstead(given, search.reason)))
    return onStack(given);
  const soFar = nothingYet();
  try {
    return await runToEnd(given, {
      work: () => onProject(given, story, search, soFar),
      facts: () => ({
        ...endingFacts(soFar),
        product: options.product,
        isRollback: kind === 'rollback',
      }),
      close: (ending) => close(given, soFar, ending),
      recordCrash: (ending) => recordCrash(soFar, ending),
      afterShutdown: kind === 'look' ? null : 'the update resumes when the updater is started again',
    });
  } finally {
    await soFar.lock?.release();
  }
}

async function onProject(
  given: FirstContext,
  story: Story,
  search: PromiseSettledResult<FoundInstance>,
  soFar: RunSoFar,
): Promise<Ending> {
  if (search.status === 'rejected') throw search.reason;
  const instance = search.value;
  warnOfStackOptions(given);
  if (story.kind !== 'look') {
    soFar.instance = instance;
    const journal = await ownJournal(instance);
    if (
      journal?.state.at === 'ended' &&
      !(journal.state.ending.outcome === 'crashed' && isPending(journal))
    ) {
      await dropLock(instance.place.mountedAt, instance.own);
      given.notifier.addresses = [];
      return logEnd({ ...journal.state.ending, exitCode: 0 }, given.log);
    }
    if (journal === null) requireGivenSettings(given);
  }
  const context = await withProjectOptions(given, instance.place);
  return story.onProject(context, instance, soFar, given.line);
}

/** Only for options of the command line: the files in a settings file may be meant for `bump`. */
function warnOfStackOptions({ options: { stack }, log }: FirstContext): void {
  const typed = [...(stack.files.length > 0 ? ['--file'] : []), ...(stack.stopFirst ? ['--stop-first'] : [])];
  if (typed.length > 0)
    log.warn(`ignoring ${and(typed)}, because this is a compose project and not a Swarm stack`);
}

/** The journal of a run that this very container has begun; null if there is none. */
async function ownJournal({ own, place }: FoundInstance): Promise<JournalData | null> {
  // A journal that may not be read is told by the lock, which has the better sentence for it.
  const said = await readJournal(stateDirectory(place.mountedAt)).catch(() => null);
  return said === null || 'unreadable' in said || said.containerId !== own.id ? null : said;
}

/** The server passes its file only if it gives values: without the file, the engine has lost them. */
function requireGivenSettings({ line, options }: FirstContext): void {
  if (line.values.get('set-file')?.[0]?.value !== givenSettingsPath || options.settings?.size) return;
  throw new UpdateError('settings-invalid', `${givenSettingsPath} does not exist in this container`, {
    advice: 'Start the update again and enter the new settings again.',
  });
}

/** Gives whether the engine starts this container again. If the journal cannot be written, the next run goes by its last state. */
function recordCrash({ instance, journal }: RunSoFar, ending: Ending): boolean {
  try {
    journal?.endAtOnce(ending);
  } catch {}
  const { restartPolicy = 'no', restartCount = 0 } = instance?.own ?? {};
  return restartPolicy !== 'no' && (restartPolicy !== 'on-failure' || restartCount < maxAttempts - 1);
}

/** The outcome is in the journal before the engine is told not to start this container again. */
async function close(context: RunContext, soFar: RunSoFar, ending: Ending): Promise<void> {
  const { instance, lock, journal } = soFar;
  const engine = context.engine.uncancellable().quiet();
  // An engine that is away starts this failed container again when it is back; the new start goes on with the journal.
  if (ending.exitCode !== 0 && !(await engine.answers())) return;
  // A run that is killed needs the values again.
  await rm(givenSettingsPath, { force: true }).catch(() => {});
  if (instance === null) return;
  // If the outcome cannot be written, the next run finds an open journal and settles it. The log has its last line.
  await journal?.end(ending).catch(() => {});
  if (lock !== null) await removeOwnScratches(engine).catch(() => {});
  // The lock goes before the restart policy: a kill between the two lets the engine start this container again, which
  // then finds the outcome in the journal and leaves nothing behind.
  await lock?.release().catch(() => {});
  const { id, restartPolicy } = instance.own;
  if (restartPolicy === 'no') return;
  const updated = await engine.setRestartPolicy(id, 'no').catch(() => null);
  if (updated === null && engine.isPodman) await stopOwn(engine, id);
}

/**
 * Podman 4 cannot change the policy of a container. It never starts one again that it was told to stop, and says so by a
 * signal, which ends nothing here any more: the exit code is this run's own.
 */
async function stopOwn(engine: Engine, id: string): Promise<void> {
  const told = once(process, 'SIGTERM', { signal: AbortSignal.timeout(10_000) });
  const asked = engine.request('stopContainer', { params: { id }, query: { t: '60' }, deadlineMs: 10_000 });
  await Promise.race([told, asked]).catch(() => {});
}
