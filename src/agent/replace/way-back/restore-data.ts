import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeBlueprints } from '../../../engine/api/blueprint.ts';
import { listProject } from '../../../engine/api/project-containers.ts';
import { stateOf, temporaryOf } from '../../../files/file-record.ts';
import { disk, writeAside } from '../../../files/file-system.ts';
import { UpdateError } from '../../../progress/update-error.ts';
import { holdImages } from '../../data/hold-images.ts';
import {
  discardOthers,
  discardPoint,
  giveReserve,
  imagesOf,
  keepPresent,
  openPoint,
  restorePoint,
} from '../../data/keep-point.ts';
import type { DataWork, PointPlace } from '../../data/kind.ts';
import { kindOf } from '../../data/kinds.ts';
import { isWhole, openPlace, type Point, placeOf, writePoint } from '../../data/point.ts';
import { type Ending, keptEnding } from '../../log/ending.ts';
import type { Log } from '../../log/log.ts';
import { and } from '../../log/wording.ts';
import type { RunContext } from '../../process/run-context.ts';
import { type Changeover, newHasStarted } from '../../state/changeover.ts';
import { emptyJournal, type Journal, type JournalData } from '../../state/journal.ts';
import { runStamp } from '../../state/kept-runs.ts';
import { recordContainers } from '../../state/record-containers.ts';
import { backupsOf } from '../../state/state-directory.ts';
import { stopForGood, workersFirst } from '../containers.ts';
import { dataWork, pointOf } from '../save.ts';

const tries = 5;
const pauseMs = 5_000;

/** A restore point, where it is, and where the present is kept in exchange. */
export interface Exchange {
  point: Point;
  place: PointPlace;
  kept: PointPlace;
}

/** The place for what makes room for a point. */
export const keptBeside = ({ host }: PointPlace, project: { directory: string }): PointPlace =>
  placeOf(join(dirname(host), stampBehind(basename(host))), project);

/**
 * Notes what the present is, so that `restoreData` can begin: from here on the run goes back, whoever is killed. That all of
 * the point can be put back was seen just before (`checkPoint`).
 * @param present the run whose work the present is, by whose files and containers it can be come back to
 * @throws UpdateError no-point, save-failed: nothing was changed
 */
export async function beginBack(
  { engine, log }: Pick<RunContext, 'engine' | 'log'>,
  journal: Journal,
  { point, place, kept: keptPlace }: Exchange,
  present: Changeover,
  ending: Ending,
): Promise<void> {
  const back = point.back;
  if (back?.changeover == null) throw new UpdateError('no-point', `${place.host} does not say what ran`);
  await giveReserve(place);
  const forward = await presentOf({ engine }, journal.data, back, present, basename(keptPlace.host));
  const kept: Point = {
    ...point,
    at: null,
    version: point.next,
    next: point.version,
    entries: point.entries.map(({ kind, source, words, bytes }) => ({
      kind,
      source,
      words,
      bytes,
      part: null,
    })),
    back: forward,
  };
  await openPlace(keptPlace);
  await writePoint(keptPlace, kept);
  await holdImages(engine, journal.data.project.name, keptPlace, imagesOf(kept));
  const goingBack = { ending: keptEnding(log, ending) };
  const { from, tags, changeover, blueprints } = back;
  // Of this run: whoever goes on after a kill looks for what it has left by its name.
  const { run } = journal.data;
  const files = back.files.map((each) => ({ ...each, temporary: temporaryOf(each.real, run) }));
  await journal.write({
    ...{ phase: 'restore', from, goingBack, files, tags, changeover, blueprints },
    point: { directory: place.host, kept: keptPlace.host, isBack: false },
  });
}

/** A name that no point has: the clock may have been set back. */
function stampBehind(before: string): string {
  const stamp = runStamp(Date.now());
  if (stamp > before) return stamp;
  // A second later, or what comes close to it: it only has to sort behind.
  const next = Math.min(Number(before.slice(9, 15)) + 1, 999_999);
  return `${before.slice(0, 9)}${String(next).padStart(6, '0')}Z`;
}

/** What the journal of a run would say that had brought what runs now, with everything turned round. */
async function presentOf(
  { engine }: Pick<RunContext, 'engine'>,
  data: JournalData,
  back: JournalData,
  changeover: Changeover,
  run: string,
): Promise<JournalData> {
  const { containers } = await listProject(engine, data.project.name);
  const records = await recordContainers(engine, containers, () => false);
  const names = changeover.moved.map(({ name }) => name);
  // A bad release is down, or crashes: when somebody wants it again, he wants it to run.
  const wanted = records.map((each) =>
    names.includes(each.service) ? { ...each, runs: true, well: false } : each,
  );
  const moved = changeover.moved.map((each) => {
    const old = back.containers.find(({ service }) => service === each.name);
    return { ...each, image: old ? { reference: old.reference, id: old.imageId } : null };
  });
  const ids = wanted.filter(({ service }) => names.includes(service)).map(({ id }) => id);
  const backups = join(backupsOf(data.project.directory), run);
  const files = [];
  for (const record of back.files) {
    const isAfter = (await stateOf(record)) === 'after';
    const bytes = isAfter ? await disk.read(record.real) : null;
    if (bytes === null) continue;
    const backup = join(backups, basename(record.backup ?? record.path));
    await disk.makeDirectory(backups, 0o700);
    await writeAside(disk, backup, bytes, { owner: await disk.owner(record.real), mode: 0o600 });
    files.push({ ...record, before: record.after, after: record.before ?? record.after, backup });
  }
  return {
    ...data,
    ...emptyJournal,
    phase: 'done',
    run,
    from: back.changeover?.words.goal ?? data.from,
    files,
    tags: [],
    containers: wanted,
    changeover: { ...changeover, moved, containers: wanted },
    blueprints: await takeBlueprints(engine, ids),
    point: null,
  };
}

