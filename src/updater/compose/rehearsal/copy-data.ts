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
import type { ProcessEvent } from '../../data/helper-program/control-request.ts';
import type { SavedMount } from '../../data/restore-point.ts';
import { evaluateRunningWriters, isServiceContainer } from '../../data/selection/choose-mounts.ts';
import { formatSeconds, formatSize, joinWithAnd } from '../../run/log/format-values.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import { requireRootOwnedPath } from '../../run/state/state-directory.ts';
import type { DataSurvey } from '../restore-point/plan-restore-point.ts';
import { eventTimeoutMs, startControlHelper } from './control-helper.ts';

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
  const { writers, downtime, point } = estimate;
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
  const pauseLimitMs = Math.min(limitMs, ...limits.map(({ ms }) => ms));
  // The estimate also includes time for stopping services.
  const expected = Math.min(downtime.range[0], bytesToReadOf(point.mounts) / readBytesPerSecond);
  if (writers.length === 0 || expected * 2_000 <= pauseLimitMs) return pauseLimitMs;
  const names = joinWithAnd(writers.map(({ name }) => name));
  const limiting = limits.find(({ ms }) => ms === pauseLimitMs && ms < limitMs);
  const why = limiting
    ? `, because ${limiting.name} could become unhealthy after ${formatSeconds(limiting.ms, 1)}`
    : '';
  const message = `${names} would be suspended for about ${formatSeconds(expected * 1_000, 1)}, but the copy may take at most half of the limit of ${formatSeconds(pauseLimitMs, 1)}${why}`;
  const mounts = point.mounts.map(({ where, bytes }) => `${where}: ${formatSize(bytes)}`);
  throw new UpdateError('pause-too-long', message, { detail: mounts });
}

interface CopyInput {
  dataContext: DataContext;
  survey: DataSurvey;
  /** Directory for the copies, which does not exist yet. */
  directory: string;
  /** The same directory, as a path in this container without links. */
  pathInContainer: string;
  pauseLimitMs: number;
}

/**
 * Copies the data of the running instance. For the second copy, all containers that write to the data are suspended, so
 * the copy has the state after a power failure: everything that was written, and nothing that was only in memory.
 * @throws UpdateError save-failed, no-space, rehearsal-inconclusive
 */
export async function copyRunningData(input: CopyInput): Promise<DataCopy[]> {
  const { dataContext, survey, directory, pathInContainer, pauseLimitMs } = input;
  const { log } = dataContext;
  const { point } = survey.estimate;
  const location: RestorePointLocation = { directory, isOutsideStateDirectory: true };
  await mkdir(dirname(directory), { mode: 0o700, recursive: true });
  await mkdir(directory, { mode: 0o700 });
  await requireRootOwnedCopies(pathInContainer);
  log.info(`copying the data (${formatSize(point.bytes)})`);
  const first = copyMountsWhileRunning(dataContext, location, point.mounts);
  await awaitWithHeartbeat(log, 'copying the data', first);
  const writers = await findWriters(dataContext, survey);
  const abortCopy = new AbortController();
  const copy = (stopped: Promise<unknown>, onWaiting = () => {}) => {
    const call = { stopped, signal: abortCopy.signal, onWaiting };
    return copyMountsWhileStopped(dataContext, location, point.mounts, call);
  };
  if (writers.length === 0) await copy(Promise.resolve());
  else await copyWhileSuspended({ dataContext, survey, writers, pauseLimitMs, abortCopy, copy });
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

interface SuspendedCopyInput extends Omit<CopyInput, 'directory' | 'pathInContainer'> {
  writers: readonly Container[];
  abortCopy: AbortController;
  /** @param onWaiting - called when everything is prepared for the copy */
  copy(stopped: Promise<unknown>, onWaiting: () => void): Promise<void>;
}

async function copyWhileSuspended(input: SuspendedCopyInput): Promise<void> {
  const { dataContext, survey, writers, pauseLimitMs, abortCopy, copy } = input;
  const { log } = dataContext;
  const names = joinWithAnd(writers.map(({ name }) => name));
  const request = { containers: writers.map(({ id }) => id), limitMs: pauseLimitMs };
  const helper = await startControlHelper(dataContext, 'suspend', request);
  let [began, ended] = [0, 0];
  let hasResumed = false;
  let timer: NodeJS.Timeout | undefined;
  try {
    const waiting = Promise.withResolvers<void>();
    const suspend = async () => {
      await waiting.promise;
      log.info(`suspending ${names} for the second copy, for at most ${formatSeconds(pauseLimitMs, 1)}`);
      began = performance.now();
      timer = setTimeout(() => abortCopy.abort(createLatePauseError(names, pauseLimitMs)), pauseLimitMs);
      helper.send('suspend');
      const event = await helper.nextEvent();
      if (event?.event !== 'suspended') throw createResumedError(event, names, pauseLimitMs);
    };
    const suspended = suspend();
    suspended.catch((error) => abortCopy.abort(error));
    const next = suspended.then(() => helper.nextEvent(pauseLimitMs + eventTimeoutMs));
    // An event before the copy is complete means that the containers run again.
    let isComplete = false;
    next.then(
      (event) => isComplete || abortCopy.abort(createResumedError(event, names, pauseLimitMs)),
      () => {},
    );
    await copy(suspended, waiting.resolve);
    await suspended;
    isComplete = true;
    helper.send('done');
    const last = await next;
    ended = performance.now();
    hasResumed = last?.event === 'resumed' || last?.event === 'limit-passed';
    abortCopy.signal.throwIfAborted();
    if (last?.event !== 'resumed') throw createResumedError(last, names, pauseLimitMs);
  } finally {
    clearTimeout(timer);
    await helper.close();
    // A killed helper container may not have resumed the processes. A new one does so before it is ready.
    if (!hasResumed) await (await startControlHelper(dataContext, 'suspend', request)).close();
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

const createLatePauseError = (names: string, pauseLimitMs: number): UpdateError =>
  new UpdateError(
    'rehearsal-inconclusive',
    `the second copy was not complete after ${formatSeconds(pauseLimitMs, 1)}, so ${names} had to be resumed`,
    { advice: 'Exclude data, or use a longer --pause-limit (at most 30). Then run {command} again.' },
  );

/** @param event - event that ended the pause too early; null if the helper container has ended */
const createResumedError = (event: ProcessEvent | null, names: string, pauseLimitMs: number): UpdateError =>
  event?.event === 'limit-passed'
    ? createLatePauseError(names, pauseLimitMs)
    : new UpdateError(
        'rehearsal-inconclusive',
        `the helper container that suspends ${names} ended too early`,
      );

/** Inspects all running containers again. */
async function findWriters({ engine, helperImageId }: DataContext, survey: DataSurvey): Promise<Container[]> {
  const running = await engine.inspectRunning();
  const isHelper = ({ imageId }: Container) => imageId === helperImageId;
  return evaluateRunningWriters(survey.estimate.point.mounts, running, survey.mountContext, isHelper).writers;
}
