import { expect, it } from 'vitest';
import { createRun } from '../../../../src/server/run/run-record.ts';
import { type FoundUpdater, planResume } from '../../../../src/server/run/track/plan-resume.ts';
import type { ServerProcessState } from '../../../../src/server/run/track/server-liveness.ts';

// What a server does with an open run, by the store, the engine and the server of the run (docs/contract.md 8.18).

const origin = (id: string) => ({ id, from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' });
const open = (updater: string | null) => ({
  run: createRun(origin('r1')),
  server: { container: 'c', word: 'w' },
  updater,
  serverStoppedAt: null,
});
const container = (
  run: string,
  state: FoundUpdater['state'],
  kind: 'update' | 'rollback' = 'update',
): FoundUpdater => ({
  id: `updater of ${run}`,
  origin: kind === 'rollback' ? { ...origin(run), kind } : origin(run),
  state,
});

it.each<[open: 'none' | 'unlaunched' | 'launched', FoundUpdater | null, ServerProcessState, object]>([
  ['none', null, 'this', { kind: 'release' }],
  ['none', container('r0', 'made'), 'this', { kind: 'release' }],
  ['none', container('r0', 'ended'), 'this', { kind: 'release' }],
  ['none', container('r0', 'under-way'), 'this', { kind: 'adopt', updater: { origin: origin('r0') } }],
  ['unlaunched', null, 'lives', { kind: 'mirror' }],
  ['unlaunched', null, 'this', { kind: 'drop' }],
  ['unlaunched', null, 'gone', { kind: 'end', outcome: 'cancelled', leftover: null }],
  ['unlaunched', container('r1', 'made'), 'lives', { kind: 'mirror' }],
  ['unlaunched', container('r1', 'made'), 'gone', { kind: 'end', leftover: 'updater of r1' }],
  ['unlaunched', container('r1', 'under-way'), 'gone', { kind: 'follow', updater: { state: 'under-way' } }],
  ['unlaunched', container('r0', 'under-way'), 'lives', { kind: 'mirror' }],
  ['launched', container('r1', 'under-way'), 'lives', { kind: 'follow', updater: { id: 'updater of r1' } }],
  ['launched', container('r1', 'ended'), 'this', { kind: 'follow', updater: { state: 'ended' } }],
  ['launched', container('r0', 'under-way'), 'lives', { kind: 'end', outcome: 'crashed', leftover: null }],
  // The store was restored with the data.
  [
    'launched',
    container('b', 'under-way', 'rollback'),
    'gone',
    { kind: 'adopt', undone: open('updater of r1') },
  ],
  [
    'launched',
    container('b', 'ended', 'rollback'),
    'gone',
    { kind: 'adopt', updater: { id: 'updater of b' } },
  ],
  ['launched', container('b', 'made', 'rollback'), 'gone', { kind: 'end', outcome: 'crashed' }],
  [
    'unlaunched',
    container('b', 'ended', 'rollback'),
    'gone',
    { kind: 'end', outcome: 'cancelled', leftover: null },
  ],
  ['none', container('b', 'under-way', 'rollback'), 'gone', { kind: 'adopt', undone: null }],
  ['launched', null, 'this', { kind: 'end', outcome: 'crashed' }],
])('plans the step for an open run: %s, its updater: %j, its server: %s', (which, updater, server, step) => {
  const known = which === 'none' ? null : open(which === 'launched' ? 'updater of r1' : null);
  expect(planResume(known, updater, server)).toMatchObject(step);
});
