import { expect, it } from 'vitest';
import { type PrefetchFacts, planPrefetch } from '../../../src/server/prefetch/plan-prefetch.ts';
import { details } from '../deployment/container-details.ts';

const createdAt = '2026-11-21T10:00:00Z';
const hour = 3_600_000;
const at = (hours: number) => Date.parse(createdAt) + hours * hour;

/** A prefetch container of v1.5.0. */
const container = (Status: string, { exitCode = 0, to = 'v1.5.0', tries = '1' } = {}) =>
  details(
    {
      State: { Status, ExitCode: exitCode, ...(Status === 'exited' && { FinishedAt: createdAt }) },
      Config: { Labels: { 'svc-updater.to': to, 'svc-updater.tries': tries } },
    },
    { createdAt },
  );
const failed = (tries: string) => container('exited', { exitCode: 4, tries });

/** A server that has read the releases since then, and follows no download. */
const facts = {
  offered: 'v1.5.0' as string | null,
  checkedAt: at(0.2),
  version: 'v1.4.2',
  found: null as PrefetchFacts['found'],
  isFollowed: false,
  now: at(0.5),
};

it.each<[string, Partial<typeof facts>, step: string]>([
  ['no container', {}, 'launch 1'],
  ['no container, nothing offered', { offered: null }, 'leave'],
  ['a running download', { found: container('running') }, 'follow'],
  ['a finished download', { found: container('exited') }, 'tell downloaded'],
  ['a failed download', { found: failed('1') }, 'tell waiting'],
  ['a failed download after an hour', { found: failed('1'), now: at(1) }, 'launch 2'],
  ['a second failure after an hour', { found: failed('2'), now: at(1) }, 'tell waiting'],
  ['a second failure after two hours', { found: failed('2'), now: at(2) }, 'launch 3'],
  ['a tenth failure after a day', { found: failed('10'), now: at(24) }, 'launch 11'],
  ['a count that is no number', { found: failed('x'), now: at(1) }, 'launch 2'],
  ['a container that never started', { found: container('created') }, 'tell waiting'],
  // The server has just started, has no feed, or its release was skipped.
  ['a running download, nothing offered', { offered: null, found: container('running') }, 'leave'],
  ['a finished download, nothing offered', { offered: null, found: container('exited') }, 'leave'],
  ['a failed download, nothing offered', { offered: null, found: failed('3'), now: at(9) }, 'leave'],
  // Another release is offered.
  ['a running download of another release', { offered: 'v1.6.0', found: container('running') }, 'remove'],
  ['a finished download of another release', { offered: 'v1.4.9', found: container('exited') }, 'remove'],
  [
    'a running download that another server started after its later check',
    { offered: 'v1.4.9', found: container('running'), checkedAt: at(-0.1) },
    'leave',
  ],
  [
    'its own download, after the channel was changed without a check',
    { offered: 'v1.4.9', found: container('running'), checkedAt: at(-0.1), isFollowed: true },
    'remove',
  ],
  // The release was withdrawn or recalled.
  ['no container, nothing available', { offered: 'none' }, 'leave'],
  ['a running download, nothing available', { offered: 'none', found: container('running') }, 'remove'],
  ['a finished download, nothing available', { offered: 'none', found: container('exited') }, 'remove'],
  ['a failed download, nothing available', { offered: 'none', found: failed('3') }, 'remove'],
  [
    'a running download that another server started after its later check, nothing available',
    { offered: 'none', found: container('running'), checkedAt: at(-0.1) },
    'leave',
  ],
  [
    'its own download, which was recalled without a check',
    { offered: 'none', found: container('running'), checkedAt: at(-0.1), isFollowed: true },
    'remove',
  ],
  // The download of the running version.
  [
    'nothing offered after the update',
    { offered: null, found: container('exited'), version: 'v1.5.0' },
    'remove',
  ],
])('plans the step of a prefetch: %s', (_, given, step) => {
  const { offered: to, checkedAt, now, ...others } = { ...facts, ...given };
  const offered = to === null ? null : { release: to === 'none' ? null : { to, target: to }, checkedAt };
  const { kind, ...details } = planPrefetch({ ...others, offered }, now);
  const shown = 'tries' in details ? details.tries : 'state' in details ? details.state : '';
  expect(`${kind} ${shown}`.trim()).toBe(step);
});
