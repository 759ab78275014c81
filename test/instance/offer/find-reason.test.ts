import { describe, expect, it } from 'vitest';
import type { Job } from '../../../src/instance/contract/options.ts';
import { findReason } from '../../../src/instance/offer/find-reason.ts';
import { HomeNotFound } from '../../../src/instance/place/home.ts';

const free = { homeless: null, updater: null, jobs: [], upToDate: null };
const since = new Date('2026-11-21T10:00:00Z');
const job = (kind: Job['kind'], state: Job['state'], more: Partial<Job> = {}): Job => ({
  kind,
  state,
  ...more,
});

describe('the reason against an update', () => {
  it('is none where nothing stands in the way', () => expect(findReason(free)).toBeNull());

  it.each<[Job, string | null]>([
    [job('deployment', 'queued'), 'deployment-queued'],
    [job('deployment', 'running'), 'deployment-running'],
    [job('backup', 'running'), 'backup-running'],
    [job('cron', 'running'), 'cron-running'],
    [job('cleanup', 'running'), 'cleanup-running'],
    [job('job', 'running'), 'job-running'],
    // These wait for the end of the update.
    [job('backup', 'queued'), null],
    [job('cron', 'queued'), null],
    [job('cleanup', 'queued'), null],
    [job('job', 'queued'), null],
  ])('of %j is %s', (one, code) => {
    expect(findReason({ ...free, jobs: [one] })?.code ?? null).toBe(code);
  });

  it('says since when, by the oldest of its kind', () => {
    const jobs = [
      job('backup', 'running', { since: new Date('2026-11-21T11:00:00Z') }),
      job('backup', 'running', { since }),
      job('cron', 'running', { since: new Date(0) }),
    ];
    expect(findReason({ ...free, jobs })).toEqual({
      code: 'backup-running',
      message: 'a backup is running',
      since: '2026-11-21T10:00:00.000Z',
    });
  });

  it('is the first of the list', () => {
    const all = {
      homeless: new HomeNotFound('no-engine', 'no socket'),
      updater: { message: 'one is on', since: since.toISOString() },
      jobs: [job('job', 'running'), job('deployment', 'queued')],
      upToDate: 'the newest runs',
    };
    expect(findReason(all)?.code).toBe('no-engine');
    expect(findReason({ ...all, homeless: null })?.code).toBe('update-running');
    expect(findReason({ ...all, homeless: null, updater: null })?.code).toBe('deployment-queued');
    expect(findReason({ ...all, homeless: null, updater: null, jobs: [] })?.code).toBe('up-to-date');
  });
});
