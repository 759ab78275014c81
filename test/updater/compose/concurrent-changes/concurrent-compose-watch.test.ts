import { describe, expect, it } from 'vitest';
import { separateLeftoverContainers } from '../../../../src/engine/containers/project-containers.ts';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { ConcurrentComposeWatch } from '../../../../src/updater/compose/concurrent-changes/concurrent-compose-watch.ts';
import { container } from '../../../build.ts';

const prefix = '0123456789ab';
const old = (service: string, changes: Partial<Container> = {}): Container =>
  container(`${service}-1`, { id: `${prefix}${service}`, ...changes });
const made = (service: string, changes: Partial<Container> = {}): Container =>
  container(`${service}-1`, {
    id: `${service}-made`,
    name: `${prefix}_svc-${service}-1`,
    status: 'created',
    ...changes,
  });

/** The verdict of the watch for each observation. */
function said(
  looks: readonly [atSecond: number, containers: readonly Container[]][],
  ignores = (_: Container): boolean => false,
): string[] {
  const watch = new ConcurrentComposeWatch({ services: new Set(['app', 'worker']), ignores }, 0);
  return looks.map(([at, containers]) => {
    const verdict = watch.evaluate(separateLeftoverContainers(containers), at * 1000);
    return verdict.kind === 'quiet' ? `quiet ${verdict.debris.map(({ id }) => id)}`.trim() : verdict.kind;
  });
}

describe('ConcurrentComposeWatch', () => {
  it('waits until a new container has its final name', () => {
    const both = [old('app'), made('app')];
    const alone = [made('app')];
    const named = [made('app', { name: 'svc-app-1', status: 'running' })];
    expect(
      said([
        [0, both],
        [9, both],
        [10, alone],
        [11, named],
      ]),
    ).toEqual(['waiting', 'waiting', 'waiting', 'quiet']);
  });

  it.each<[string, Container[], number]>([
    ['beside one that runs: its grace period and 30 s', [old('app'), made('app')], 40],
    [
      'beside one that is stopped already: 30 s',
      [old('app', { status: 'exited', stopTimeout: 3600 }), made('app')],
      30,
    ],
    ['beside none any more: 30 s', [made('app')], 30],
  ])('treats a temporary container as debris after a time without changes: %s', (_, containers, seconds) => {
    expect(
      said([
        [0, containers],
        [seconds - 1, containers],
        [seconds, containers],
      ]),
    ).toEqual(['waiting', 'waiting', 'quiet app-made']);
  });

  it('restarts the waiting time when the old container changes', () => {
    const before = [old('app'), made('app')];
    const after = [old('app', { status: 'exited' }), made('app')];
    expect(
      said([
        [0, before],
        [20, after],
        [45, after],
        [50, after],
      ]),
    ).toEqual(['waiting', 'waiting', 'waiting', 'quiet app-made']);
  });

  it('waits for a created worker while the app is starting, and for 30 s after the app is healthy', () => {
    const worker = container('worker-1', { status: 'created' });
    const starting = [old('app', { health: 'starting' }), worker];
    const healthy = [old('app', { health: 'healthy' }), worker];
    expect(
      said([
        [0, starting],
        [60, starting],
        [61, healthy],
        [90, healthy],
        [91, healthy],
      ]),
    ).toEqual(['waiting', 'waiting', 'waiting', 'waiting', 'quiet worker-1']);
    expect(said([[0, starting]], ({ id }) => id === 'worker-1')).toEqual(['quiet worker-1']);
  });

  it('reports a concurrent compose command as busy after two minutes', () => {
    const worker = [old('worker', { stopTimeout: 3600 }), made('worker')];
    expect(
      said([
        [0, worker],
        [119, worker],
        [120, worker],
      ]),
    ).toEqual(['waiting', 'waiting', 'busy']);
    const forEver = [old('app', { stopTimeout: Number.POSITIVE_INFINITY }), made('app')];
    expect(
      said([
        [0, forEver],
        [119, forEver],
        [120, forEver],
      ]),
    ).toEqual(['waiting', 'waiting', 'busy']);
  });
});
