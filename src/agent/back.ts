import { listProject } from '../engine/api/project-containers.ts';
import { inspectImages } from '../engine/api/query.ts';
import { stateOf } from '../files/file-record.ts';
import { UpdateError } from '../progress/update-error.ts';
import { judgeBack } from './data/judge-back.ts';
import { checkPoint } from './data/keep-point.ts';
import type { DataWork, Difference } from './data/kind.ts';
import { kindOf } from './data/kinds.ts';
import {
  bytesOf,
  clockTime,
  type Point,
  placesIn,
  pointsDirectory,
  readPoint,
  toldOf,
} from './data/point.ts';
import { type ReadOptions, withProjectOptions } from './inspect/choose-workers.ts';
import { fromWord } from './inspect/describe.ts';
import { type FoundInstance, findInstance, refuseForeignContainers } from './inspect/find-instance.ts';
import { inspectInstallation } from './inspect/inspect.ts';
import { pathsOfProject } from './inspect/view-project.ts';
import { type Ending, endWell, repeatEnding } from './log/ending.ts';
import { maskRulesOfSent } from './log/mask-rules.ts';
import { and, counted, seconds } from './log/wording.ts';
import type { BackOptions } from './process/options.ts';
import type { RunContext } from './process/run-context.ts';
import { awaitQuiet } from './replace/await-others.ts';
import { restoreInstance } from './replace/way-back/go-back.ts';
import { beginBack, type Exchange, keptBeside } from './replace/way-back/restore-data.ts';
import { checkFiles, checkProject } from './resume/check-journal.ts';
import { asMountedHere } from './resume/earlier-facts.ts';
import type { RunSoFar } from './resume/run-so-far.ts';
import { settleEarlier } from './resume/settle-earlier.ts';
import { endedBefore, toItsEnd } from './resume/to-its-end.ts';
import { recordOf } from './state/changeover.ts';
import {
  emptyJournal,
  isHalfDone,
  Journal,
  type JournalData,
  pendingJournal,
  pendingSentence,
} from './state/journal.ts';
import { runStamp } from './state/kept-runs.ts';
import { takeLock } from './state/lock.ts';
import { refuseForeignState, stateDirectory } from './state/state-directory.ts';

/**
 * The story of `back`: to the restore point, which is shown with what it costs; with `--yes` it is gone, and the present kept
 * in exchange, so that the next `back` undoes it. Gives the exit code.
 */
export const back = (given: RunContext & { options: BackOptions }, read: ReadOptions): Promise<number> =>
  toItsEnd(given, async (soFar) => {
    const { yes } = given.options;
    const instance = await findInstance(given);
    soFar.instance = instance;
    const ended = yes ? await endedBefore(instance) : null;
    if (ended !== null) return repeatEnding(ended, given.log);
    const context = await withProjectOptions(given, instance.place, read);
    const { mountedAt } = instance.place;
    await refuseForeignState(mountedAt);
    const pending = await pendingJournal(stateDirectory(mountedAt));
    if (pending !== null && isHalfDone(pending) && !(yes && pending.phase === 'restore')) {
      throw new UpdateError('journal-pending', pendingSentence(pending));
    }
    if (!yes) return showBack(context, await findBack(context, instance, soFar));
    const lock = await takeLock(context, instance.own, mountedAt);
    soFar.lock = lock;
    const earlier = await settleEarlier(context, { instance, lock }, soFar);
    if (earlier.kind === 'over') return repeatEnding(earlier.ending, context.log);
    // It is gone back already: once more would lead forward again.
    const wentBack =
      earlier.kind === 'fresh' && earlier.data?.phase === 'restore' ? earlier.data.goingBack : null;
    if (wentBack?.ending) return repeatEnding(wentBack.ending, context.log);
    const found = await findBack(context, instance, soFar);
    // On the disk when there is something to be done: one that says no more than that it has begun would be in the way.
    const journal = new Journal(lock, {
      ...emptyJournal,
      run: runStamp(context.startedAt),
      containerId: instance.own.id,
      attempt: 1,
      project: found.project,
      target: null,
      services: found.back.services,
      from: found.from,
      tags: [],
      containers: found.records,
    });
    soFar.journal = journal;
    return goBack(context, journal, found);
  });

/** Where it is gone back to, and from what. */
interface FoundBack extends Exchange {
  back: JournalData;
  project: JournalData['project'];
  /** `v1.5.0` */
  from: string;
  records: JournalData['containers'];
  /** By entry of the point. */
  differences: readonly Difference[];
  seconds: number;
}

