import type { JobKind, ReasonCode } from '../../wire/codes.ts';
import type { BlockingJob, Reason } from '../../wire/status.ts';
import type { HomeNotFound } from '../place/home-not-found.ts';

/** What stands in the way of an update, as far as it does. */
interface Hindrances {
  noHome: HomeNotFound | null;
  /** The store does not answer. */
  noStore: Reason | null;
  /** An update that is on: of this instance, or of another on the same engine. */
  updater: { message: string; since: string } | null;
  /** Containers that compose would take for the instance's. While an update replaces them, they may differ. */
  foreign: Reason | null;
  jobs: readonly BlockingJob[];
  /** Why there is nothing to update to; null where there is. */
  upToDate: string | null;
}

/** Why an update may not start, the first reason (docs/contract.md 8.1); null where it may. */
export function findReason(hindrances: Hindrances): Reason | null {
  const { noHome, noStore, updater, foreign, jobs, upToDate } = hindrances;
  if (noHome) return noHome.reason;
  if (noStore) return noStore;
  if (updater) return { code: 'update-running', ...updater };
  if (foreign) return foreign;
  return jobsReason(jobs) ?? (upToDate === null ? null : { code: 'up-to-date', message: upToDate });
}

/** What waits is no hindrance, as it runs after the update; a deployment that waits is, as somebody waits for it. */
const hindrances: readonly (readonly [ReasonCode, JobKind, BlockingJob['state'], sentence: string])[] = [
  ['deployment-queued', 'deployment', 'queued', 'a deployment is queued'],
  ['deployment-running', 'deployment', 'running', 'a deployment is running'],
  ['backup-running', 'backup', 'running', 'a backup is running'],
  ['cron-running', 'cron', 'running', 'a cron job is running'],
  ['cleanup-running', 'cleanup', 'running', 'a cleanup is running'],
  ['job-running', 'job', 'running', 'a job is running'],
];

/** Why an update may not start beside these jobs, with all that are in the way; null where it may. */
export function jobsReason(jobs: readonly BlockingJob[]): Reason | null {
  const first = hindrances.find(([, ...which]) => jobs.some((job) => isSuch(job, which)));
  if (first === undefined) return null;
  const [code, kind, state, sentence] = first;
  const inTheWay = jobs.filter((job) => hindrances.some(([, ...which]) => isSuch(job, which)));
  const since = inTheWay
    .filter((job) => isSuch(job, [kind, state]))
    .flatMap((job) => job.since ?? [])
    .sort()[0];
  const others = inTheWay.length - 1;
  return {
    code,
    message:
      others === 0
        ? sentence
        : `${sentence}; ${others} more ${others === 1 ? 'job is' : 'jobs are'} blocking the update`,
    ...(since === undefined ? {} : { since }),
    jobs: inTheWay,
  };
}

/** The jobs that an update waits for: what is queued runs after it. */
export const runningJobs = (jobs: readonly BlockingJob[]): BlockingJob[] =>
  jobs.filter(({ state }) => state === 'running');

/** Why nobody should wait for these jobs; null where one may. */
export function stuckReason(jobs: readonly BlockingJob[]): Reason | null {
  const running = runningJobs(jobs);
  const stuck = running.filter((job) => job.stuck);
  const reason = stuck.length === 0 ? null : jobsReason(stuck);
  return reason && { ...reason, message: `stuck job: ${reason.message}`, jobs: running };
}

const isSuch = (job: BlockingJob, [kind, state]: readonly unknown[]): boolean =>
  job.kind === kind && job.state === state;
