import { describe, expect, it } from 'vitest';
import { watchedServices } from '../../../src/agent/replace/await-services.ts';
import { HealthWatch, type WatchedService } from '../../../src/agent/replace/health.ts';
import type { Container } from '../../../src/engine/container.ts';
import { changeover, container, record } from '../../build.ts';

const service = (name: string, containers: Container[], needs = containers.length): WatchedService => ({
  name,
  containers,
  has: containers.length,
  needs,
});

/** What the verdict is at each second of a list of looks. */
function said(
  looks: readonly [atSecond: number, services: WatchedService[]][],
  { timeoutMs = 300_000, missingMs = 10_000 } = {},
): string[] {
  const watch = new HealthWatch({ app: 'app', timeoutMs, missingMs }, 0);
  return looks.map(([at, services]) => {
    const verdict = watch.look(services, at * 1000);
    return verdict.kind === 'well'
      ? verdict.reports.map(({ service, how }) => `${service} ${how}`).join()
      : `${verdict.kind}: ${verdict.sentence}`;
  });
}

describe('a service without a health check', () => {
  it.each<[string, number]>([
    ['app', 15],
    ['worker', 5],
  ])('is well once it has run without a restart: %s for %i s', (name, seconds) => {
    const services = [service(name, [container(`${name}-1`)])];
    expect(
      said([
        [0, services],
        [seconds - 0.1, services],
        [seconds, services],
      ]),
    ).toEqual([
      `waiting: waiting for svc-${name}-1: has just started (0 s)`,
      `waiting: waiting for svc-${name}-1: has just started (${seconds} s)`,
      `${name} up for ${seconds} s without a restart`,
    ]);
  });
});

describe('how long a service took', () => {
  const look = (each: Container) => [service('worker', [each])];
  const starting = container('worker-1', { health: 'starting' });
  const well = container('worker-1', { health: 'healthy' });
  const again: Partial<Container> = { startedAt: '1999-01-01T00:00:00Z' };

  it('is not said of one that nobody saw start', () => {
    const verdicts = said([
      [1, look(starting)],
      [3, look(well)],
    ]);
    expect(verdicts.at(-1)).toBe('worker healthy');
  });

  it('is counted from the look that saw it started again, whatever the clock of the engine says', () => {
    const verdicts = said([
      [1, look(starting)],
      [3, look({ ...starting, ...again })],
      [5, look({ ...well, ...again })],
    ]);
    expect(verdicts.at(-1)).toBe('worker healthy after 2.0 s');
  });
});

describe('a container that goes down again and again', () => {
  const down = (restartCount: number) => [
    service('app', [container('app-1', { status: 'restarting', exitCode: 1, restartCount })]),
  ];

  it('is not waited for any longer after five restarts', () => {
    expect(
      said([
        [0, down(4)],
        [4, down(5)],
      ]),
    ).toEqual([
      'waiting: waiting for svc-app-1: is restarting (exit code 1) (0 s)',
      'unwell: svc-app-1 is restarting (exit code 1), restarted 5 times',
    ]);
  });

  it('may have done so before, where it runs now', () => {
    const runs = container('app-1', { restartCount: 9, health: 'starting' });
    expect(said([[0, [service('app', [runs])]]])[0]).toContain('waiting');
    expect(said([[0, [service('app', [{ ...runs, health: 'healthy' }])]]])).toEqual(['app healthy']);
  });
});

describe('a container that is missing', () => {
  const one = [service('worker', [container('worker-1', { health: 'healthy' })], 2)];
  const both = [
    service('worker', [
      container('worker-1', { health: 'healthy' }),
      container('worker-2', { health: 'healthy' }),
    ]),
  ];

  it('may be about to be made', () => {
    expect(
      said([
        [0, both.map((each) => ({ ...each, needs: 3, has: 2 }))],
        [3, both],
      ])[1],
    ).toContain('worker healthy');
    expect(
      said([
        [0, one],
        [10, one],
      ]),
    ).toEqual([
      'waiting: waiting for worker has 1 of its 2 containers (0 s)',
      'unwell: worker has 1 of its 2 containers',
    ]);
  });

  it('counts at once where its very id was asked for', () => {
    expect(said([[0, one]], { missingMs: 0 })).toEqual(['unwell: worker has 1 of its 2 containers']);
  });
});

describe('what must be of each service', () => {
  const containers = ['app-1', 'worker-1', 'worker-2'].map((place) => container(place));
  const stopped = container('worker-3', { status: 'exited' });
  const plan = changeover({ containers: [...containers, stopped].map((each) => record(each)) });
  const counts = (now: readonly Container[]) =>
    watchedServices(plan, now).map(({ name, has, needs }) => `${name} ${has}/${needs}`);

  it('is as many as before, and as many of them up', () => {
    expect(counts([...containers, stopped])).toEqual(['app 1/1', 'worker 3/3']);
    expect(counts(containers)).toEqual(['app 1/1', 'worker 2/3']);
    expect(counts([])).toEqual(['app 0/1', 'worker 0/3']);
    expect(counts([container('app-1'), container('worker-1'), stopped, { ...stopped, id: 'twin' }])).toEqual([
      'app 1/1',
      'worker 1/2',
    ]);
  });
});
