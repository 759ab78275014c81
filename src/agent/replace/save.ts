import { join } from 'node:path';
import { listProject } from '../../engine/api/project-containers.ts';
import { inspectContainers } from '../../engine/api/query.ts';
import { isUp, serviceOf } from '../../engine/container.ts';
import { object } from '../../engine/json.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { holdImages } from '../data/hold-images.ts';
import { discardPoint, imagesOf, keepPoint, openPoint } from '../data/keep-point.ts';
import type { DataWork, PointPlace } from '../data/kind.ts';
import { openPlace, type Point, placeOf, readPoint, toldOf, writePoint } from '../data/point.ts';
import { type PlannedPoint, size, surveyPoint } from '../data/survey-point.ts';
import { and, seconds } from '../log/wording.ts';
import type { RunContext } from '../process/run-context.ts';
import { type Changeover, isNew, newHasStarted } from '../state/changeover.ts';
import type { Journal } from '../state/journal.ts';
import { noRestart, stopForGood, workersFirst } from './containers.ts';
import type { Replacement } from './replacement.ts';
import { checkRights } from './way-back/check-rights.ts';

/** What kinds of data work with, for the services that a run moves. */
export async function dataWork(
  { engine, log }: Pick<RunContext, 'engine' | 'log'>,
  { data: { containerId, project } }: Pick<Journal, 'data'>,
  moved: readonly { name: string }[],
): Promise<DataWork> {
  const [own] = await inspectContainers(engine, [containerId]);
  if (!own) throw new UpdateError('own-container', 'the engine no longer knows the container of the updater');
  return {
    engine,
    log,
    project: project.name,
    toolsImage: own.imageId,
    moved: moved.map(({ name }) => name),
  };
}

/** The point that the journal names; null where it names none, or none is there. @throws UpdateError point-damaged */
export async function pointOf(
  journal: Journal,
  which: 'directory' | 'kept' = 'directory',
): Promise<{ point: Point; place: PointPlace } | null> {
  const host = journal.data.point?.[which] ?? null;
  if (host === null) return null;
  const place = placeOf(host, journal.data.project);
  const point = await readPoint(place);
  return point && { point, place };
}

/**
 * The record of the point that the run is to make, on the disk before anything is written. All is looked at once more: since
 * it was planned, images were pulled for minutes.
 * @throws UpdateError data-unfit, no-space, save-failed
 */
export async function beginPoint(
  context: RunContext,
  journal: Journal,
  { moved, words }: Changeover,
  { declared, directory }: PlannedPoint,
): Promise<PointPlace> {
  const { project, run } = journal.data;
  const place = placeOf(join(directory, run), project);
  await openPlace(place);
  const { entries, left } = await surveyPoint(declared, place, await dataWork(context, journal, moved));
  await writePoint(place, {
    format: 1,
    at: null,
    version: words.from,
    next: words.goal,
    entries,
    left,
    back: null,
  });
  return place;
}

/**
 * The phase `save`, where a restore point was asked for: what moves is stopped, and its data are kept as they are then.
 * @throws UpdateError data-busy, save-failed, no-space
 */
export async function save(work: Replacement): Promise<void> {
  const { engine, log, journal, changeover } = work;
  if (journal.data.phase !== 'save') return;
  log.enter('save');
  const found = await pointOf(journal);
  if (found === null) throw new UpdateError('save-failed', 'the record of the restore point is gone');
  const beganAt = performance.now();
  if (journal.isInherited) await checkBlueprints(work);
  const doors = await dataWork(work, journal, changeover.moved);
  const point = { ...found.point, back: { ...journal.data, phase: 'done' as const } };
  await holdImages(engine, doors.project, found.place, imagesOf(point));
  if (await hasNewStarted(work)) return goOnWithoutPoint(work);
  await standStill(work, changeover);
  const kept = await keepPoint(point, found.place, doors);
  if (await hasNewStarted(work)) return goOnWithoutPoint(work);
  await openPoint(kept, doors);
  await journal.write({ phase: 'recreate' });
  const told = toldOf(kept);
  const what = and(kept.entries.map(({ words }) => words)) || 'nothing';
  log.info(
    `kept ${what} as of ${kept.at}: ${size(told.bytes)} in ${seconds(performance.now() - beganAt, 1)}, in ${found.place.host}`,
    { restorePoint: told },
  );
}

/** The files name the new version already: somebody's `up` starts it, on data that are the old one's no more. */
async function hasNewStarted({ engine, journal, changeover }: Replacement): Promise<boolean> {
  const { containers } = await listProject(engine, journal.data.project.name);
  return newHasStarted(changeover, containers);
}

async function goOnWithoutPoint(work: Replacement): Promise<void> {
  const { goal } = work.changeover.words;
  work.log.warn(`somebody has started ${goal} before the data were kept: there is no going back from it`);
  await forgoPoint(work, work.journal, work.changeover);
  await work.journal.write({ phase: 'recreate', started: true });
}

/** Lets in again who was kept out, and takes away what was kept. Can be repeated. */
export async function forgoPoint(
  context: Pick<RunContext, 'engine' | 'log'>,
  journal: Journal,
  { moved }: Pick<Changeover, 'moved'>,
): Promise<void> {
  const found = await pointOf(journal);
  if (found === null) return;
  const doors = await dataWork(context, journal, moved);
  await openPoint(found.point, doors);
  await discardPoint(found.point, found.place, doors);
  await journal.note({ point: null });
}

/**
 * What the point will make containers of is root's word from then on. Read from the disk, it is nobody's yet: it is held
 * against the containers themselves, which are still there.
 * @throws UpdateError not-brought-back
 */
async function checkBlueprints({ engine, journal, changeover }: Replacement): Promise<void> {
  const { project, containerId: ownId, blueprints } = journal.data;
  const { containers } = await listProject(engine, project.name);
  for (const record of changeover.containers) {
    const blueprint = blueprints.find(({ id }) => id === record.id);
    const siblings = containers.filter((each) => serviceOf(each) === record.service).map(({ id }) => id);
    const known = { project, ownId, siblings, successors: new Map() };
    if (blueprint) await checkRights(engine, record, blueprint, known);
  }
}

/** Stops what moves, the workers first, and sees to it that no restart of the engine starts it in the middle. */
async function standStill({ engine, log, journal }: Replacement, changeover: Changeover): Promise<void> {
  const { containers } = await listProject(engine, journal.data.project.name);
  // A new one that somebody has started is not kept out of its own data: see `goOnWithoutPoint`.
  const up = workersFirst(changeover, containers).filter((each) => isUp(each) && !isNew(changeover, each));
  if (up.length === 0) return;
  log.info(`stopping ${and(up.map(({ name }) => name))}, then keeping the data`);
  await stopForGood({ engine, log }, changeover, up);
  // The engine cannot say it of a container between two crashes; it does once that one is stopped.
  await engine.callOrThrow(['update', noRestart, ...up.map(({ id }) => id)]);
}

/** Before old containers are started again, whose data nobody has touched: there is no point to go back to. Can be repeated. */
export async function unsave(context: RunContext, journal: Journal, changeover: Changeover): Promise<void> {
  if (!journal.data.point) return;
  for (const { id, hostConfig } of journal.data.blueprints) {
    const { Name = 'no', MaximumRetryCount: most = 0 } = object(hostConfig.RestartPolicy);
    const policy = `${Name || 'no'}${Name === 'on-failure' && most ? `:${most}` : ''}`;
    // One that compose has replaced already is gone, and is made again with its policy.
    await context.engine.call(['update', `--restart=${policy}`, id]);
  }
  await forgoPoint(context, journal, changeover);
}