/** The newest restore point, held against what is there now. Refusals: no-point, not-as-left, point-damaged, data-unfit. */
async function findBack(context: RunContext, instance: FoundInstance, soFar: RunSoFar): Promise<FoundBack> {
  const { engine, log, options } = context;
  const { own, paths, place } = instance;
  const { containers } = soFar.lock
    ? await awaitQuiet(context, place.name, null)
    : await listProject(engine, place.name);
  refuseForeignContainers(containers, instance, options, null);
  const installation = await inspectInstallation(context, instance, {
    containers,
    wasInterrupted: () => false,
  });
  soFar.installation = installation;
  log.enter('plan');
  const { project } = installation;
  const directory = pointsDirectory(options.restoreDir, paths, project);
  const [at, point] = await newestPoint(directory, project);
  const back = point.back;
  if (back?.changeover == null) throw new UpdateError('no-point', `${at.host} does not say what ran`);
  // What the containers of then had: an old password may still open something.
  log.addMaskRules(() => maskRulesOfSent(back.blueprints.map(({ config }) => ({ body: config }))));
  checkProject(back, instance, await instance.composed);
  const files = await Promise.all(back.files.map((record) => asMountedHere(record, back)));
  if (files.length > 0)
    checkFiles(back, await pathsOfProject(project, options.product, paths), place.mountedAt);
  const ids = [...new Set(back.blueprints.map(({ imageId }) => imageId))];
  const images = await inspectImages(engine, ids);
  const reasons = judgeBack(back, {
    files: await Promise.all(files.map(async (each) => ({ path: each.path, state: await stateOf(each) }))),
    containers,
    images: new Set(ids.filter((_, index) => images[index] !== null)),
  });
  if (reasons.length > 0) {
    throw new UpdateError('not-as-left', reasons.at(-1) ?? '', { detail: reasons.slice(0, -1) });
  }
  const moved = back.changeover.moved.map(({ name }) => name);
  const work: DataWork = { engine, log, project: project.name, moved, toolsImage: own.imageId };
  await checkPoint(point, at, work);
  const differences: Difference[] = [];
  for (const { kind, source, part } of point.entries) {
    differences.push(await kindOf(kind).compare(source, part, at, work));
  }
  return {
    ...{ point: { ...point, back: { ...back, files } }, place: at, kept: keptBeside(at, project) },
    ...{ back, project, from: fromWord(installation), differences },
    records: containers.map((each) => recordOf(each, () => false)),
    seconds: Math.ceil(bytesOf(point) / 50_000_000) + 5,
  };
}

async function newestPoint(directory: string, project: { directory: string }) {
  const places = await placesIn(directory, project);
  for (const place of places) {
    const point = await readPoint(place);
    if (point?.at != null) return [place, point as Point & { at: string }] as const;
  }
  throw new UpdateError('no-point', `there is no restore point in ${directory}`);
}

/** To which version and time, what is lost, and how long it takes. */
function showBack({ log }: RunContext, { point, from, differences, seconds: takes }: FoundBack): Ending {
  const { at, version, entries, left } = point;
  const rows = differences.reduce((sum, each) => sum + (each.rows ?? 0), 0);
  const tables = differences.reduce((sum, each) => sum + (each.rows === null ? 0 : each.things), 0);
  const files = differences.reduce((sum, each) => sum + (each.rows === null ? each.things : 0), 0);
  log.info(
    `back from ${from} to ${version} with its data of ${at}: ${and(entries.map(({ words }) => words))}`,
  );
  for (const line of differences.flatMap(({ words }) => words)) log.info(`since then: ${line}`);
  const lost = [
    ...(tables > 0 ? [`${counted(rows, 'row')} in ${counted(tables, 'table')}`] : []),
    ...(files > 0 ? [counted(files, 'file')] : []),
  ];
  log.info(
    `what was done since then is not in it (${lost.join(', ') || 'no row, no file'}); it is kept, and back undoes it; away for about ${takes} s`,
  );
  if (left.length > 0) log.info(`as they are: what ${and(left)} keep`);
  log.enter('done');
  const message = 'planned: nothing was changed; back --yes does it';
  const words = differences.flatMap((each) => each.words);
  log.info(message, { back: { from, to: version, at, rows, tables, files, seconds: takes, words } });
  return { outcome: 'unchanged', exitCode: 0, message };
}

/** From here on a signal no longer ends it: half of the data would be of one time, half of the other. */
async function goBack(context: RunContext, journal: Journal, found: FoundBack): Promise<Ending> {
  const { log, cancellation, beganAt } = context;
  const { point, from, back, records } = found;
  cancellation.tooLate();
  log.enter('save');
  const at = clockTime(point.at ?? '');
  const done = () =>
    `updated ${from} → ${point.version} with its data of ${at} in ${seconds(performance.now() - beganAt)}; back undoes it`;
  const present = {
    moved: back.changeover?.moved ?? [],
    containers: records,
    words: {
      ...(back.changeover?.words as NonNullable<JournalData['changeover']>['words']),
      from,
      goal: point.version,
    },
  };
  await beginBack(context, journal, found, present, { outcome: 'updated', exitCode: 0, message: done() });
  await restoreInstance(context, journal, {});
  // As `save` says it of a point: who follows the log knows by it that there is a way forward again.
  const kept = await readPoint(found.kept).catch(() => null);
  return endWell(log, 'updated', done(), {
    from,
    to: point.version,
    ...(kept && { restorePoint: toldOf(kept) }),
  });
}
