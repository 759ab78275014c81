import { describe, expect, it } from 'vitest';
import { type Container, serviceOf } from '../../../../src/engine/objects/container.ts';
import {
  ContainerStartTimes,
  HealthEvaluator,
  type WatchedService,
} from '../../../../src/updater/compose/health/health-evaluator.ts';
import { listWatchedServices } from '../../../../src/updater/compose/verify/await-services.ts';
import { began, changeover, container, record } from '../../../build.ts';

const beganAt = Date.parse(began);
const timeoutMs = 60_000;
type Changes = Partial<Container>;

/** The containers at this number of seconds after the watch began. */
interface Look {
  second: number;
  containers: readonly Container[];
}
const at = (second: number, ...containers: Container[]): Look => ({ second, containers });

/** The last verdict: `well: …`, `waiting (…): …` or `unwell: … [containers whose logs are printed]`. */
function verdictOf(ids: ReadonlyMap<string, readonly string[]>, looks: readonly Look[]): string {
  const starts = new ContainerStartTimes();
  for (const { containers } of looks) {
    for (const each of containers) starts.record([each], Date.parse(each.startedAt) - beganAt);
  }
  const watch = new HealthEvaluator({ app: '', timeoutMs, missingToleranceMs: 0, starts }, 0);
  const verdicts = looks.map(({ second, containers }) => {
    const services = [...ids].map(([name, list]) => {
      const own = containers.filter(({ id }) => list.includes(id));
      return { name, containers: own, has: own.length, needs: list.length };
    });
    return watch.evaluate(services, second * 1000);
  });
  const last = verdicts.at(-1);
  switch (last?.kind) {
    case 'well':
      return `well: ${last.reports.map(({ service, summary: how }) => `${service} ${how}`).join(', ')}`;
    case 'unwell':
      return `unwell: ${last.sentence} [${last.worst.map(({ id }) => id).join(' ')}]`;
    default:
      return last?.sentence ?? 'no look';
  }
}

/** Watches all containers that occur in these observations. */
function verdict(...looks: Look[]): string {
  const seen = looks.flatMap(({ containers }) => containers);
  const services = [...new Set(seen.map(serviceOf))];
  const idsOf = (name: string) => seen.filter((each) => serviceOf(each) === name).map(({ id }) => id);
  return verdictOf(new Map(services.map((name) => [name, [...new Set(idsOf(name))]])), looks);
}

const app = (changes: Changes = {}): Container => container('app-1', changes);
/** A health check that has only failed; the engine decides within this number of seconds. */
const check = (
  seconds: number,
  changes: Partial<Container['healthCheck']> = {},
): Container['healthCheck'] => ({
  ...{
    longestDecisionMs: seconds * 1000,
    shortestDecisionMs: 0,
    failureText: '1 no route',
    cannotRun: false,
  },
  ...changes,
});
/** An app with this result of its health check. */
const is = (health: string, changes: Changes = {}): Container =>
  app({ health, healthCheck: check(5), ...changes });
const unhealthy = (lastHealthOutput: string): Container => is('unhealthy', { lastHealthOutput });
/** The start time, in seconds after the watch began. */
const since = (second: number): Changes => ({ startedAt: new Date(beganAt + second * 1000).toISOString() });
/** An exited container that the engine will restart. */
const ended = (exitCode: number): Changes => ({ status: 'exited', exitCode, restartPolicy: 'always' });
const restarting = (exitCode: number): Changes => ({ status: 'restarting', exitCode, restartCount: 2 });

const starting = is('starting');
const well = is('healthy');
const waits = (words: string, seconds: number, rest?: number) =>
  `waiting (${seconds} s so far${rest === undefined ? '' : `, up to ${rest} s more`}): svc-app-1 ${words}`;
const late = (words: string, seconds = 60) => `unwell: svc-app-1 ${words} after ${seconds} s [app-1]`;
const up = (seconds: number) => `well: app up for ${seconds} s without a restart`;

