import type { JobKind, ReasonCode } from '../../wire/codes.ts';
import type { BlockingJob, Reason } from '../../wire/status.ts';
import type { HomeNotFound } from '../place/home-not-found.ts';

/** The possible reasons against an update. */
interface Hindrances {
  noHome: HomeNotFound | null;
  /** The store does not answer. */
  noStore: Reason | null;
  /** A running update of this instance, or of another one on the same engine. */
  updater: { message: string; since: string } | null;
  /** Unrelated containers with the compose labels of the instance. */
  foreign: Reason | null;
  jobs: readonly BlockingJob[];
  /** Why no update is available; null if there is one. */
  upToDate: string | null;
}

/** The first reason why an update cannot start (docs/contract.md 8.1); null if it can. */
export function findReason(hindrances: Hindrances): Reason | null {
  const { noHome, noStore, updater, foreign, jobs, upToDate } = hindrances;
  if (noHome) return noHome.reason;
  if (noStore) return noStore;
  if (updater) return { code: 'update-running', ...updater };
  if (foreign) return foreign;
  return jobsReason(jobs) ?? (upToDate === null ? null : { code: 'up-to-date', message: upToDate });
}

/** Queued jobs run after the update. Only queued deployments block it, because a user is waiting for them. */
const hindrances: readonly (readonly [ReasonCode, JobKind, BlockingJob['state'], sentence: string])[] = [
  ['deployment-queued', 'deployment', 'queued', 'a deployment is queued'],
  ['deployment-running', 'deployment', 'running', 'a deployment is running'],
  ['backup-running', 'backup', 'running', 'a backup is running'],
  ['cron-running', 'cron', 'running', 'a cron job is running'],
  ['cleanup-running', 'cleanup', 'running', 'a cleanup is running'],
  ['job-running', 'job', 'running', 'a job is running'],
];

/** Why these jobs block an update; null if none does. */
export function jobsReason(jobs: readonly BlockingJob[]): Reason | null {
  const first = hindrances.find(([, ...which]) => jobs.some((job) => isSuch(job, which)));
  if (first === undefined) return null;
  const [code, kind, state, sentence] = first;
  const blocking = jobs.filter((job) => hindrances.some(([, ...which]) => isSuch(job, which)));
  const since = blocking
    .filter((job) => isSuch(job, [kind, state]))
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

/** The jobs that an update waits for: what is queued runs after it. */
export const runningJobs = (jobs: readonly BlockingJob[]): BlockingJob[] =>
  jobs.filter(({ state }) => state === 'running');

/** Why an update cannot wait for these jobs; null if it can. */
export function stuckReason(jobs: readonly BlockingJob[]): Reason | null {
  const running = runningJobs(jobs);
  const stuck = running.filter((job) => job.stuck);
  const reason = stuck.length === 0 ? null : jobsReason(stuck);
  return reason && { ...reason, message: `stuck job: ${reason.message}`, jobs: running };
}

const isSuch = (job: BlockingJob, [kind, state]: readonly unknown[]): boolean =>
  job.kind === kind && job.state === state;
