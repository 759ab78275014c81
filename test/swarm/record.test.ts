import { describe, expect, test } from 'vitest';
import { docker, until } from '../rig/swarm.ts';
import { expectUpdated, snapshot } from '../rig/swarm-judge.ts';
import { runKilledAfterOneWrite, runUpdater } from '../rig/swarm-run.ts';
import { onStack } from '../rig/swarm-try.ts';
import { updaterImage } from '../rig/updater-run.ts';

const small = { services: { app: { replicas: 1 } } };
const both = { app: '1.5.0', worker: '1.5.0' };

describe.concurrent('the record of a run', () => {
  test('is locked by only one of two runs on two managers', () =>
    onStack(small, async ({ stack, before }) => {
      const words = ['--stack', stack.name, '--target', '1.5.0'];
      const one = await runUpdater('n1', words);
      await one.waitFor(/recreate stopping/);
      const other = await (await runUpdater('n2', words)).done;
      expect(other.lines.at(-1)).toMatch(/ERROR done refused \(update-running\): /);
      expect(other.exitCode).toBe(3);
      const { exitCode, lines } = await one.done;
      expect([exitCode, lines.at(-1)]).toEqual([0, expect.stringContaining('done updated v1.4.2 → v1.5.0')]);
      expectUpdated(before, await snapshot(stack), both);
    }));

  test('lets a later run complete the update after previous runs were each killed after one write', () =>
    onStack(small, async ({ stack, before }) => {
      const words = ['--stack', stack.name, '--target', '1.5.0'];
      // The writes: worker stopped, app updated, worker updated, and the settings of both restored.
      for (let writes = 0; writes < 5; writes++) {
        const { exitCode, lines } = await runKilledAfterOneWrite('n2', words);
        expect(exitCode, lines.join('\n')).toBe(137);
      }
      // On another manager, a run can only infer from missing writes that the previous run has stopped.
      const { exitCode, lines } = await (await runUpdater('n3', words)).done;
      expect(lines.join('\n')).toContain('waiting up to 45 s to see whether it is still active');
      expect([exitCode, lines.at(-1)]).toEqual([0, expect.stringContaining('done updated v1.4.2 → v1.5.0')]);
      expectUpdated(before, await snapshot(stack), both);
    }));

  test('is taken over from a frozen run, which makes no further changes', () =>
    onStack(small, async ({ stack, before }) => {
      const words = ['--stack', stack.name, '--target', '1.5.0'];
      const frozen = await runUpdater('n1', words, { patience: 280 });
      await frozen.waitFor(/recreate stopping/);
      await frozen.kill('STOP');
      const next = await (await runUpdater('n2', words)).done;
      expect(next.lines.at(-1)).toContain('done updated v1.4.2 → v1.5.0');
      const after = await snapshot(stack);
      expectUpdated(before, after, both);
      await frozen.kill('CONT');
      const { exitCode, lines } = await frozen.done;
      expect(lines.at(-1)).toMatch(
        /ERROR done refused \(update-running\): this run will make no further changes/,
      );
      expect(exitCode).toBe(3);
      expect(await snapshot(stack)).toEqual(after);
    }));

  test('makes a restarted task of an updater service repeat the outcome of the run', () =>
    onStack(small, async ({ stack }) => {
      const name = `${stack.name}-updater`;
      await docker(
        ...(['n1', 'service', 'create', '--quiet', '--name', name, '--detach'] as const),
        ...['--constraint', 'node.role==manager', '--no-resolve-image'],
        ...['--restart-condition', 'on-failure', '--restart-max-attempts', '3', '--restart-delay', '1s'],
        ...['--mount', 'type=bind,src=/var/run/docker.sock,dst=/var/run/docker.sock'],
        ...[updaterImage, '--stack', stack.name, '--target', '1.6.0', '--wait-timeout', '20'],
      );
      const ended = async () => {
        const states = await docker('n1', 'service', 'ps', '--format', '{{.CurrentState}}', name);
        return /^Complete/m.test(states) && /^Failed/m.test(states);
      };
      await until('the task has ended once more, well', ended, 200);
      const log = await docker('n1', 'service', 'logs', '--raw', name);
      expect(log.match(/ERROR done broken \(broken\): /g)).toHaveLength(2);
      await docker('n1', 'service', 'rm', name);
    }));
});
