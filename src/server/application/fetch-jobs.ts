import { jobKinds } from '../../wire/codes.ts';
import type { BlockingJob } from '../../wire/status.ts';
import type { ServerTiming } from '../contract/timing.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import { ApplicationError, callApplication } from './call-application.ts';

const longestTitle = 200;

/**
 * Fetches the jobs. A job of an unknown kind counts as `job`, and a job in an unknown state counts as running. @throws
 * ApplicationError
 */
export async function fetchJobs(
  { queue }: Pick<ValidatedInstanceOptions, 'queue'>,
  { host }: ServerTiming,
): Promise<BlockingJob[]> {
  const response: unknown = await callApplication('queue.jobs', () => queue.jobs(), host);
  if (!Array.isArray(response))
    throw new ApplicationError('queue.jobs', 'queue.jobs() did not return a list');
  return response.map((job: unknown) => {
    const { kind, state, title, since, stuck } = Object(job) as Record<string, unknown>;
    return {
      kind: jobKinds.find((known) => known === kind) ?? 'job',
      state: state === 'queued' ? 'queued' : 'running',
      title: typeof title === 'string' && title !== '' ? title.slice(0, longestTitle) : null,
      since: toIsoTime(since),
      stuck: stuck === true,
    };
  });
}

/** Returns null if the value is not a time, or if its year does not have four digits. */
function toIsoTime(value: unknown): string | null {
  if (!(value instanceof Date) && typeof value !== 'string' && typeof value !== 'number') return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) || !/^\d{4}-/.test(date.toISOString()) ? null : date.toISOString();
}
