import type { ReasonCode } from '../../wire/codes.ts';
import type { Reason } from '../../wire/status.ts';
import type { Job } from '../contract/options.ts';
import type { HomeNotFound } from '../place/home.ts';

/** What stands in the way of an update, as far as it does. */
export interface Hindrances {
  homeless: HomeNotFound | null;
  /** An update that is on: of this instance, or of another on the same engine. */
  updater: { message: string; since: string } | null;
  jobs: readonly Job[];
  /** Why there is nothing to update to; null where there is. */
  upToDate: string | null;
}

/** What waits is no hindrance, as it runs after the update; a deployment that waits is, as somebody waits for it. */
const jobCodes: readonly (readonly [ReasonCode, Job['kind'], Job['state'], sentence: string])[] = [
  ['deployment-queued', 'deployment', 'queued', 'a deployment is queued'],
  ['deployment-running', 'deployment', 'running', 'a deployment is running'],
  ['backup-running', 'backup', 'running', 'a backup is running'],
  ['cron-running', 'cron', 'running', 'a cron job is running'],
  ['cleanup-running', 'cleanup', 'running', 'a cleanup is running'],
  ['job-running', 'job', 'running', 'a job is running'],
];

/** Why an update may not start, the first reason (docs/contract.md 8.1); null where it may. */
export function findReason({ homeless, updater, jobs, upToDate }: Hindrances): Reason | null {
  if (homeless) return homeless.reason;
  if (updater) return { code: 'update-running', ...updater };
  for (const [code, kind, state, message] of jobCodes) {
    const found = jobs.filter((job) => job.kind === kind && job.state === state);
    if (found.length === 0) continue;
    const since = found.flatMap((job) => (job.since ? [job.since.toISOString()] : [])).sort()[0];
    return { code, message, ...(since === undefined ? {} : { since }) };
  }
  return upToDate === null ? null : { code: 'up-to-date', message: upToDate };
}
