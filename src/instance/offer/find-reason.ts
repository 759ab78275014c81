import type { JobInTheWay, Reason } from '../../wire/status.ts';
import type { HomeNotFound } from '../place/home-not-found.ts';
import { jobsReason } from './find-jobs.ts';

/** What stands in the way of an update, as far as it does. */
export interface Hindrances {
  noHome: HomeNotFound | null;
  /** The store does not answer. */
  noStore: Reason | null;
  /** An update that is on: of this instance, or of another on the same engine. */
  updater: { message: string; since: string } | null;
  /** Containers that compose would take for the instance's. While an update replaces them, they may differ. */
  foreign: Reason | null;
  jobs: readonly JobInTheWay[];
  /** Why there is nothing to update to; null where there is. */
  upToDate: string | null;
}

/** Why an update may not start, the first reason (docs/contract.md 8.1); null where it may. */
export function findReason({ noHome, noStore, updater, foreign, jobs, upToDate }: Hindrances): Reason | null {
  if (noHome) return noHome.reason;
  if (noStore) return noStore;
  if (updater) return { code: 'update-running', ...updater };
  if (foreign) return foreign;
  return jobsReason(jobs) ?? (upToDate === null ? null : { code: 'up-to-date', message: upToDate });
}
