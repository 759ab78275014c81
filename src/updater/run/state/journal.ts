import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import {
  diskFileSystem,
  type FileSystem,
  replaceFileSafely,
  tolerateMissingFile,
  writeTemporaryFile,
} from '../../../core/files/file-system.ts';
import { stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import type { Outcome } from '../../../core/progress/outcome.ts';
import {
  compareJsonFormat,
  createJsonTextSchema,
  describeSchemaMistake,
} from '../../../core/text/json-text.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { joinWithAnd } from '../log/format-values.ts';
import type { OutcomeDetails } from '../log/outcome-details.ts';
import type { RunOutcome } from '../log/run-outcome.ts';
import { type JournalData, journalSchema } from './journal-schema.ts';
import { findRunningLockHolder, type Lock } from './lock.ts';
import { formatRunName } from './run-names.ts';
import {
  endedStateOf,
  isBeforeReplacing,
  isReplacingOrVerifying,
  loggedPhaseOf,
  requireTransition,
  rollbackOf,
  runOutcomeOf,
  stageOf,
  unfinishedStateOf,
} from './run-state.ts';
import { logFileName, requireTrustedEntry, stateDirectoryOf } from './state-directory.ts';

export type { JournalData } from './journal-schema.ts';

export const initialJournalFields = {
  format: 2,
  target: null,
  state: { at: 'pulling' },
  files: [],
  changeover: null,
  blueprints: [],
  started: false,
} as const satisfies Partial<JournalData>;

export const journalFileName = 'journal.json';

/** Each change is written to the disk before the action that it describes. */
export class Journal {
  readonly #place: Pick<Lock, 'state' | 'restore'>;
  readonly #fs: FileSystem;
  #data: JournalData;
  /** Whether the container snapshots were read from the disk. If so, another user may have written them. */
  readonly isInherited: boolean;

  constructor(location: Pick<Lock, 'state' | 'restore'>, data: JournalData, fs: FileSystem = diskFileSystem) {
    this.#place = location;
    this.#data = data;
    this.isInherited = data.blueprints.length > 0;
    this.#fs = fs;
  }

  get data(): JournalData {
    return this.#data;
  }

  /** The changes are on the disk when the promise resolves. @throws UpdateError write-failed */
  async write(changes: Partial<JournalData> = {}): Promise<void> {
    const data = this.#changed(changes);
    const path = join(this.#place.state, journalFileName);
    const save = () =>
      replaceFileSafely(this.#fs, path, textOf(data), {
        mode: 0o600,
        temporary: `${path}.new`,
      });
    try {
      await save().catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        await this.#place.restore();
        await save();
      });
    } catch (cause) {
      if (cause instanceof UpdateError) throw cause;
      throw new UpdateError('write-failed', `the journal cannot be written: ${(cause as Error).message}`, {
        cause,
      });
    }
    this.#data = data;
  }

  /**
   * Like `write`, but returns the error message; null if there is no error. A full disk must not stop the run, because
   * most of the state can be read from the engine.
   */
  async tryWrite(changes: Partial<JournalData>): Promise<string | null> {
    try {
      await this.write(changes);
      return null;
    } catch (error) {
      this.#data = this.#changed(changes);
      return (error as Error).message;
    }
  }

  #changed(changes: Partial<JournalData>): JournalData {
    if (changes.state) requireTransition(this.#data.state, changes.state);
    return { ...this.#data, ...changes };
  }

  async end(outcome: RunOutcome): Promise<void> {
    await this.write(this.#changesOfEnd(outcome));
  }

  /** Writes synchronously, because nothing else may happen before the process exits after a crash. */
  endSynchronously(outcome: RunOutcome): void {
    const path = join(this.#place.state, journalFileName);
    // The usual temporary name may be in use by an unfinished write of the run.
    const temporary = `${path}.crashed`;
    rmSync(temporary, { force: true });
    writeFileSync(temporary, textOf(this.#changed(this.#changesOfEnd(outcome))), {
      ...{ mode: 0o600, flag: 'wx', flush: true },
    });
    renameSync(temporary, path);
  }

  /** Container snapshots contain secrets. They are retained only if a later run may need them for a rollback. */
  #changesOfEnd(outcome: RunOutcome): Partial<JournalData> {
    const { state: before, started } = this.#data;
    const state = endedStateOf(before, outcome);
    // The run will not be rolled back, because the new version has started, and the run neither crashed nor is rolling
    // back.
    const isForward = started && rollbackOf(before) === null && outcome.outcome !== 'crashed';
    return { ...((unfinishedStateOf(state) === null || isForward) && { blueprints: [] }), state };
  }

  /** Closes this run, which a later run has recovered. The later run can then start its own update. */
  async closeForLaterRun(outcome: Outcome, message: string): Promise<void> {
    await this.tryWrite({ containerId: noContainerId });
    await this.end({ outcome, exitCode: 0, message: `${outcome}: ${message}` });
  }
}

const textOf = (data: JournalData): string => `${JSON.stringify(data, null, 1)}\n`;

/** Matches no container id, so no restarted container reports this outcome as its own. */
const noContainerId = '';

/**
 * Journal fields for a restart of the container after an interruption. `attempt` counts consecutive starts in one
 * state.
 */
export function nextAttemptFieldsOf({ state, attempt, interruptedIn }: JournalData) {
  const { at } = unfinishedStateOf(state) ?? state;
  return { attempt: (interruptedIn ?? at) === at ? attempt + 1 : 2, interruptedIn: at };
}

/** Checks whether a run has unfinished steps, because it ended early or was killed. */
export const isRunUnfinished = ({ state }: Pick<JournalData, 'state'>): boolean =>
  unfinishedStateOf(state) !== null;

/**
 * Whether files or containers may be of different versions. The user already knows about a run that ended as `broken`,
 * so only its unfinished rollback counts.
 */
export const hasMixedVersions = ({ state }: Pick<JournalData, 'state'>): boolean =>
  unfinishedStateOf(state) !== null &&
  (runOutcomeOf(state)?.outcome !== 'broken' || rollbackOf(state) !== null);

export function formatUnfinishedRunMessage(data: JournalData): string {
  const { run, target, state, changeover: rollout, point } = data;
  const phase = loggedPhaseOf(state);
  const what = `the update ${target === null ? '' : `to ${target} `}started at ${formatRunTime(run)}`;
  if (rollbackOf(state) !== null) return `${what} was interrupted while it was being rolled back`;
  if (state.at === 'ended') return `${what} did not succeed (${state.ending.outcome})`;
  if (isBeforeReplacing(state)) {
    const services = [...(rollout?.moved ?? []).map(({ name }) => name), ...(point?.services ?? [])];
    const stopped = services.length > 0 ? `; ${joinWithAnd(services)} may be stopped` : '';
    return `${what} was interrupted during the ${phase} phase${stopped}`;
  }
  if (rollout !== null) {
    const names = rollout.moved.filter(({ follows }) => !follows).map(({ name }) => name);
    return `${what} was interrupted during the ${phase} phase; ${joinWithAnd(names)} may have been only partly replaced`;
  }
  return `${what} was interrupted during the ${phase} phase`;
}

/**
 * Requires that no update is running, and that no interrupted update may restore the files.
 * @param engine - null to read only the journal
 * @throws UpdateError update-running, journal-pending
 */
export async function requireNoUpdate(directory: string, engine: Engine | null): Promise<void> {
  const holder = engine && (await findRunningLockHolder(engine, directory));
  if (holder !== null)
    throw new UpdateError('update-running', `an update is running in container ${holder.name}`);
  const journal = await readUnfinishedJournal(stateDirectoryOf(directory));
  if (journal !== null && hasMixedVersions(journal)) throw createUnfinishedRunError(journal);
}

/**
 * Error for commands that an unfinished run blocks. If that run was restoring data, the advice is `rollback`, because
 * even `update` would only complete the rollback.
 */
export const createUnfinishedRunError = (data: JournalData): UpdateError =>
  new UpdateError(
    'journal-pending',
    formatUnfinishedRunMessage(data),
    stageOf(data.state) === 'restoring'
      ? { advice: 'Run the updater with rollback --yes to complete the rollback.' }
      : {},
  );

/** Formats a run name, such as `20261121T104207Z`, as a time for people. */
const formatRunTime = (run: string): string =>
  run.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3 $4:$5:$6 UTC');

type ReadJournal = JournalData | { unreadable: string; mistake: string } | null;

/** @throws UpdateError unexpected-file, journal-pending; or an error of the file system */
export async function readJournal(state: string): Promise<ReadJournal> {
  await requireTrustedEntry(dirname(state));
  await requireTrustedEntry(dirname(state), journalFileName);
  const text = await readFile(join(state, journalFileName), 'utf8').catch(tolerateMissingFile);
  if (text === null) return null;
  const { data, error } = createJsonTextSchema(journalSchema).safeParse(text);
  if (data) return data;
  const which = compareJsonFormat(text, initialJournalFields.format);
  if (which === null) return { unreadable: text, mistake: describeSchemaMistake(error) };
  throw new UpdateError(
    'journal-pending',
    `${stateDirectoryName}/${journalFileName} was written by ${which === 'older' ? 'an older' : 'a newer'} version of the updater`,
    {
      advice: `If that update has ended (see the last line of ${stateDirectoryName}/${logFileName}), remove the journal (rm ${stateDirectoryName}/${journalFileName}). Otherwise, finish the update with the ${which} updater. Then run {command} again.`,
    },
  );
}

export const journalOutcomeFactsOf = (data: JournalData, halfDone: string | null = null): OutcomeDetails => ({
  version: data.from,
  project: data.project,
  // A requested worker without a container is left out, because it is not updated.
  services:
    data.changeover?.moved.flatMap(({ name, follows, isRemoved }) => (follows || isRemoved ? [] : [name])) ??
    data.services,
  interruptedState: halfDone,
  mayHaveReplaced: data.changeover !== null,
  ...restorePointFactsOf(data),
  ...(isAppStoppedBeforeRun(data) && { isStopped: true }),
  ...(data.leftAlone && { leftAlone: data.leftAlone }),
});

export const restorePointFactsOf = ({ point, state }: JournalData): Partial<OutcomeDetails> =>
  point
    ? { dataServices: point.services, canRollBack: point.state === 'saved' && isReplacingOrVerifying(state) }
    : {};

/** True if the app had containers before the run, but none of them had to run. */
export function isAppStoppedBeforeRun({
  changeover: rollout,
  containers,
  services: [app],
}: JournalData): boolean {
  const own = (rollout?.containers ?? containers).filter(({ service }) => service === app);
  return own.length > 0 && own.every(({ runs }) => !runs);
}

/** Skips journals that cannot be read. */
export async function readJournals(directories: readonly string[]): Promise<JournalData[]> {
  const found = await Promise.all(directories.map((each) => tryReadJournal(stateDirectoryOf(each))));
  return found.filter((journal) => journal !== null);
}

/**
 * Returns null if there is no journal, if the journal is unreadable, or if all its steps are finished.
 * @throws UpdateError journal-pending for another format
 */
export async function readUnfinishedJournal(state: string): Promise<JournalData | null> {
  const journal = await tryReadJournal(state, (error) => {
    if (error instanceof UpdateError && error.code === 'journal-pending') throw error;
  });
  return journal !== null && isRunUnfinished(journal) ? journal : null;
}

async function tryReadJournal(
  state: string,
  onError: (error: unknown) => void = () => {},
): Promise<JournalData | null> {
  const journal = await readJournal(state).catch(onError);
  return journal == null || 'unreadable' in journal ? null : journal;
}

/**
 * Moves the journal to the backup directory, for inspection. Returns the new path, relative to the compose directory.
 */
export async function moveJournalToBackup(
  state: string,
  journal: Exclude<ReadJournal, null>,
): Promise<string> {
  const run = 'unreadable' in journal ? formatRunName(Date.now()) : journal.run;
  const text =
    'unreadable' in journal ? journal.unreadable : JSON.stringify({ ...journal, blueprints: [] }, null, 1);
  const directory = join(state, 'backup', run);
  await diskFileSystem.makeDirectory(directory, 0o700);
  await writeTemporaryFile(diskFileSystem, join(directory, journalFileName), text, {
    owner: null,
    mode: 0o600,
  });
  await rm(join(state, journalFileName));
  return `${stateDirectoryName}/backup/${run}/${journalFileName}`;
}