describe('HealthWatch', () => {
  it.each<[situation: string, looks: Look[], verdict: string]>([
    ['is well', [at(1.94, well)], 'well: app healthy after 1.9 s'],
    ['is starting', [at(3, starting)], waits('is starting', 3)],
    ['is unhealthy and may get well', [at(3, unhealthy(' '))], waits('is unhealthy', 3)],
    ['tells why', [at(3, unhealthy('\nno route\nto it\n'))], waits('is unhealthy (no route)', 3)],
    ['is well no more', [at(3, well), at(4, unhealthy('x'))], waits('is unhealthy (x)', 4)],
  ])('evaluates a container with a health check that %s', (_, looks, expected) => {
    expect(verdict(...looks)).toBe(expected);
  });

  const fresh = (second: number) => waits('has just started', second);
  const old = app(since(-60));
  const again = app(since(3));
  it.each<[situation: string, looks: Look[], verdict: string]>([
    ['is new', [at(0, app())], fresh(0)],
    ['runs for almost 5 s', [at(0, app()), at(4.99, app())], fresh(5)],
    ['runs for 5 s', [at(0, app()), at(5, app())], up(5)],
    ['ran before: it may have been restarting then', [at(0, old), at(4, old)], fresh(4)],
    ['has restarted', [at(0, app()), at(4, again), at(8.9, again)], fresh(9)],
    ['has restarted 5 s ago', [at(0, app()), at(4, again), at(9, again)], up(6)],
    ['cannot start', [at(1, app({ status: 'created', error: 'x' }))], waits('is created: x', 1)],
    ['has ended', [at(1, app({ ...ended(7), error: 'x' }))], waits('is exited (exit code 7): x', 1)],
    ['is restarted', [at(1, app(restarting(7)))], waits('is restarting (exit code 7)', 1)],
  ])('evaluates a container without a health check that %s', (_, looks, expected) => {
    expect(verdict(...looks)).toBe(expected);
  });

  it.each<[policy: string, exitCode: number, status: string, isForGood: boolean]>([
    ['no', 1, 'exited', true],
    ['no', 1, 'restarting', false],
    ['on-failure', 0, 'exited', true],
    ['on-failure', 1, 'exited', false],
    ['unless-stopped', 0, 'exited', false],
  ])(
    'with policy %s, exit code %i and status %s, treats a container as permanently exited: %s',
    (restartPolicy, exitCode, status, isForGood) => {
      const words = `is ${status} (exit code ${exitCode})`;
      const expected = isForGood ? `unwell: svc-app-1 ${words} [app-1]` : waits(words, 2);
      expect(verdict(at(2, app({ restartPolicy, exitCode, status })))).toBe(expected);
    },
  );

  it.each(['created', 'paused', 'removing'])('does not treat a container that is %s as exited', (status) => {
    expect(verdict(at(2, app({ restartPolicy: 'no', status })))).toBe(waits(`is ${status}`, 2));
  });

  const worker = (changes: Changes = {}) =>
    container('worker-1', { health: 'healthy', healthCheck: check(5), ...changes });
  const worker2 = (changes: Changes = {}) => container('worker-2', { health: 'healthy', ...changes });
  const paused = worker({ status: 'paused' });
  const dead: Changes = { status: 'exited', exitCode: 3, restartPolicy: 'no' };
  const deadWorker = 'unwell: svc-worker-1 is exited (exit code 3) [worker-1]';
  it.each<[situation: string, looks: Look[], verdict: string]>([
    ['the time is up', [at(60.001, starting)], late('is starting')],
    ['one is late', [at(60.1, starting, worker())], late('is starting')],
    [
      'two are late',
      [at(60.1, starting, paused)],
      'unwell: svc-app-1 is starting, svc-worker-1 is paused after 60 s [app-1 worker-1]',
    ],
    ['one of two has ended', [at(2, starting, worker(dead))], deadWorker],
    ['one is gone', [at(0, well, worker()), at(1, well)], 'unwell: worker has 0 of 1 containers []'],
  ])('reports the problem if %s', (_, looks, expected) => {
    expect(verdict(...looks)).toBe(expected);
  });

  it.each<[situation: string, looks: Look[], verdict: string]>([
    ['has not restarted', [at(1, app(ended(7))), at(60.1, app())], late('has just started')],
    ['restarts', [at(60.1, app(restarting(7)))], late('is restarting (exit code 7), restarted 2 times')],
    [
      'runs between two crashes',
      [at(59, app(restarting(7))), at(60.1, app({ restartCount: 3 }))],
      late('has just started, restarted 3 times (last exit code 7)'),
    ],
  ])('counts the restarts of a container that %s', (_, looks, expected) => {
    expect(verdict(...looks)).toBe(expected);
  });

  it.each<[string, Changes, string]>([
    ['has ended well', { status: 'exited' }, 'well'],
    ['runs', {}, 'waiting (1 s so far): svc-migrate-1 is still running'],
    ['is restarted', { ...restarting(1) }, 'waiting (1 s so far): svc-migrate-1 is restarting (exit code 1)'],
    ['has failed', { ...ended(3), restartPolicy: 'no' }, 'svc-migrate-1 is exited (exit code 3)'],
    [
      'fails time and again',
      { ...restarting(3), restartCount: 5 },
      'svc-migrate-1 is restarting (exit code 3), restarted 5 times',
    ],
  ])('waits for the result of a one-time service that %s', (_, changes, expected) => {
    const watch = new HealthEvaluator({ app: '', timeoutMs, missingToleranceMs: 0 }, 0);
    const containers = [container('migrate-1', changes)];
    const look = watch.evaluate([{ name: 'migrate', containers, has: 1, needs: 1, isToEnd: true }], 1000);
    expect(look.kind === 'well' ? 'well' : look.sentence).toBe(expected);
  });

  const slow = (changes: Changes = {}) => is('starting', { healthCheck: check(600), ...changes });
  const silent = (seconds: number) =>
    is('starting', { healthCheck: check(seconds, { failureText: null }), ...since(-9) });
  const daily = () => is('starting', { healthCheck: check(86_400) });
  const decided = is('unhealthy', { healthCheck: check(600) });
  it.each<[situation: string, looks: Look[], verdict: string]>([
    ['may still answer', [at(0, slow()), at(609, slow())], waits('is starting', 609, 1)],
    ['has answered', [at(0, slow()), at(601, is('healthy'))], 'well: app healthy after 601.0 s'],
    ['is overdue', [at(0, slow()), at(611, slow())], late('is starting', 611)],
    ['was called unhealthy', [at(0, slow()), at(300, decided)], late('is unhealthy', 300)],
    ['has restarted', [at(0, slow()), at(690, slow(since(100)))], waits('is starting', 690, 20)],
    [
      'restarts without end',
      [at(0, slow()), at(61, slow({ restartCount: 5, ...since(50) }))],
      late('is starting, restarted 5 times', 61),
    ],
    ['never had a result', [at(0, silent(90)), at(92, silent(90))], up(101)],
    ['has no result yet', [at(0, silent(90)), at(90, silent(90))], waits('is starting', 90, 1)],
    ['takes a day, after an hour', [at(0, daily()), at(3601, daily())], late('is starting', 3601)],
    ['takes a day', [at(0, daily()), at(3599, daily())], waits('is starting', 3599, 1)],
    ['takes a day, without a result', [at(0, silent(86_400)), at(3592, silent(86_400))], up(3601)],
  ])('waits for the result of a slow health check that %s', (_, looks, expected) => {
    expect(verdict(...looks)).toBe(expected);
  });

  it.each<[situation: string, changes: Changes, doubt: string | null]>([
    ['is healthy', { health: 'healthy' }, null],
    ['has no program', { healthCheck: check(5, { cannotRun: true }) }, 'cannot run (no wget)'],
    [
      'failed as before',
      { healthCheck: check(5, { failureText: '1 old' }) },
      'fails as it did before the update (no wget)',
    ],
    ['may have no program', { health: 'starting', healthCheck: check(2, { cannotRun: true }) }, 'not yet'],
    ['has failed', {}, 'not yet'],
    ['crashes', { status: 'restarting', healthCheck: check(5, { cannotRun: true }) }, 'not yet'],
  ])('reports doubts about the health check of an app that %s', (_, changes, expected) => {
    const failedBefore = ({ healthCheck }: Container) => healthCheck.failureText === '1 old';
    // The app started before the watch began, and the timeout is too short for a verdict without a health check.
    const starts = new ContainerStartTimes();
    starts.record([app()], -5000);
    const watch = new HealthEvaluator(
      { app: 'app', timeoutMs: 2000, missingToleranceMs: 0, failedBefore, starts },
      0,
    );
    const containers = [is('unhealthy', { lastHealthOutput: 'no wget', ...changes })];
    const look = (second: number) =>
      watch.evaluate([{ name: 'app', containers, has: 1, needs: 1 }], second * 1000);
    look(0);
    const early = expected === null ? 'well' : expected === 'not yet' ? 'unwell' : 'waiting';
    expect(look(14).kind).toBe(early);
    const last = look(15);
    expect(last.kind === 'well' ? last.reports[0]?.doubt : 'not yet').toBe(expected);
  });

  it('reports the exit code only for the container that crashed', () => {
    const again = worker({ health: 'starting', restartCount: 1 });
    const sentence = 'unwell: svc-worker-1 is starting, restarted 1 time after 60 s [worker-1]';
    expect(verdict(at(59, app(restarting(7)), worker()), at(60.1, well, again))).toBe(sentence);
  });

  it.each<[situation: string, looks: Look[], verdict: string]>([
    [
      'each service in the order asked for',
      [at(2, well, worker(since(1)))],
      'well: app healthy after 2.0 s, worker healthy after 1.0 s',
    ],
    [
      'the slowest of its containers',
      [at(1, starting, worker()), at(2, well, worker(), worker2(since(-1)))],
      'well: app healthy after 2.0 s, worker healthy after 3.0 s',
    ],
    [
      'when it was well first',
      [at(2, well, worker({ health: 'starting' })), at(9, well, worker())],
      'well: app healthy after 2.0 s, worker healthy after 9.0 s',
    ],
  ])('reports %s', (_, looks, expected) => {
    expect(verdict(...looks)).toBe(expected);
  });

  it.each<[why: string, looks: Look[], dueMs: number]>([
    ['nothing but the end of its patience', [at(2, starting)], 58_001],
    ['an app without a health check', [at(0, app()), at(1, app())], 14_000],
    ['one that has started anew', [at(0, app()), at(4, app(since(3)))], 15_000],
    ['one that is missing', [at(0, well), at(2)], 8_000],
  ])('returns when the verdict can change without an event: %s', (_, looks, dueMs) => {
    const watch = new HealthEvaluator({ app: 'app', timeoutMs, missingToleranceMs: 10_000 }, 0);
    const verdicts = looks.map(({ second, containers }) =>
      watch.evaluate([{ name: 'app', containers, has: containers.length, needs: 1 }], second * 1000),
    );
    expect(verdicts.at(-1)).toMatchObject({ kind: 'waiting', dueMs });
  });
});

