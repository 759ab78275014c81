import { describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { listReplaceSteps } from '../../../../src/updater/compose/replace/replace-steps.ts';
import type { UpdatedService } from '../../../../src/updater/run/state/rollout.ts';
import { changeover, container, containers, movedService, record } from '../../../build.ts';

const fresh = (id: string, changes: Partial<Container> = {}): Container =>
  container(`${id}+`, { imageId: 'sha256:new', ...changes });

/** The steps, separated by commas. */
function steps(
  moved: UpdatedService[],
  old: Container[],
  now: readonly Container[] = old,
  leftovers: readonly Container[] = [],
  replaced: readonly string[] = [],
): string {
  const before = old.map((each) => record(each));
  const isReplaced = (service: string) => replaced.includes(service);
  const planned = changeover({ moved, containers: before });
  const list = listReplaceSteps(planned, { containers: now, leftovers }, isReplaced).map((step) => {
    switch (step.kind) {
      case 'up':
        return `up ${step.service} x${step.scale}${step.start ? '' : ' stopped'}${step.force ? ' by force' : ''}${step.hook ? ' with its hook' : ''}`;
      case 'stop':
        return `stop ${step.containers.map(({ id }) => id).join(' ')}`;
      case 'run-once':
        return `run ${step.service} x${step.scale} once${step.hook ? ' with its hook' : ''}`;
      case 'stop-again':
        return `stop ${step.containers.map(({ id }) => id).join(' ')} again`;
      case 'await-healthy':
        return `await ${step.service} for ${step.dependent}`;
      case 'give-name':
        return `name ${step.containers.map(({ id }) => id).join(' ')}`;
      case 'remove-old':
        return `remove ${step.containers.map(({ id }) => id).join(' ')}`;
      default:
        return `remove ${step.containers.length}`;
    }
  });
  return list.join(', ');
}

const both = [movedService('app'), movedService('worker')];

const cache = movedService('cache', { added: { replicas: 2, isSeparate: true } });
const newCaches = ['cache-1', 'cache-2'].map((id) => container(id, { imageId: cache.image?.id ?? '' }));

describe('listReplaceSteps, if a release has other services', () => {
  const app = movedService('app', { awaits: ['cache'] });

  it('starts new services and waits for them before it stops any service', () => {
    const worker = movedService('worker');
    const old = containers('app-1 worker-1');
    const rest = 'await cache for app, stop worker-1, up app x1, up worker x1';
    expect(steps([cache, app, worker], old)).toBe(`up cache x2, ${rest}`);
    expect(steps([cache, app, worker], old, [...old, ...newCaches])).toBe(rest);
    expect(steps([cache, app, worker], old, [...old, ...newCaches.slice(1)])).toBe(`up cache x2, ${rest}`);
  });

  it('starts a new service after the new service that it depends on is healthy', () => {
    const added = { replicas: 1, isSeparate: true };
    const front = movedService('front', { added, awaits: ['cache'] });
    expect(steps([cache, front, movedService('app')], containers('app-1'))).toBe(
      'up cache x2, await cache for front, up front x1, up app x1',
    );
  });

  it('starts a new service that needs a migration after the migration', () => {
    const migrate = movedService('migrate', { runsOnce: true });
    expect(steps([migrate, cache, app], containers('app-1'))).toBe(
      'run migrate x1 once, up cache x2, await cache for app, up app x1',
    );
  });

  it('stops a removed worker first, and removes it last', () => {
    const worker = movedService('worker', { image: null, isRemoved: true });
    const old = containers('app-1 worker-1');
    expect(steps([movedService('app'), worker], old)).toBe('stop worker-1, up app x1, remove worker-1');
    expect(steps([movedService('app'), worker], old, old, [], ['app'])).toBe(
      'stop worker-1, remove worker-1',
    );
    expect(steps([worker], old, containers('app-1'))).toBe('');
  });
});

describe('listReplaceSteps, in an ordinary run', () => {
  it('stops the worker while the old app is running, then replaces the app, then the worker', () => {
    expect(steps(both, containers('app-1 worker-1'))).toBe('stop worker-1, up app x1, up worker x1');
  });

  it('stops a container with a long stop timeout in a separate step, just before it is replaced', () => {
    const moved = [...both, movedService('sidecar', { follows: true, image: null })];
    const old = (grace: number) => [
      container('app-1', { stopTimeout: grace }),
      ...containers('worker-1'),
      container('sidecar-1', { stopTimeout: grace }),
    ];
    expect(steps(moved, old(31))).toBe(
      'stop worker-1, stop app-1, up app x1, up worker x1, stop sidecar-1, up sidecar x1 by force',
    );
    expect(steps(moved, old(Number.POSITIVE_INFINITY)).split(', ')).toContain('stop app-1');
    expect(steps(moved, old(30))).not.toContain('stop app-1');
  });

  it('marks the services for which commands of the new image run before the start', () => {
    const hooked = [
      movedService('app', { hasStartHook: true }),
      movedService('worker', { hasStartHook: true }),
    ];
    expect(steps(hooked, containers('app-1 worker-1!'))).toBe(
      'up app x1 with its hook, up worker x1 stopped',
    );
  });

  it('runs migrations while the workers are stopped, before the services that follow', () => {
    const migrate = movedService('migrate', { runsOnce: true, hasStartHook: true });
    const late = movedService('seed', { runsOnce: true, awaits: ['app'] });
    expect(
      steps([migrate, movedService('app'), late, movedService('worker')], containers('app-1 worker-1')),
    ).toBe(
      'stop worker-1, run migrate x1 once with its hook, up app x1, await app for seed, run seed x1 once, up worker x1',
    );
    expect(
      steps([migrate, ...both], containers('app-1 worker-1 migrate-1! migrate-2!')).split(', '),
    ).toContain('run migrate x2 once with its hook');
  });

  it('keeps the number of replicas, including stopped ones', () => {
    expect(steps(both, containers('app-1 app-2 worker-1 worker-2! worker-3'))).toBe(
      'stop worker-1 worker-3, up app x2, up worker x3',
    );
  });

  it('waits for a healthy app if the worker depends on it', () => {
    const moved = [movedService('app'), movedService('worker', { awaits: ['app'] })];
    expect(steps(moved, containers('app-1 worker-1'))).toBe(
      'stop worker-1, up app x1, await app for worker, up worker x1',
    );
    expect(steps(moved, containers('app-1 worker-1!'))).not.toContain('await app for worker');
  });

  it('removes leftovers first, and forces the recreation of services that share a namespace', () => {
    const follower = (name: string) => movedService(name, { follows: true, image: null });
    const moved = [movedService('app'), follower('sidecar'), follower('shell')];
    const old = containers('app-1 sidecar-1 shell-1!');
    expect(steps(moved, old, old, [container('app-1', { status: 'created' })])).toBe(
      'remove 1, up app x1, up sidecar x1 by force, up shell x1 stopped by force',
    );
  });
});

describe('listReplaceSteps, during a concurrent compose command', () => {
  const temporary = (id: string) => container(id, { status: 'created', name: `0123456789ab_svc-${id}` });

  it('ignores temporary containers of other services', () => {
    const old = containers('app-1 worker-1 db-1');
    expect(steps(both, old, old, [temporary('db-1')])).toBe('stop worker-1, up app x1, up worker x1');
    expect(steps(both, old, old, [temporary('db-1'), temporary('app-1')])).toMatch(/^remove 1,/);
  });

  it('ignores temporary containers of an already updated service, because they belong to the concurrent compose command', () => {
    const old = containers('app-1 worker-1');
    expect(steps(both, old, [fresh('app-1'), fresh('worker-1')], [temporary('app-1')])).toBe('');
    expect(steps(both, old, [fresh('app-1'), ...containers('worker-1!')], [temporary('app-1')])).toBe(
      'up worker x1',
    );
  });
});

describe('listReplaceSteps, after a run was killed', () => {
  const old = containers('app-1 worker-1');
  const stopped = containers('worker-1!');

  it('starts a container that was created but never started', () => {
    expect(steps(both, old, [fresh('app-1', { status: 'created' }), ...stopped])).toBe(
      'up app x1, up worker x1',
    );
  });

  it('renames a new container whose predecessor is gone, because it has the anonymous volumes', () => {
    const nameless = fresh('app-1', { status: 'created', name: '0123456789ab_svc-app-1' });
    expect(steps(both, old, [nameless, ...stopped])).toBe('name app-1+, up app x1, up worker x1');
  });

  it('creates missing containers', () => {
    expect(steps(both, old, stopped)).toBe('up app x1, up worker x1');
    expect(steps(both, old, [])).toBe('up app x1, up worker x1');
  });

  it('replaces the remaining replicas', () => {
    const three = containers('app-1 worker-1 worker-2 worker-3!');
    const now = [fresh('app-1'), fresh('worker-1'), ...containers('worker-2! worker-3!')];
    expect(steps(both, three, now)).toBe('up worker x3');
  });

  it('stops containers again that were stopped before `up` started them', () => {
    const two = containers('app-1 worker-1 worker-2!');
    const now = [fresh('app-1'), fresh('worker-1'), fresh('worker-2')];
    expect(steps(both, two, now)).toBe('up worker x2');
    expect(steps(both, two, now, [], ['worker'])).toBe('stop worker-2+ again');
    const migrate = movedService('migrate', { runsOnce: true });
    const running = [...now, fresh('migrate-1')];
    const stopsWorker = 'stop worker-2+ again';
    expect(steps([migrate, ...both], two, running, [], ['migrate', 'worker'])).toBe(stopsWorker);
    const down = [fresh('app-1'), fresh('worker-1'), fresh('worker-2', { status: 'exited' })];
    expect(steps(both, two, down, [], ['worker'])).toBe('');
  });

  describe('while a migration was running, or after it', () => {
    const migrate = movedService('migrate', { runsOnce: true });
    const ran1 = container('migrate-1', { status: 'exited', exitCode: 0 });
    const after = (...now: Container[]) =>
      steps([migrate, ...both], [...old, ran1], [...containers('app-1'), ...stopped, ...now]);
    const rest = 'up app x1, up worker x1';

    it.each<[string, Container[], boolean]>([
      ['runs', [fresh('migrate-1')], true],
      ['has failed', [fresh('migrate-1', { status: 'exited', exitCode: 3 })], true],
      ['has ended well', [fresh('migrate-1', { status: 'exited', exitCode: 0 })], false],
      ['of the old image has ended well', [container('migrate-1+', { status: 'exited', exitCode: 0 })], true],
    ])('decides whether to run a migration again that %s', (_, now, isRun) => {
      expect(after(...now)).toBe(isRun ? `run migrate x1 once, ${rest}` : rest);
    });

    it('does not run a removed migration again if all other services are new', () => {
      expect(steps([migrate, ...both], [...old, ran1], [fresh('app-1'), fresh('worker-1')])).toBe('');
    });
  });

  it('does not force the recreation of a follower that is already new', () => {
    const moved = [movedService('app'), movedService('sidecar', { follows: true, image: null })];
    const now = [fresh('app-1'), container('sidecar-1+', { status: 'created' })];
    expect(steps(moved, containers('app-1 sidecar-1'), now)).toBe('up sidecar x1');
  });
});
