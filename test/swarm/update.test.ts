import { describe, expect, test } from 'vitest';
import type { ServiceOptions } from '../rig/swarm.ts';
import { closedRegistry, docker, on, until } from '../rig/swarm.ts';
import { expectUntouched, snapshot } from '../rig/swarm-judge.ts';
import { imageOf, onStack, svcImage } from '../rig/swarm-try.ts';

const rolls = { failure_action: 'rollback', monitor: '3s' };
const layouts: Record<string, Record<string, ServiceOptions>> = {
  'one of each': { app: { replicas: 1 } },
  'three apps, all at once': { app: { replicas: 3, deploy: { update_config: { parallelism: 0 } } } },
  'global services': { app: { replicas: 'global' }, worker: { replicas: 'global' } },
  'none at all': { app: { replicas: 0 }, worker: { replicas: 0 } },
  'start first, with an owner who rolls back': {
    app: { replicas: 2, deploy: { update_config: { ...rolls, order: 'start-first' } } },
    worker: { deploy: { update_config: rolls } },
  },
  'start first where no node takes a second task': {
    app: {
      replicas: 3,
      deploy: {
        update_config: { order: 'start-first' },
        placement: { max_replicas_per_node: 1 },
      },
    },
  },
  'a port of each node': {
    app: {
      replicas: 2,
      deploy: { update_config: { order: 'start-first' } },
      more: { ports: [{ target: 80, published: 8081, mode: 'host' }] },
    },
  },
};

describe.concurrent('an update of a stack', () => {
  for (const [name, services] of Object.entries(layouts)) {
    test(`with ${name}`, () => onStack({ services }, ({ updated }) => updated('1.5.0')));
  }

  test('stops all tasks of the app first with --stop-first', () =>
    onStack({ services: { app: { replicas: 2, more: stopsLate } } }, async ({ updated, update, stack }) => {
      const started = updated('1.5.0', { args: ['--stop-first'] });
      await started;
      const log = (await stack.boots()).map((line) => line.split(' ').slice(1, 3).join(' '));
      expect(log.filter((line) => line.startsWith('app')).toSorted()).toEqual([
        ...['app 1.4.2', 'app 1.4.2', 'app 1.5.0', 'app 1.5.0'],
      ]);
      const again = await update('1.5.0');
      expect(again.last).toMatch(/INFO {2}done unchanged: app and worker run v1\.5\.0; nothing to do/);
    }));

  test('runs a migration once, before the app, and does not wait for it to keep running', () => {
    const command = 'sleep 12; echo "0 migrate $$(cat /etc/version) here" >>/data/boots';
    const more = { entrypoint: ['/bin/sh', '-c', command], healthcheck: { test: ['NONE'] } };
    const migrate = { more, deploy: { restart_policy: { condition: 'on-failure' } } };
    return onStack({ services: { app: { replicas: 1 }, migrate } }, async ({ stack, update }) => {
      const boots = async () => (await stack.boots()).map((line) => line.split(' ').slice(1, 3).join(' '));
      await until('it has migrated', async () => (await boots()).includes('migrate 1.4.2'));
      const args = ['app', 'worker', 'migrate'].flatMap((name) => ['--service', name]);
      const { last, log } = await update('1.5.0', { args });
      expect(last, log).toContain('done updated v1.4.2 → v1.5.0');
      expect((await boots()).slice(-3)).toEqual(['migrate 1.5.0', 'app 1.5.0', 'worker 1.5.0']);
    });
  });

  test('is shown by plan, which changes nothing', () =>
    onStack(
      { services: layouts['start first, with an owner who rolls back'] ?? {} },
      async ({ stack, before }) => {
        const { runUpdater } = await import('../rig/swarm-run.ts');
        const { exitCode, lines } = await (
          await runUpdater('n2', ['plan', '--stack', stack.name, '--target', 'v1.5.0'])
        ).done;
        const log = lines.join('\n');
        expect(exitCode).toBe(0);
        expect(log).toContain('plan v1.4.2 → v1.5.0');
        expect(log).toContain(`image of app (2 replicas): ${svcImage('1.5.0')}, digest sha256:`);
        expect(log).toContain('failure_action will be "pause" instead of "rollback"');
        expect(log).toContain('will briefly run at the same time');
        expect(log).toMatch(/images are pulled on n\d, n\d and n\d before services are changed/);
        expect(log).toContain('in the stack file, or v1.4.2 will start on migrated data');
        expectUntouched(before, await snapshot(stack));
      },
    ));
});

const stopsLate = { stop_grace_period: '5s' };

describe.concurrent('an image', () => {
  test('without a shell is pulled before the update, and runs', () =>
    onStack({ services: { app: { replicas: 1 } } }, ({ updated }) => updated('1.9.0')));

  test('with a user of its own is given time to become healthy', () =>
    onStack({ services: { app: { replicas: 1 } } }, ({ updated }) => updated('2.0.0')));

  test('whose entrypoint migrates the data is not run before its service is updated', () =>
    onStack({ services: { app: { replicas: 1 } } }, async ({ updated }) => {
      const { boots } = await updated('2.1.0');
      expect(boots.map((line) => line.split(' ')[1])).not.toContain('--version');
      expect(boots.filter((line) => line.includes(' 2.1.0 '))).toHaveLength(2);
    }));

  test('from a registry with credentials is pulled only with these credentials', async () => {
    await docker('n1', 'login', '--username', 'u', '--password', 'p', closedRegistry);
    await onStack(
      { registry: closedRegistry, services: { app: { replicas: 1 } } },
      async ({ update, updated, stack, before }) => {
        await on('n1', 'docker', 'logout', closedRegistry);
        const refused = await update('1.5.0');
        expect(refused.last).toMatch(
          /ERROR done failed \(pull-denied\): nothing was changed; v1\.4\.2 is still running/,
        );
        expectUntouched(before, await snapshot(stack));
        await updated('1.5.0', { login: true });
      },
    );
  });

  test('that does not exist or is older than the running version changes nothing', () =>
    onStack({ services: { app: { replicas: 1 } } }, async ({ update, stack, before }) => {
      const none = await update('1.4.9');
      expect(none.last).toMatch(
        /ERROR done failed \(pull-unknown\): nothing was changed; v1\.4\.2 is still running/,
      );
      expect(none.exitCode).toBe(4);
      const older = await update('1.4.1');
      expect(older.last).toMatch(/ERROR done refused \(downgrade\): nothing was changed/);
      expect(older.exitCode).toBe(3);
      expectUntouched(before, await snapshot(stack));
      expect(imageOf(before, 'app')).toContain(':1.4.2@sha256:');
      expect(
        await docker('n1', 'service', 'ls', '--filter', `label=svc-updater.pull=${stack.name}`, '-q'),
      ).toBe('');
    }));
});
