import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { listProject } from '../../engine/api/project-containers.ts';
import type { Compose } from '../../engine/cli/compose.ts';
import type { FileRecord } from '../../files/replace-files.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import { givePaths, viewProject } from '../inspect/view-project.ts';
import type { Ending } from '../log/ending.ts';
import { remember } from '../log/ending-facts.ts';
import { and } from '../log/words.ts';
import type { UpdateOptions } from '../process/options.ts';
import type { RunContext } from '../process/run-context.ts';
import { recreate } from '../replace/recreate.ts';
import { markGoingBack, restoreInstance } from '../replace/restore-instance.ts';
import { type Changeover, newHasStarted } from '../state/changeover.ts';
import {
  isHalfDone,
  isPending,
  type Journal,
  type JournalData,
  pendingSentence,
  setAside,
} from '../state/journal.ts';
import { stateDirectory } from '../state/state-directory.ts';
import { findStranger } from './stranger.ts';

/** Starts of one container for one run: the restart policy of the launcher gives it as many. */
const maxAttempts = 4;

/** What an earlier run leaves to this one. */
export type Inheritance =
  /** Nothing, or nothing any more: this run begins at its beginning. */
  | { kind: 'fresh' }
  /** Its containers are half replaced, or not verified yet. */
  | { kind: 'go-on'; changeover: Changeover }
  /** This very container had to put everything back; that is done, and its run is over. */
  | { kind: 'over'; ending: Ending };

/**
 * Settles what an earlier run left undone, by what its journal says (SPEC 3.2), or gives it to this run to go on with.
 * Refusals: outside-mounts, compose-invalid. @throws UpdateError files-not-back, not-brought-back, killed-often, broken
 */
export async function settleEarlierRun(
  context: RunContext,
  met: FoundInstance,
  journal: Journal,
): Promise<Inheritance> {
  const { engine, log, options, known } = context;
  const { data } = journal;
  if (!isPending(data)) return { kind: 'fresh' };
  const { project, changeover, from } = data;
  const isOwn = data.containerId === met.own.id;
  log.warn(pendingSentence(data));
  remember(known, from, project, data.services);
  if (changeover !== null) known.halfDone = pendingSentence(data);

  const now = await listProject(engine, project.name);
  await givePaths(project, met.paths, log);
  const { compose } = await viewProject(engine, project, now.containers, met.paths, data.services, log);
  const files = await Promise.all(data.files.map((record) => asMountedHere(record, project.directory)));
  const stranger = await findStranger(journal, files, now.containers, context);
  if (stranger !== null) {
    const place = await setAside(stateDirectory(met.located.mountedAt), data);
    log.warn(
      `${stranger}: somebody has worked here since. Nothing is put back; its journal is kept as ${place}`,
    );
    known.halfDone = null;
    return { kind: 'fresh' };
  }
  // It has told a person to look; nothing of it goes on by itself.
  if (!isHalfDone(data)) return { kind: 'fresh' };

  const attempt = isOwn ? data.attempt + 1 : 1;
  await journal.note({ files, containerId: met.own.id, attempt, outcome: null });
  const exhausted = attempt > maxAttempts;
  const killed = `this updater was interrupted ${maxAttempts} times in ${data.phase}: it does not try again by itself`;
  if (changeover !== null && data.goingBack === null) {
    if (isSameRequest(data, options, met.located.name) && !exhausted) {
      log.info('going on with it');
      return { kind: 'go-on', changeover };
    }
    if (data.started || newHasStarted(changeover, now.containers)) {
      if (exhausted) throw new UpdateError('broken', killed);
      await bringToItsEnd(context, journal, changeover, compose);
      return { kind: 'fresh' };
    }
  }
  if (data.goingBack === null) await markGoingBack(journal, log, null);
  await context.cancellation.shield(engine, () =>
    restoreInstance(journal, { engine, log, waitTimeoutMs: options.waitTimeoutMs, wasKilled: true }),
  );
  known.halfDone = null;
  log.info(`what it had changed is put back: ${from} runs`);
  const ending = data.goingBack?.ending;
  if (isOwn && ending) return { kind: 'over', ending };
  await journal.closeForLaterRun('cancelled', 'it was interrupted, and put back by the next run');
  if (exhausted) throw new UpdateError('killed-often', killed);
  return { kind: 'fresh' };
}

/** Two projects may have one directory, and so one journal. */
const isSameRequest = (data: JournalData, { target, services }: UpdateOptions, project: string): boolean =>
  project === data.project.name &&
  (target?.tag ?? null) === data.target &&
  services.join() === data.services.join();

/** There is no way back from a version that has started: all of its services are brought to it, well or not. */
async function bringToItsEnd(
  { engine, log, options, cancellation, known }: RunContext,
  journal: Journal,
  changeover: Changeover,
  compose: Compose,
): Promise<void> {
  const { goal } = changeover.words;
  const names = changeover.moved.map(({ name }) => name);
  log.info(`${goal} has started: first of all, ${and(names)} are all brought to it`);
  const { waitTimeoutMs } = options;
  const how = { afterUp: async () => {}, mayGoBack: () => false };
  const all = () => recreate({ engine, compose, changeover, waitTimeoutMs, log, ...how });
  await cancellation.shield(engine, all).catch((error) => {
    if (!(error instanceof UpdateError)) throw error;
    for (const line of [...error.detail, error.message]) log.warn(line);
  });
  known.halfDone = null;
  // What is down since then is still meant to run, which a closed journal would not say.
  await journal.note({ started: true });
  await journal.closeForLaterRun('broken', 'another update came before it was verified');
}

/** The directory may be mounted at another place than in the run that wrote it. */
async function asMountedHere(record: FileRecord, directory: string): Promise<FileRecord> {
  const { path, before, backup, temporary } = record;
  const real = before === null ? path : await realpath(path).catch(() => path);
  const backups = join(stateDirectory(directory), 'backup');
  return {
    ...record,
    real,
    backup: backup === null ? null : join(backups, basename(dirname(backup)), basename(backup)),
    temporary: join(dirname(real), basename(temporary)),
  };
}
