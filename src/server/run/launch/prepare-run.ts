import { once } from 'node:events';
import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import { channelOf } from '../../../core/release/channel.ts';
import { isMajorVersionChange } from '../../../core/release/compare-versions.ts';
import type { RunKind } from '../../../wire/codes.ts';
import type { Reason } from '../../../wire/status.ts';
import { ApplicationError, callApplication } from '../../application/call-application.ts';
import { fetchJobs } from '../../application/fetch-jobs.ts';
import type { UpdateTarget } from '../../available-update/choose-update.ts';
import type { CompleteUpdateRequest } from '../../contract/instance-updates.ts';
import type { Deployment } from '../../deployment/read-deployment.ts';
import {
  filterRunningJobs,
  findBlockingJobsReason,
  findStuckJobsReason,
} from '../../reasons/find-blocking-reason.ts';
import type { RunRecord } from '../run-record.ts';
import type { LaunchContext } from '../server-context.ts';
import { UpdaterNotStartedError } from '../updater-not-started-error.ts';
import { launchUpdater } from './launch-updater.ts';

/** Requested run and its target. */
export interface RunPlan extends UpdateTarget {
  kind: RunKind;
  order: Pick<CompleteUpdateRequest, 'when' | 'force' | 'by' | 'settings'>;
  home: Deployment;
  /** Returns why the updater must no longer be launched; null if it may be launched. Called right before the launch. */
  findLaunchObstacle(): Promise<Reason | null>;
}

/**
 * Waits for jobs, calls `beforeUpdate` and launches the updater (docs/contract.md 8.2). Returns the container id.
 * @throws UpdaterNotStartedError
 */
export async function prepareAndLaunchRun(
  record: RunRecord,
  plan: RunPlan,
  context: LaunchContext,
): Promise<string> {
  const { settings, signal } = context;
  const giveUpAt = performance.now() + settings.idleMs;
  const until = new Date(Date.now() + settings.idleMs).toISOString();
  for (let isPrepared = false; ; isPrepared = true) {
    if (plan.order.when === 'idle') await waitForJobs(record, { giveUpAt, until }, context);
    // `beforeUpdate` is not called before a rollback, because a rollback saves the current data itself.
    if (!isPrepared && plan.kind === 'update') await callBeforeUpdate(record, plan.to, context);
    signal.throwIfAborted();
    const containerId = await launchUpdater(record, plan, context, () => mayLaunch(plan, context));
    if (containerId !== null) return containerId;
  }
}

/** Waits until no job is running. Queued jobs do not start because the queue is paused. */
async function waitForJobs(
  record: RunRecord,
  { giveUpAt, until }: { giveUpAt: number; until: string },
  { settings, timing, signal, sync }: LaunchContext,
): Promise<void> {
  for (let isLogged = false; ; ) {
    signal.throwIfAborted();
    try {
      const running = filterRunningJobs(await fetchJobs(settings, timing));
      if (running.length === 0) return;
      const stuck = findStuckJobsReason(running);
      if (stuck) throw createBlockedByJobsError(stuck.code, stuck.message);
      const reason = findBlockingJobsReason(running);
      if (performance.now() > giveUpAt)
        throw createBlockedByJobsError(reason?.code ?? 'job-running', `gave up waiting: ${reason?.message}`);
      const message = `waiting for ${running.length} running ${running.length === 1 ? 'job' : 'jobs'} to finish`;
      record.setLaunchState('waiting', message, { jobs: running, until });
      await sync();
      isLogged = false;
    } catch (cause) {
      if (!(cause instanceof ApplicationError)) throw cause;
      const message = 'the server cannot list the jobs that the update is waiting for';
      if (!isLogged) settings.log({ level: 'warn', message, cause });
      isLogged = true;
      if (performance.now() > giveUpAt) throw createBlockedByJobsError('job-running', message, logAdvice);
    }
    await sleepFor(timing.jobs, signal, false);
  }
}

const jobAdvice = 'Stop the job or wait until it has finished, then run the update again.';
const logAdvice = 'Find the cause in the log of the server, then run the update again.';
const createBlockedByJobsError = (
  code: string,
  message: string,
  advice = jobAdvice,
): UpdaterNotStartedError =>
  new UpdaterNotStartedError('refused', `${message}; nothing was changed`, { code, advice });

async function callBeforeUpdate(
  record: RunRecord,
  to: string,
  { settings, signal, sync }: LaunchContext,
): Promise<void> {
  const { beforeUpdate, preparation, preparationMs, version } = settings;
  if (!beforeUpdate) return;
  // Aborted when `beforeUpdate` finishes or the run is cancelled, so that later messages from `beforeUpdate` are
  // ignored.
  const over = new AbortController();
  record.setLaunchState('preparing', preparation ?? 'preparing the update');
  await sync();
  const requested = {
    run: record.run.id,
    from: record.run.from ?? version,
    target: to,
    major: channelOf(to) !== null && channelOf(version) !== null && isMajorVersionChange(version, to),
    say: (message: unknown) => {
      if (!over.signal.aborted) record.setLaunchState('preparing', String(message));
    },
    signal: over.signal,
  };
  const stopped = once(signal, 'abort', { signal: over.signal }).then(() => Promise.reject(signal.reason));
  stopped.catch(() => {});
  try {
    const response = callApplication('beforeUpdate', () => beforeUpdate(requested), preparationMs);
    const refusal = await Promise.race([response, stopped]);
    if (typeof refusal === 'string' && refusal !== '') throw createPreparationError(refusal);
  } catch (error) {
    if (!(error instanceof ApplicationError)) throw error;
    // If the application threw an error, the error's message is shown to admins.
    throw createPreparationError(error.cause instanceof Error ? error.cause.message : error.message, error);
  } finally {
    over.abort();
  }
}

const createPreparationError = (detail: string, error?: unknown): UpdaterNotStartedError =>
  new UpdaterNotStartedError('refused', 'the update could not be prepared; nothing was changed', {
    detail,
    code: 'not-prepared',
    advice: 'Fix the problem reported during preparation, then run the update again.',
    error,
  });

/**
 * Right before the container is created, checks again for a recall and for running jobs. Returns false if the update
 * must wait for jobs.
 * @throws UpdaterNotStartedError
 */
async function mayLaunch(
  { order: { when, force }, findLaunchObstacle: whyNot }: RunPlan,
  context: LaunchContext,
): Promise<boolean> {
  const { settings, timing, hold, sync } = context;
  await sync();
  const forbidden = await whyNot();
  if (forbidden) {
    const { code, message, advice = null } = forbidden;
    throw new UpdaterNotStartedError('refused', `${message}; nothing was changed`, { code, advice });
  }
  if (force) return true;
  let reason: Reason | null;
  try {
    // The queue is paused again, because another server of the instance may have resumed it.
    await hold.requestState(true);
    const jobs = await fetchJobs(settings, timing);
    reason = findBlockingJobsReason(when === 'idle' ? filterRunningJobs(jobs) : jobs);
  } catch (error) {
    if (!(error instanceof ApplicationError)) throw error;
    throw new UpdaterNotStartedError('failed', 'the job queue does not respond; nothing was changed', {
      code: 'queue-unavailable',
      advice: `Check that ${settings.product.name} is working, then run the update again.`,
      error,
    });
  }
  if (reason === null) return true;
  if (when === 'idle') return false;
  throw createBlockedByJobsError(reason.code, reason.message);
}