describe('HealthWatch with a known app and 10 s for missing containers', () => {
  const of = (each: Container, needs = 1): WatchedService => ({
    ...{ name: serviceOf(each), containers: [each], has: 1, needs },
  });
  const watched = (looks: readonly [second: number, WatchedService][], missingMs = 10_000): string => {
    const watch = new HealthEvaluator({ app: 'app', timeoutMs, missingToleranceMs: missingMs }, 0);
    const last = looks.map(([second, service]) => watch.evaluate([service], second * 1000)).at(-1);
    if (last?.kind === 'well')
      return last.reports.map(({ service, summary: how }) => `${service} ${how}`).join();
    return `${last?.kind}: ${last?.sentence}`;
  };
  const worker = (changes: Changes = {}) => container('worker-1', { health: 'healthy', ...changes });
  const beforeTheClockWasSet = { startedAt: '1999-01-01T00:00:00Z' };
  const again = { health: 'starting', ...beforeTheClockWasSet };
  const down = (restartCount: number) => of(app({ status: 'restarting', exitCode: 1, restartCount }));
  const fresh = of(app());
  const unseen = of(worker({ health: 'starting' }));
  const oneOfTwo = of(worker(), 2);
  const isDown = 'svc-app-1 is restarting (exit code 1), restarted 5 times';
  const isMissing = 'worker has 1 of 2 containers';

  it.each<[situation: string, verdict: string, ...looks: [second: number, WatchedService][]]>([
    ['waits 15 s for an app', `waiting: ${waits('has just started', 15)}`, [0, fresh], [14.9, fresh]],
    ['has an app well after 15 s', 'app up for 15 s without a restart', [0, fresh], [15, fresh]],
    ['tells no time of a start that nobody saw', 'worker healthy', [1, unseen], [3, of(worker())]],
    [
      'counts from the look that saw it start again, whatever the clock of the engine says',
      'worker healthy after 2.0 s',
      ...([
        [1, unseen],
        [3, of(worker(again))],
        [5, of(worker(beforeTheClockWasSet))],
      ] as [number, WatchedService][]),
    ],
    ['gives up after five restarts', `unwell: ${isDown}`, [0, down(4)], [4, down(5)]],
    [
      'waits where it restarted before',
      `waiting: ${waits('is starting', 0)}`,
      [0, of(is('starting', { restartCount: 9 }))],
    ],
    ['waits for what is missing', `waiting: waiting (0 s so far): ${isMissing}`, [0, oneOfTwo]],
    ['gives up what is missing for 10 s', `unwell: ${isMissing}`, [0, oneOfTwo], [10, oneOfTwo]],
  ])('%s', (_, expected, ...looks) => expect(watched(looks)).toBe(expected));

  it('fails immediately if missing containers have no time to appear', () => {
    expect(watched([[0, oneOfTwo]], 0)).toBe(`unwell: ${isMissing}`);
  });
});

describe('listWatchedServices', () => {
  const containers = ['app-1', 'worker-1', 'worker-2'].map((place) => container(place));
  const stopped = container('worker-3', { status: 'exited' });
  const plan = changeover({ containers: [...containers, stopped].map((each) => record(each)) });
  const counts = (now: readonly Container[]) =>
    listWatchedServices(plan, now).map(({ name, has, needs }) => `${name} ${has}/${needs}`);

  it('requires as many containers as before, and as many running ones', () => {
    expect(counts([...containers, stopped])).toEqual(['app 1/1', 'worker 3/3']);
    expect(counts(containers)).toEqual(['app 1/1', 'worker 2/3']);
    expect(counts([])).toEqual(['app 0/1', 'worker 0/3']);
    expect(counts([container('app-1'), container('worker-1'), stopped, { ...stopped, id: 'twin' }])).toEqual([
      'app 1/1',
      'worker 1/2',
    ]);
  });
});
