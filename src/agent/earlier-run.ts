import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FileRecord, stateOf } from '../compose/replace-files.ts';
import { type Container, hasStarted, isMeantToRun, numberOf, service } from '../engine/container.ts';
import { UpdateError } from '../progress/update-error.ts';
import { type Changeover, isBefore, isNew, type MeantToRun, newHasStarted, recordsOf } from './changeover.ts';
import { goBack, markGoingBack } from './go-back.ts';
import {
  type Ending,
  isHalfDone,
  isPending,
  type Journal,
  type JournalData,
  pendingSentence,
  setAside,
} from './journal.ts';
import { stateDirectory } from './lock.ts';
import type { Met } from './meet.ts';
import { listProject, type ProjectContainers } from './project-containers.ts';
import { localImages } from './pull.ts';
import { recreate } from './recreate.ts';
import { type RunContext, remember } from './run-context.ts';
import { and } from './story.ts';
import { viewProject } from './view-project.ts';

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
 * Refusal: outside-mounts. @throws UpdateError files-not-back, not-brought-back
 */
export async function settleEarlierRun(
  context: RunContext,
  { own, paths, located }: Met,
  journal: Journal,
): Promise<Inheritance> {
  const { engine, log, options, known } = context;
  const { data } = journal;
  if (!isPending(data)) return { kind: 'fresh' };
  const { project, changeover, from } = data;
  const isOwn = data.containerId === own.id;
  log.warn(pendingSentence(data));
  remember(known, from, project, data.services);

  const all = await listProject(engine, project.name);
  const { compose } = await viewProject(engine, project, all.containers, paths, data.services, log);
  const files = await Promise.all(data.files.map((record) => asMountedHere(record, project.directory)));
  const stranger = await findStranger(journal, files, all, context);
  if (stranger !== null) {
    const place = await setAside(stateDirectory(located.mountedAt), data);
    log.warn(
      `${stranger}: somebody has worked here since. Nothing is put back; its journal is kept as ${place}`,
    );
    return { kind: 'fresh' };
  }
  // It has told a person to look; nothing of it goes on by itself.
  if (!isHalfDone(data)) return { kind: 'fresh' };

  await journal.write({ files, containerId: own.id, attempt: isOwn ? data.attempt + 1 : 1, outcome: null });
  if (changeover !== null && data.goingBack === null) {
    const asked = { target: options.target?.tag ?? null, services: options.services };
    const isSame = asked.target === data.target && asked.services.join() === data.services.join();
    const exhausted = journal.data.attempt > maxAttempts;
    if (isSame && !exhausted) {
      log.info('going on with it');
      return { kind: 'go-on', changeover };
    }
    if (exhausted) {
      throw new UpdateError(
        'broken',
        `this updater was killed ${maxAttempts} times in ${data.phase}: it does not try again by itself`,
      );
    }
    if (data.started || newHasStarted(changeover, all.containers)) {
      log.info(
        `${changeover.words.goal} has started: first of all, all of ${and(data.services)} are brought to it`,
      );
      const rest = { engine, compose, changeover, waitTimeoutMs: options.waitTimeoutMs, log };
      await context.cancellation
        .shield(engine, () => recreate({ ...rest, afterUp: async () => {}, mayGoBack: () => false }))
        .catch((error) => {
          if (!(error instanceof UpdateError)) throw error;
          for (const line of [...error.detail, error.message]) log.warn(line);
        });
      return { kind: 'fresh' };
    }
  }
  const cancelled: Ending = {
    outcome: 'cancelled',
    exitCode: 130,
    message: 'cancelled: another update came',
  };
  if (data.goingBack === null) await markGoingBack(journal, log, cancelled);
  await context.cancellation.shield(engine, () =>
    goBack(journal, { engine, log, waitTimeoutMs: options.waitTimeoutMs }),
  );
  log.info(`what it had changed is put back: ${from} runs`);
  if (isOwn && data.goingBack !== null) return { kind: 'over', ending: data.goingBack };
  return { kind: 'fresh' };
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

/** What the run could not have left, as a sentence's beginning; null where all of it is its own. */
async function findStranger(
  { data }: Journal,
  files: readonly FileRecord[],
  { containers, leftovers }: ProjectContainers,
  { engine }: RunContext,
): Promise<string | null> {
  const { changeover, goingBack, phase } = data;
  const states = await Promise.all(
    files.map(async (record) => ({ path: record.path, state: await stateOf(record) })),
  );
  const other = states.find(({ state }) => state === 'other');
  if (other) return `${other.path} is neither as it was before nor as it was written`;
  if (phase === 'pull') return null;

  const all = [...containers, ...leftovers];
  if (changeover === null) {
    const strange = all.find(
      (container) =>
        data.services.includes(service(container)) && !data.containers.some(({ id }) => id === container.id),
    );
    return strange ? `${strange.name} was made by somebody else` : null;
  }
  const strange = all.find((container) => !couldBeLeft(changeover, container, goingBack !== null));
  if (strange) return `${strange.name} was made by somebody else`;
  if (goingBack !== null) return null;
  const old = states.find(({ state }) => state === 'before');
  if (old) return `${old.path} is as it was before`;
  const wanted = changeover.moved.flatMap(({ image }) => (image ? [image] : []));
  const images = await localImages(
    engine,
    wanted.map(({ reference }) => reference),
  );
  const moved = wanted.find(({ reference, id }) => images.get(reference)?.id !== id);
  return moved ? `${moved.reference} is another image by now` : null;
}

function couldBeLeft(changeover: Changeover, container: Container, goingBack: boolean): boolean {
  const moved = changeover.moved.find(({ name }) => name === service(container));
  if (!moved || isBefore(changeover, container)) return true;
  if (moved.image !== null && container.imageId === moved.image.id) return true;
  const isOfOldImage = recordsOf(changeover, moved.name).some(({ imageId }) => imageId === container.imageId);
  return (moved.image === null || goingBack) && isOfOldImage;
}

/**
 * Containers that are down because an earlier run stopped them, or made them and could not start them. One that somebody
 * has started since is down because somebody wanted it.
 */
export function meantToRun(data: JournalData | null): MeantToRun {
  if (data === null) return () => false;
  const records = data.changeover?.containers ?? data.containers;
  return (container) => {
    if (isMeantToRun(container)) return false;
    const record = records.find(({ id }) => id === container.id);
    if (record) {
      return record.runs && (record.down || isPending(data)) && record.startedAt === container.startedAt;
    }
    if (data.changeover === null || !isPending(data)) return false;
    return (
      isNew(data.changeover, container) &&
      !hasStarted(container) &&
      recordsOf(data.changeover, service(container)).some(
        ({ number, runs }) => runs && number === numberOf(container),
      )
    );
  };
}
