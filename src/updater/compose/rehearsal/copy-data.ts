import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { type Container, isUp } from '../../../engine/objects/container.ts';
import {
  copyMountsWhileRunning,
  copyMountsWhileStopped,
  copyPathsOf,
} from '../../data/copies/copy-mounts.ts';
import { bytesToReadOf } from '../../data/copies/estimate-restore-point.ts';
import type { DataContext, RestorePointLocation } from '../../data/data-context.ts';
import type { SavedMount } from '../../data/restore-point.ts';
import {
  evaluateRunningWriters,
  isServiceContainer,
  type MountSelectionContext,
} from '../../data/selection/choose-mounts.ts';
import { formatSeconds, formatSize, joinWithAnd } from '../../run/log/format-values.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import { requireRootOwnedPath } from '../../run/state/state-directory.ts';
import type { DataSurvey } from '../restore-point/plan-restore-point.ts';
import { startControlHelper } from './control-helper.ts';

/** Shortest time in ms for which containers may be suspended, even if a health check then fails. */
const shortestPauseMs = 1_000;
/** Speed at which a fast disk is read. */
const readBytesPerSecond = 2_000_000_000;

/** Copy of a mount. The path is on the host. */
export interface DataCopy extends SavedMount {
  copy: string;
}

/**
 * Returns the longest time in ms for which the containers that write to the data may be suspended: the limit, or less if
 * a container would become unhealthy sooner.
 * @param limitMs - value of `--pause-limit`
 * @throws UpdateError pause-too-long, rehearsal-unsupported
 */
export function choosePauseLimit(
  { estimate, containers, mountContext }: Pick<DataSurvey, 'estimate' | 'containers' | 'mountContext'>,
  limitMs: number,
): number {
  const { writers, seconds, point } = estimate;
  const unusual = writers.find(({ status }) => status !== 'running');
  if (unusual)
    throw new UpdateError(
      'rehearsal-unsupported',
      `${unusual.name} writes to the data and is ${unusual.status}`,
    );
  // The health check of any service may need a suspended one.
  const own = containers.filter((each) => isUp(each) && isServiceContainer(each, mountContext.project));
  const limits = [...writers, ...own].flatMap(({ name, health, healthCheck }) =>
    health === null ? [] : [{ name, ms: Math.max(healthCheck.shortestDecisionMs, shortestPauseMs) }],
  );
  const pauseMs = Math.min(limitMs, ...limits.map(({ ms }) => ms));
  // The estimate also includes time for stopping services.
  const expected = Math.min(seconds[0], bytesToReadOf(point.mounts) / readBytesPerSecond);
  if (writers.length === 0 || expected * 2_000 <= pauseMs) return pauseMs;
  const names = joinWithAnd(writers.map(({ name }) => name));
  const limiting = limits.find(({ ms }) => ms === pauseMs && ms < limitMs);
  const why = limiting
    ? `, because ${limiting.name} could become unhealthy after ${formatSeconds(limiting.ms, 1)}`
    : '';
  const message = `${names} would be suspended for about ${formatSeconds(expected * 1_000, 1)}, but at most ${formatSeconds(pauseMs / 2, 1)} is accepted${why}`;
  const mounts = point.mounts.map(({ where, bytes }) => `${where}: ${formatSize(bytes)}`);
  throw new UpdateError('pause-too-long', message, { detail: mounts });
}

interface CopyInput {
  dataContext: DataContext;
  survey: DataSurvey;
  /** Directory for the copies, which does not exist yet. */
  directory: string;
  pauseMs: number;
}

/**
 * Copies the data of the running instance. For the second copy, all containers that write to the data are suspended, so
 * the copy has the state after a power failure: everything that was written, and nothing that was only in memory.
 * @throws UpdateError save-failed, no-space, rehearsal-inconclusive
 */
export async function copyRunningData(input: CopyInput): Promise<DataCopy[]> {
  const { dataContext, survey, directory, pauseMs } = input;
  const { log } = dataContext;
  const { point } = survey.estimate;
  const location: RestorePointLocation = { directory, isOutsideStateDirectory: true };
  await mkdir(dirname(directory), { mode: 0o700, recursive: true });
  await mkdir(directory, { mode: 0o700 });
  await requireRootOwnedCopies(directory);
  log.info(`copying the data (${formatSize(point.bytes)})`);
  const first = copyMountsWhileRunning(dataContext, location, point.mounts);
  await awaitWithHeartbeat(log, 'copying the data', first);
  const writers = await findWriters(dataContext, survey);
  const end = new AbortController();
  const copy = (stopped: Promise<unknown>, onWaiting = () => {}) => {
    const call = { stopped, signal: end.signal, onWaiting };
    return copyMountsWhileStopped(dataContext, location, point.mounts, call);
  };
  if (writers.length === 0) await copy(Promise.resolve());
  else await copyWhileSuspended({ dataContext, survey, writers, pauseMs, end, copy });
  const paths = copyPathsOf(location, point.mounts);
  return point.mounts.map((mount, at) => ({ ...mount, copy: paths[at] ?? '' }));
}

