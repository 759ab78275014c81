import { describe, expect, it } from 'vitest';
import type { ComposeService } from '../../../../src/engine/cli/compose.ts';
import { planRollout } from '../../../../src/updater/compose/plan/plan-rollout.ts';
import type { ContainerRecord, UpdatedService } from '../../../../src/updater/run/state/rollout.ts';
import { container, record } from '../../../build.ts';
import { composeText, imageOf, installed, planTo, preparedPlan } from '../../../build-plan.ts';

const texts = {
  'compose.yaml': composeText({ app: 'acme/svc:v1.0.0', worker: 'acme/worker:v1.0.0', tail: 'busybox:1' }),
};
const from = installed(texts, { followers: { tail: [container('tail-1')] } });
const images = new Map([
  ['acme/svc:v1.1.0', imageOf('sha256:app', '1.1.0')],
  ['acme/worker:v1.1.0', imageOf('sha256:worker', '1.0.9')],
  ['busybox:2', imageOf('sha256:tail')],
]);
const containers = ['app-1', 'worker-1', 'tail-1', 'db-1'].map((place) => record(container(place)));

function changeoverOf(
  references: Record<string, string>,
  worker: ComposeService = {},
  records: readonly ContainerRecord[] = containers,
  services: Record<string, ComposeService> = { app: {}, worker },
  migrations: readonly string[] = [],
) {
  const plan = preparedPlan(planTo('v1.1.0', from), {
    images,
    references: new Map(Object.entries(references)),
    model: { name: 'svc', services },
    alsoMoved: ['migrate'],
    newServices: ['cache'],
    changedServices: [],
    migrations,
  });
  return planRollout(plan, records);
}

const goals = { app: 'acme/svc:v1.1.0', worker: 'acme/worker:v1.1.0' };
const moved = (
  name: string,
  image: UpdatedService['image'],
  changes: Partial<UpdatedService> = {},
): UpdatedService => ({ name, isApp: false, follows: false, image, awaits: [], ...changes });
const app = moved('app', { reference: 'acme/svc:v1.1.0', id: 'sha256:app' }, { isApp: true });
const worker = moved('worker', { reference: 'acme/worker:v1.1.0', id: 'sha256:worker' });
const tail = moved('tail', null, { follows: true });

