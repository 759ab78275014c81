import { describe, expect, it } from 'vitest';
import { planSteps } from '../../../src/agent/replace/plan-steps.ts';
import { type MovedService, recordOf } from '../../../src/agent/state/changeover.ts';
import { type Container, readContainer } from '../../../src/engine/container.ts';
import { changeover } from '../../build.ts';

const zero = '0001-01-01T00:00:00Z';

/** `id` of the form `worker-2`, with a suffix for one that is new. */
function container(
  id: string,
  status = 'running',
  changes: { name?: string; image?: string; grace?: number; exitCode?: number } = {},
): Container {
  const [, service = '', number = ''] = /^(\w+)-(\d+)/.exec(id) ?? [];
  return readContainer({
    Id: id,
    Name: `/${changes.name ?? `svc-${service}-${number}`}`,
    Image: changes.image ?? 'old',
    State: {
      Status: status,
      ExitCode: changes.exitCode ?? 0,
      StartedAt: status === 'created' ? zero : '2026-11-21T10:00:00Z',
    },
    Config: {
      ...(changes.grace !== undefined && { StopTimeout: changes.grace }),
      Labels: { 'com.docker.compose.service': service, 'com.docker.compose.container-number': number },
    },
  });
}

const ran = (...ids: string[]): Container[] =>
  ids.map((id) => (id.endsWith('!') ? container(id.slice(0, -1), 'exited') : container(id)));
const fresh = (id: string, status = 'running', name?: string): Container =>
  container(`${id}-new`, status, { image: 'new', ...(name ? { name } : {}) });

const service = (name: string, changes: Partial<MovedService> = {}): MovedService => ({
  name,
  isApp: name === 'app',
  follows: false,
  image: { reference: 'acme/svc:v2', id: 'new' },
  awaits: [],
  ...changes,
});

function steps(
  moved: MovedService[],
  old: Container[],
  now: readonly Container[] = old,
  leftovers: readonly Container[] = [],
): string[] {
  const containers = old.map((each) => recordOf(each, () => false));
  return planSteps(changeover({ moved, containers }), { containers: now, leftovers }).map((step) => {
    switch (step.kind) {
      case 'up':
        return `up ${step.service} x${step.scale}${step.start ? '' : ' stopped'}${step.force ? ' by force' : ''}${step.hook ? ' with its hook' : ''}`;
      case 'stop':
        return `stop ${step.containers.map(({ id }) => id).join(' ')}`;
      case 'run-once':
        return `run ${step.service} x${step.scale} once${step.hook ? ' with its hook' : ''}`;
      case 'stop-again':
        return `stop ${step.service}-${step.numbers.join()} again`;
      case 'await-healthy':
        return `await ${step.service} for ${step.dependent}`;
      case 'give-name':
        return `name ${step.containers.map(({ id }) => id).join(' ')}`;
      default:
        return `remove ${step.containers.length}`;
    }
  });
}

const both = [service('app'), service('worker')];

describe('planSteps, in an ordinary run', () => {
  it('stops the worker while the old app answers, then replaces the app, then the worker', () => {
    expect(steps(both, ran('app-1', 'worker-1'))).toEqual(['stop worker-1', 'up app x1', 'up worker x1']);
  });

  it('stops what may take longer than a request by itself, just before it is replaced', () => {
    const moved = [...both, service('sidecar', { follows: true, image: null })];
    const old = (grace: number) => [
      container('app-1', 'running', { grace }),
      ...ran('worker-1'),
      container('sidecar-1', 'running', { grace }),
    ];
    expect(steps(moved, old(31))).toEqual([
      'stop worker-1',
      'stop app-1',
      'up app x1',
      'up worker x1',
      'stop sidecar-1',
      'up sidecar x1 by force',
    ]);
    expect(steps(moved, old(-1))).toContain('stop app-1');
    expect(steps(moved, old(30))).not.toContain('stop app-1');
  });

  it('says where commands of the new image run before the start', () => {
    const hooked = [service('app', { hasStartHook: true }), service('worker', { hasStartHook: true })];
    expect(steps(hooked, ran('app-1', 'worker-1!'))).toEqual([
      'up app x1 with its hook',
      'up worker x1 stopped',
    ]);
  });

  it('runs what runs once while the workers are stopped, before those that come after it', () => {
    const migrate = service('migrate', { runsOnce: true, hasStartHook: true });
    const late = service('seed', { runsOnce: true, awaits: ['app'] });
    expect(steps([migrate, service('app'), late, service('worker')], ran('app-1', 'worker-1'))).toEqual([
      'stop worker-1',
      'run migrate x1 once with its hook',
      'up app x1',
      'await app for seed',
      'run seed x1 once',
      'up worker x1',
    ]);
    expect(steps([migrate, ...both], ran('app-1', 'worker-1', 'migrate-1!', 'migrate-2!'))).toContain(
      'run migrate x2 once with its hook',
    );
  });

  it('keeps replica counts, stopped ones too', () => {
    expect(steps(both, ran('app-1', 'app-2', 'worker-1', 'worker-2!', 'worker-3'))).toEqual([
      'stop worker-1 worker-3',
      'up app x2',
      'up worker x3',
      'stop worker-2 again',
    ]);
  });

  it('waits for a healthy app where the worker depends on it', () => {
    const moved = [service('app'), service('worker', { awaits: ['app'] })];
    expect(steps(moved, ran('app-1', 'worker-1'))).toEqual([
      'stop worker-1',
      'up app x1',
      'await app for worker',
      'up worker x1',
    ]);
    expect(steps(moved, ran('app-1', 'worker-1!'))).not.toContain('await app for worker');
  });

  it('removes leftovers first and recreates by force what shares a namespace', () => {
    const follower = (name: string) => service(name, { follows: true, image: null });
    const moved = [service('app'), follower('sidecar'), follower('shell')];
    const old = ran('app-1', 'sidecar-1', 'shell-1!');
    expect(steps(moved, old, old, [container('app-1', 'created')])).toEqual([
      'remove 1',
      'up app x1',
      'up sidecar x1 by force',
      'up shell x1 stopped by force',
    ]);
  });
});