/**
 * Requires that only root can replace the directory of the copies by a link, which the engine would follow.
 * @throws UpdateError unexpected-file
 */
export async function requireRootOwnedCopies(directory: string): Promise<void> {
  await requireRootOwnedPath(dirname(directory));
  await requireRootOwnedPath(directory);
}

interface SuspendedCopyInput extends Omit<CopyInput, 'directory'> {
  writers: readonly Container[];
  end: AbortController;
  /** @param onWaiting - called when everything is prepared for the copy */
  copy(stopped: Promise<unknown>, onWaiting: () => void): Promise<void>;
}

async function copyWhileSuspended(input: SuspendedCopyInput): Promise<void> {
  const { dataContext, survey, writers, pauseMs, end, copy } = input;
  const { log } = dataContext;
  const names = joinWithAnd(writers.map(({ name }) => name));
  const request = { containers: writers.map(({ id }) => id), limitMs: pauseMs, disks: 0 };
  const helper = await startControlHelper(dataContext, 'hold', request);
  let [began, ended] = [0, 0];
  let hasResumed = false;
  let timer: NodeJS.Timeout | undefined;
  try {
    const waiting = Promise.withResolvers<void>();
    const suspend = async () => {
      await waiting.promise;
      log.info(`suspending ${names} for the second copy, for at most ${formatSeconds(pauseMs, 1)}`);
      began = performance.now();
      timer = setTimeout(() => end.abort(createLatePauseError(names, pauseMs)), pauseMs);
      helper.send('hold');
      const { event = null } = (await helper.nextEvent()) ?? {};
      if (event === 'late') throw createLatePauseError(names, pauseMs);
      if (event !== 'held') throw createLostHelperError(names);
    };
    const suspended = suspend();
    suspended.catch((error) => end.abort(error));
    await copy(suspended, waiting.resolve);
    await suspended;
    helper.send('release');
    const last = await helper.nextEvent();
    ended = performance.now();
    hasResumed = last?.event === 'released' || last?.event === 'late';
    // Otherwise, the containers ran again before the copy was complete.
    if (last?.event === 'late') throw createLatePauseError(names, pauseMs);
    if (last?.event !== 'released') throw createLostHelperError(names);
  } finally {
    clearTimeout(timer);
    await helper.close();
    // A killed helper container may not have resumed the processes. A new one does so before it is ready.
    if (!hasResumed) await (await startControlHelper(dataContext, 'hold', request)).close();
  }
  log.info(
    `${names} ${writers.length > 1 ? 'are' : 'is'} running again after ${formatSeconds(ended - began, 1)}`,
  );
  const keyOf = ({ id, startedAt }: Container) => `${id} ${startedAt}`;
  const known = new Set(writers.map(keyOf));
  const started = (await findWriters(dataContext, survey)).filter((each) => !known.has(keyOf(each)));
  if (started.length === 0) return;
  const message = `${joinWithAnd(started.map(({ name }) => name))} was started while the data was being copied`;
  throw new UpdateError('rehearsal-inconclusive', message);
}

const createLatePauseError = (names: string, pauseMs: number): UpdateError =>
  new UpdateError(
    'rehearsal-inconclusive',
    `the second copy was not complete after ${formatSeconds(pauseMs, 1)}; ${names} ran again before`,
    { advice: 'Allow more time with --pause-limit, or exclude data. Then run {command} again.' },
  );

const createLostHelperError = (names: string): UpdateError =>
  new UpdateError('rehearsal-inconclusive', `the helper container that suspends ${names} ended too early`);

/** Inspects all running containers again. */
async function findWriters({ engine, helperImageId }: DataContext, survey: DataSurvey): Promise<Container[]> {
  const running = await engine.inspectRunning();
  const around: MountSelectionContext = survey.mountContext;
  const isHelper = ({ imageId }: Container) => imageId === helperImageId;
  return evaluateRunningWriters(survey.estimate.point.mounts, running, around, isHelper).writers;
}