describe('planRollout', () => {
  it('includes the ready command of the release', () => {
    const labels = { 'svc.ready': '["/check"]' };
    const labelled = new Map([['acme/svc:v1.1.0', imageOf('sha256:app', undefined, { labels })]]);
    const plan = preparedPlan(planTo('v1.1.0', from), { images: labelled });
    expect(planRollout(plan, containers).ready).toEqual(['/check']);
  });

  it('puts the app first and followers last, with all containers and the log sentences', () => {
    expect(changeoverOf(goals)).toEqual({
      moved: [app, worker, tail],
      containers,
      words: {
        from: 'v1.0.0',
        goal: 'v1.1.0',
        reached: 'v1.1.0',
        runs: 'app and worker run v1.1.0',
        warnings: ['worker runs acme/worker:v1.1.0, whose label specifies v1.0.9, not v1.1.0'],
        alsoMoved: ['migrate'],
        newServices: ['cache'],
        changedServices: [],
        addresses: [],
        restartedByHand: [],
      },
    });
  });

  it('does not report a stopped worker as running', () => {
    const records = containers.map((each) => ({ ...each, runs: each.service !== 'worker' }));
    expect(changeoverOf(goals, {}, records).words.runs).toBe('app runs v1.1.0');
    const app = containers.map((each) => ({ ...each, runs: each.service !== 'app' }));
    expect(changeoverOf(goals, {}, app).words.runs).toBe('app and worker run v1.1.0');
  });

  it.each<[string, ComposeService, readonly string[]]>([
    ['that asks for it', { depends_on: { app: { restart: true } } }, ['db']],
    ['that does not ask', { depends_on: { app: { condition: 'service_healthy' } } }, []],
    ['with no dependency', { depends_on: null }, []],
  ])('lists services to restart manually: a service %s', (_, db, named) => {
    const asks: ComposeService = { depends_on: { app: { restart: true } } };
    // The worker is updated itself, and `away` has no container.
    const services = { app: {}, worker: asks, db, away: asks };
    expect(changeoverOf(goals, {}, containers, services).words.restartedByHand).toEqual(named);
    const stopped = containers.map((each) => ({ ...each, runs: each.service !== 'db' }));
    expect(changeoverOf(goals, {}, stopped, services).words.restartedByHand).toEqual([]);
  });

  it('lists a migration that the update does not run although an updated service waits for it', () => {
    const waits = (...names: string[]): ComposeService => ({
      depends_on: Object.fromEntries(
        names.map((name) => [name, { condition: 'service_completed_successfully' }]),
      ),
    });
    const stopped = containers.map((each) => ({ ...each, runs: each.service !== 'worker' }));
    const named = (records: ContainerRecord[], service: ComposeService) =>
      changeoverOf(goals, {}, records, { app: service, worker: {}, tail: {} }).words.runByHand;
    // `migrate` has the app's pin, but `prepare` does not.
    expect(named(stopped, waits('worker', 'migrate', 'prepare'))).toEqual(['worker', 'migrate']);
    expect(named(containers, waits('worker'))).toBeUndefined();
    expect(named(stopped, { depends_on: { worker: { condition: 'service_started' } } })).toBeUndefined();
  });

  describe('with migrations', () => {
    const ends = (...names: string[]): Record<string, { condition: string }> =>
      Object.fromEntries(names.map((name) => [name, { condition: 'service_completed_successfully' }]));
    const healthy = { condition: 'service_healthy' };
    const migrate = record(container('migrate-1', { status: 'exited' }));
    const references = { ...goals, migrate: 'acme/svc:v1.1.0', seed: 'acme/svc:v1.1.0' };
    const order = (services: Record<string, ComposeService>, migrations: string[]) =>
      changeoverOf(references, {}, [...containers, migrate], services, migrations).moved.map(
        ({ name, runsOnce }) => (runsOnce ? `${name}!` : name),
      );

    it.each<[string, Record<string, ComposeService>, string[], string[]]>([
      [
        'after the one that it waits for itself',
        { app: { depends_on: ends('migrate') }, migrate: { depends_on: { ...ends('seed'), db: healthy } } },
        ['migrate', 'seed'],
        ['seed!', 'migrate!', 'app', 'worker'],
      ],
      [
        'after the one that it waits for by another',
        { app: { depends_on: ends('rights') }, rights: { depends_on: ends('migrate') } },
        ['migrate'],
        ['migrate!', 'app', 'worker'],
      ],
      [
        'after the app, which it needs, and before the worker',
        { worker: { depends_on: ends('migrate') }, migrate: { depends_on: { app: healthy } } },
        ['migrate'],
        ['app', 'migrate!', 'worker'],
      ],
    ])('runs a migration %s', (_, services, migrations, expected) => {
      expect(order(services, migrations)).toEqual([...expected, 'tail']);
    });

    it('runs the migration of a worker after the app, and never starts a migration in a rollback', () => {
      const services = { worker: { depends_on: { app: healthy, ...ends('seed') } }, app: {} };
      const made = changeoverOf(references, {}, containers, { ...services, app: {} }, ['seed']);
      expect(made.moved.map(({ name }) => name)).toEqual(['app', 'seed', 'worker', 'tail']);
      const interrupted = { ...migrate, runs: true, well: true };
      const { containers: kept } = changeoverOf(references, {}, [interrupted], {}, ['migrate']);
      expect(kept).toEqual([{ ...migrate, runs: false, well: false }]);
    });

    it('refuses the update while a migration is running', () => {
      const running = record(container('migrate-1'));
      expect(() => changeoverOf(references, {}, [running], {}, ['migrate'])).toThrow(
        'svc-migrate-1 is still running, and other services are waiting for it to finish',
      );
    });
  });

  it.each<[string, Record<string, string>, UpdatedService['image']]>([
    ['that shares the pin', { tail: 'busybox:2' }, { reference: 'busybox:2', id: 'sha256:tail' }],
    ['whose new image is not here', { tail: 'busybox:3' }, null],
  ])('sets the image of a follower %s', (_, more, image) => {
    expect(changeoverOf({ ...goals, ...more }).moved.at(-1)).toEqual({ ...tail, image });
  });

  it('marks a service that runs pre_start commands of the new image', () => {
    const app: ComposeService = { pre_start: [{ command: ['/bin/migrate'] }] };
    const { moved: all } = changeoverOf(goals, {}, containers, { app, worker: { pre_start: [] } });
    expect(all.map(({ name, hasStartHook = false }) => [name, hasStartHook])).toEqual([
      ['app', true],
      ['worker', false],
      ['tail', false],
    ]);
  });

  it.each<[string, ComposeService, readonly string[]]>([
    ['to be healthy', { depends_on: { app: { condition: 'service_healthy' } } }, ['app']],
    ['to have started', { depends_on: { app: { condition: 'service_started' } } }, []],
  ])('lets the worker wait for the app %s', (_, service, awaits) => {
    expect(changeoverOf(goals, service).moved[1]?.awaits).toEqual(awaits);
  });
});
