import { describe, expect, it } from 'vitest';
import { DeploymentNotFoundError } from '../../../src/server/deployment/deployment-not-found-error.ts';
import { findBlockingReason } from '../../../src/server/reasons/find-blocking-reason.ts';
import type { BlockingJob } from '../../../src/wire/status.ts';

const free = { noHome: null, noStore: null, updater: null, foreign: null, jobs: [], upToDate: null };
const since = '2026-11-21T10:00:00.000Z';
const job = (
  kind: BlockingJob['kind'],
  state: BlockingJob['state'],
  more: Partial<BlockingJob> = {},
): BlockingJob => ({ kind, state, title: null, since: null, stuck: false, ...more });

describe('the reason why an update cannot start', () => {
  it.each<[BlockingJob, string | null]>([
    [job('deployment', 'queued'), 'deployment-queued'],
    [job('deployment', 'running'), 'deployment-running'],
    [job('backup', 'running'), 'backup-running'],
    [job('cron', 'running'), 'cron-running'],
    [job('cleanup', 'running'), 'cleanup-running'],
    [job('job', 'running'), 'job-running'],
    // Queued jobs wait until the update has finished.
    [job('backup', 'queued'), null],
  ])('for %j is %s', (one, code) => {
    expect(findBlockingReason({ ...free, jobs: [one] })?.code ?? null).toBe(code);
  });

  it('contains the start of the oldest job of its kind', () => {
    const jobs = [
      job('backup', 'running', { since: '2026-11-21T11:00:00.000Z' }),
      job('backup', 'running', { since }),
      job('backup', 'queued', { since: '2026-11-21T08:00:00.000Z' }),
      job('cron', 'running', { since: '2026-11-21T09:00:00.000Z' }),
    ];
    const inTheWay = jobs.filter(({ state }) => state === 'running');
    expect(findBlockingReason({ ...free, jobs })).toEqual({
      code: 'backup-running',
      message: 'a backup is running; 2 more jobs are blocking the update',
      since,
      jobs: inTheWay,
    });
  });

  it('is the reason with the highest priority', () => {
    const noStore = { code: 'store-unavailable', message: 'no store' } as const;
    const all = {
      noStore,
      noHome: new DeploymentNotFoundError('no-engine', 'no socket'),
      updater: { message: 'one is on', since },
      foreign: { code: 'unrelated-container', message: 'whose is it' } as const,
      jobs: [job('job', 'running'), job('deployment', 'queued')],
      upToDate: 'the newest runs',
    };
    expect(findBlockingReason(all)?.code).toBe('no-engine');
    expect(findBlockingReason({ ...all, noHome: null })?.code).toBe('store-unavailable');
    const rest = { ...all, noHome: null, noStore: null };
    expect(findBlockingReason(rest)?.code).toBe('update-running');
    expect(findBlockingReason({ ...rest, updater: null })?.code).toBe('unrelated-container');
    const own = { ...rest, updater: null, foreign: null };
    expect(findBlockingReason(own)?.code).toBe('deployment-queued');
    expect(findBlockingReason({ ...own, jobs: [] })?.code).toBe('up-to-date');
  });
});
