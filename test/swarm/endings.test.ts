import { describe, expect, test } from 'vitest';
import { docker, on, until } from '../rig/swarm.ts';
import { expectUpdated, oldAfterNew, snapshot } from '../rig/swarm-judge.ts';
import { imageOf, onStack, replicasOf, svcImage } from '../rig/swarm-try.ts';

const rolls = { update_config: { failure_action: 'rollback', monitor: '3s' } };
const withRollback = { app: { replicas: 2, deploy: rolls }, worker: { deploy: rolls } };

describe.concurrent('a failing release', () => {
  test('is not rolled back if it exits at startup, whatever the failure_action, and the next update replaces it', () =>
    onStack({ services: withRollback }, async ({ stack, before, update }) => {
      const { last, log, exitCode } = await update('1.6.0');
      expect(last).toMatch(
        /ERROR done broken \(broken\): v1\.6\.0 has started but is not healthy; nothing was rolled back/,
      );
      expect(exitCode).toBe(5);
      expect(log).toContain('cannot read the settings');
      const then = await snapshot(stack);
      expect(imageOf(then, 'app')).toContain(':1.6.0@sha256:');
      expect(then.specs.app?.UpdateConfig?.FailureAction).toBe('pause');
      expect(replicasOf(then, 'worker')).toBe(0);
      expect(oldAfterNew(then.boots)).toEqual([]);
      const again = await update('1.6.0', { node: 'n2' });
      expect(again.last).toMatch(/ERROR done broken \(broken\): /);
      const none = await update('1.9.9');
      expect(none.last).toMatch(
        /ERROR done failed \(pull-unknown\): nothing was changed by this run; the changes made by run \S+ \(to v1\.6\.0\) were kept/,
      );
      const next = await update('2.0.0', { node: 'n3' });
      expect(next.last).toMatch(/INFO {2}done updated v1\.6\.0 → v2\.0\.0 in /);
      expectUpdated(before, await snapshot(stack), { app: '2.0.0', worker: '2.0.0' });
    }));

  test('is rolled back automatically if Swarm updates it, which starts the old version on migrated data', () =>
    onStack({ services: withRollback }, async ({ stack }) => {
      const app = `${stack.name}_app`;
      await on('n1', 'docker', 'service', 'update', '--quiet', '--image', svcImage('1.6.0'), app);
      const state = () => docker('n1', 'service', 'inspect', '--format', '{{.UpdateStatus.State}}', app);
      await until('Swarm has rolled back', async () => (await state()) === 'rollback_completed');
      expect(oldAfterNew(await stack.boots())).not.toEqual([]);
    }));

  test('causes the outcome broken if it is never healthy', () =>
    onStack({ services: { app: { replicas: 1 } } }, async ({ stack, update }) => {
      const { last } = await update('1.7.0');
      expect(last).toMatch(/ERROR done broken \(broken\): v1\.7\.0 has started but is not healthy/);
      const { boots } = await snapshot(stack);
      expect(oldAfterNew(boots)).toEqual([]);
    }));
});

describe.concurrent('a release that cannot start any task', () => {
  test('is undone completely, also after a previous attempt, and the next release is installed', () =>
    onStack({ services: { app: { replicas: 2 } } }, async ({ stack, before, update, updated }) => {
      const app = `${stack.name}_app`;
      for (const node of ['n1', 'n2'] as const) {
        const tasks = await stack.tasks(app, '{{.ID}}');
        const { last, exitCode, log } = await update('1.4.3', { node });
        expect(last, log).toMatch(/ERROR done failed \(recreate-failed\): v1\.4\.2 is running again/);
        expect(exitCode).toBe(4);
        expect(log).toContain('no task of v1.4.3 has started; undoing all changes');
        const after = await snapshot(stack);
        expect(after.specs).toEqual(before.specs);
        expect(oldAfterNew(after.boots)).toEqual([]);
        // Only one of two app tasks was replaced.
        const left = await stack.tasks(app, '{{.ID}}');
        expect(
          left.filter((id) => tasks.includes(id)),
          `${log}\n${tasks}\n${left}`,
        ).toHaveLength(1);
      }
      await updated('1.5.0');
    }));

  test('leaves the spec of a global service unchanged', () =>
    onStack({ services: { app: { replicas: 'global' } } }, async ({ stack, before, update }) => {
      const { last, log } = await update('1.4.3', { args: ['--stop-first'] });
      expect(last, log).toMatch(/ERROR done failed \(recreate-failed\): v1\.4\.2 is running again/);
      expect((await snapshot(stack)).specs).toEqual(before.specs);
    }));
});