/**
 * Puts the data of the journal's point back, where that is what the run does, and proves them; nobody else is let in yet.
 * Nothing of the project's app runs from here on until it is done, whoever is killed: its containers are gone, and the files
 * still name the new version. Done again from wherever it was.
 * @throws UpdateError data-not-back
 */
export async function restoreData(context: RunContext, journal: Journal): Promise<void> {
  const { point, phase, changeover, goingBack } = journal.data;
  if (!point || phase !== 'restore' || changeover === null) return;
  if (point.isBack) {
    const { containers } = await listProject(context.engine, journal.data.project.name);
    if (!newHasStarted(changeover, containers)) return;
    context.log.warn('somebody has started the new version meanwhile: the data are put back once more');
    await journal.write({ point: { ...point, isBack: false } });
  }
  const found = (which: 'directory' | 'kept') =>
    pointOf(journal, which).catch((cause: Error) => {
      if (!(cause instanceof UpdateError)) throw cause;
      throw new UpdateError('data-not-back', cause.message, { cause });
    });
  const [target, kept] = [await found('directory'), await found('kept')];
  if (target === null || kept === null) {
    throw new UpdateError('data-not-back', `the restore point in ${point.directory} is gone`);
  }
  const doors = await dataWork(context, journal, changeover.moved);
  const { log } = context;
  log.info(
    `putting the data of ${target.point.version} back: ${and(target.point.entries.map(({ words }) => words))}`,
  );
  const isForced = goingBack?.ending?.outcome === 'failed';
  await repeated(log, async () => {
    await removeMoved(context, journal, changeover);
    for (const { kind, source } of target.point.entries) await kindOf(kind).evict(source, doors);
    const known = (await pointOf(journal, 'kept'))?.point ?? kept.point;
    const present = await keepPresent(known, kept.place, doors, { isForced });
    await restorePoint(target, present, doors);
  });
  await journal.write({ point: { ...point, isBack: true } });
  log.info(`the data of ${target.point.version} are back, and proven to be`);
}

/** What an engine or a database that goes away for a moment has broken off is begun again. */
async function repeated(log: Log, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UpdateError)) throw error;
      if (attempt === tries || error.code === 'point-damaged') {
        throw new UpdateError('data-not-back', error.message, { detail: error.detail, cause: error });
      }
      log.warn(`${error.message}; once more`);
      await sleep(pauseMs);
    }
  }
}

/** Removes every container of what moves: only one that is gone is started by nobody. */
async function removeMoved(
  { engine, log }: Pick<RunContext, 'engine' | 'log'>,
  { data }: Journal,
  changeover: Changeover,
): Promise<void> {
  const { containers, leftovers } = await listProject(engine, data.project.name);
  const own = workersFirst(changeover, [...containers, ...leftovers]);
  if (own.length === 0) return;
  // One that the engine starts again while it is being removed may stay half removed, and in the way of every `up`.
  await stopForGood({ engine, log }, changeover, own);
  await engine.callOrThrow(['rm', '--force', ...own.map(({ id }) => id)]);
}

/** Lets the app in again. The files name the old version by then. */
export async function reopenData(
  context: RunContext,
  journal: Journal,
  { moved }: Changeover,
): Promise<void> {
  const target = await pointOf(journal);
  if (target !== null) await openPoint(target.point, await dataWork(context, journal, moved));
}

/** The point is used up once its version runs; what was kept of the other one stays where it is whole. */
export async function endBack(context: RunContext, journal: Journal, { moved }: Changeover): Promise<void> {
  const doors: DataWork = await dataWork(context, journal, moved);
  const [target, kept] = [await pointOf(journal), await pointOf(journal, 'kept')];
  if (target !== null) await discardPoint(target.point, target.place, doors);
  if (kept !== null && !isWhole(kept.point)) await discardPoint(kept.point, kept.place, doors);
  // Bad releases that come night after night, and kills on the way back, would leave one point each.
  else if (kept !== null) {
    await discardOthers(dirname(kept.place.host), journal.data.project, [kept.place.host], doors);
  }
  await journal.note({ point: null });
}