describe('planSteps, beside another compose call', () => {
  const temporary = (id: string) => container(id, 'created', { name: `0123456789ab_svc-${id}` });

  it('leaves alone what is made for other services', () => {
    const old = ran('app-1', 'worker-1', 'db-1');
    expect(steps(both, old, old, [temporary('db-1')])).toEqual([
      'stop worker-1',
      'up app x1',
      'up worker x1',
    ]);
    expect(steps(both, old, old, [temporary('db-1'), temporary('app-1')])[0]).toBe('remove 1');
  });

  it('leaves alone what is made beside a container that is new already: that call is about to remove it', () => {
    const old = ran('app-1', 'worker-1');
    expect(steps(both, old, [fresh('app-1'), fresh('worker-1')], [temporary('app-1')])).toEqual([]);
    expect(steps(both, old, [fresh('app-1'), ...ran('worker-1!')], [temporary('app-1')])).toEqual([
      'up worker x1',
    ]);
  });
});

describe('planSteps, after a kill', () => {
  const old = ran('app-1', 'worker-1');
  const stopped = ran('worker-1!');

  it('starts what was made and never started', () => {
    expect(steps(both, old, [fresh('app-1', 'created'), ...stopped])).toEqual(['up app x1', 'up worker x1']);
  });

  it('gives the one its name whose predecessor is gone: it holds the anonymous volumes', () => {
    const nameless = fresh('app-1', 'created', '0123456789ab_svc-app-1');
    expect(steps(both, old, [nameless, ...stopped])).toEqual(['name app-1-new', 'up app x1', 'up worker x1']);
  });

  it('makes what is gone', () => {
    expect(steps(both, old, stopped)).toEqual(['up app x1', 'up worker x1']);
    expect(steps(both, old, [])).toEqual(['up app x1', 'up worker x1']);
  });

  it('replaces the rest of the replicas', () => {
    const three = ran('app-1', 'worker-1', 'worker-2', 'worker-3!');
    const now = [fresh('app-1'), fresh('worker-1'), ...ran('worker-2!', 'worker-3!')];
    expect(steps(both, three, now)).toEqual(['up worker x3', 'stop worker-3 again']);
  });

  it('stops again what `up` had started', () => {
    const two = ran('app-1', 'worker-1', 'worker-2!');
    const now = [fresh('app-1'), fresh('worker-1'), fresh('worker-2')];
    expect(steps(both, two, now)).toEqual(['up worker x2', 'stop worker-2 again']);
  });

  describe('while a migration was running, or after it', () => {
    const migrate = service('migrate', { runsOnce: true });
    const ran1 = container('migrate-1', 'exited', { exitCode: 0 });
    const after = (...now: Container[]) =>
      steps([migrate, ...both], [...old, ran1], [...ran('app-1'), ...stopped, ...now]);
    const rest = ['up app x1', 'up worker x1'];

    it.each<[string, Container[], boolean]>([
      ['runs', [fresh('migrate-1')], true],
      ['has failed', [container('migrate-1-new', 'exited', { image: 'new', exitCode: 3 })], true],
      ['has ended well', [container('migrate-1-new', 'exited', { image: 'new', exitCode: 0 })], false],
      ['of the old image has ended well', [container('migrate-1-new', 'exited', { exitCode: 0 })], true],
    ])('runs one that %s, or not', (_, now, isRun) => {
      expect(after(...now)).toEqual([...(isRun ? ['run migrate x1 once'] : []), ...rest]);
    });

    it('runs none where the others are done, although somebody has removed it', () => {
      expect(steps([migrate, ...both], [...old, ran1], [fresh('app-1'), fresh('worker-1')])).toEqual([]);
    });
  });

  it('does not force a follower that is new already', () => {
    const moved = [service('app'), service('sidecar', { follows: true, image: null })];
    const now = [fresh('app-1'), container('sidecar-1-new', 'created')];
    expect(steps(moved, ran('app-1', 'sidecar-1'), now)).toEqual(['up sidecar x1']);
  });
});
