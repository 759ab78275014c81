import type { JobKind, ReasonCode } from '../../wire/codes.ts';
import type { BlockingJob, Reason } from '../../wire/status.ts';
import type { CompleteUpdateRequest } from '../contract/instance-updates.ts';
import type { DeploymentNotFoundError } from '../deployment/deployment-not-found-error.ts';

interface BlockingFacts {
  noHome: DeploymentNotFoundError | null;
  /** Set if the store does not respond or is not persistent; otherwise null. */
  noStore: Reason | null;
  /** Running update of this or another instance on the same engine; null if no update is running. */
  updater: { message: string; since: string } | null;
  /** Set if unrelated containers have the instance's compose labels; otherwise null. */
  foreign: Reason | null;
  jobs: readonly BlockingJob[];
  /** Why no update is available; null if an update is available. */
  upToDate: string | null;
}

/** Returns the first reason why an update cannot start (docs/contract.md 8.1); null if it can start. */
export function findBlockingReason(hindrances: BlockingFacts): Reason | null {
  const { noHome, noStore, updater, foreign, jobs, upToDate } = hindrances;
  if (noHome) return noHome.reason;
  if (noStore) return noStore;
  if (updater) return { code: 'update-running', ...updater };
  if (foreign) return foreign;
  return (
    findBlockingJobsReason(jobs) ?? (upToDate === null ? null : { code: 'up-to-date', message: upToDate })
  );
}

/**
 * Jobs that block an update. Most queued jobs can run after the update. Queued deployments block the update, because a
 * user is waiting for them.
 */
const blockingJobKinds: readonly (readonly [ReasonCode, JobKind, BlockingJob['state'], sentence: string])[] =
  [
    ['deployment-queued', 'deployment', 'queued', 'a deployment is queued'],
    ['deployment-running', 'deployment', 'running', 'a deployment is running'],
    ['backup-running', 'backup', 'running', 'a backup is running'],
    ['cron-running', 'cron', 'running', 'a cron job is running'],
    ['cleanup-running', 'cleanup', 'running', 'a cleanup is running'],
    ['job-running', 'job', 'running', 'a job is running'],
  ];

/** Returns why these jobs block an update; null if no job blocks it. */
export function findBlockingJobsReason(jobs: readonly BlockingJob[]): Reason | null {
  const first = blockingJobKinds.find(([, ...which]) => jobs.some((job) => isJobOf(job, which)));
  if (first === undefined) return null;
  const [code, kind, state, sentence] = first;
  const blocking = jobs.filter((job) => blockingJobKinds.some(([, ...which]) => isJobOf(job, which)));
  const since = blocking
    .filter((job) => isJobOf(job, [kind, state]))
    .flatMap((job) => job.since ?? [])
    .sort()[0];
  const others = blocking.length - 1;
  return {
    code,
    message:
      others === 0
        ? sentence
        : `${sentence}; ${others} more ${others === 1 ? 'job is' : 'jobs are'} blocking the update`,
    ...(since === undefined ? {} : { since }),
    jobs: blocking,
  };
}

/** Returns the running jobs. An update waits only for these, because queued jobs run after the update. */
export const filterRunningJobs = (jobs: readonly BlockingJob[]): BlockingJob[] =>
  jobs.filter(({ state }) => state === 'running');

/** Returns why an update cannot wait for these jobs; null if it can wait. */
export function findStuckJobsReason(jobs: readonly BlockingJob[]): Reason | null {
  const running = filterRunningJobs(jobs);
  const stuck = running.filter((job) => job.stuck);
  const reason = stuck.length === 0 ? null : findBlockingJobsReason(stuck);
  return reason && { ...reason, message: `stuck job: ${reason.message}`, jobs: running };
}

/** Returns the jobs for which the run must wait, or the reason why jobs block the run. */
export function findAwaitedJobs(
  { when, force }: Pick<CompleteUpdateRequest, 'when' | 'force'>,
  jobs: readonly BlockingJob[],
): { jobs: BlockingJob[] } | { reason: Reason } {
  if (force) return { jobs: [] };
  const reason = when === 'idle' ? findStuckJobsReason(jobs) : findBlockingJobsReason(jobs);
  return reason === null ? { jobs: when === 'idle' ? filterRunningJobs(jobs) : [] } : { reason };
}

const isJobOf = (job: BlockingJob, [kind, state]: readonly unknown[]): boolean =>
  job.kind === kind && job.state === state;
