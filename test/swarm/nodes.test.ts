import { expect, test } from 'vitest';
import { docker, on, swarm, until } from '../rig/swarm.ts';
import { expectUntouched, snapshot } from '../rig/swarm-judge.ts';
import { runUpdater } from '../rig/swarm-run.ts';
import { onStack } from '../rig/swarm-try.ts';

const small = { services: { app: { replicas: 1 } } };

test('an update changes nothing and reports the node that cannot pull, and succeeds once the node can pull', () =>
  onStack(small, async ({ stack, before, update, updated }) => {
    const registry = '10.77.0.1/32';
    // Another test may have pulled the image by its digest.
    const label = 'label=org.opencontainers.image.version=1.5.1';
    const left = await docker('n3', 'image', 'ls', '--quiet', '--no-trunc', '--filter', label);
    if (left !== '') await docker('n3', 'image', 'rm', '--force', ...new Set(left.split('\n')));
    await on('n3', 'ip', 'route', 'add', 'unreachable', registry);
    try {
      const { exitCode, last, log } = await update('1.5.1');
      expect(last, log).toMatch(
        /ERROR done failed \(pull-\w+\): nothing was changed; v1\.4\.2 is still running/,
      );
      expect(log).toMatch(/ERROR pull n3 /);
      expect(exitCode).toBe(4);
      expectUntouched(before, await snapshot(stack));
    } finally {
      await on('n3', 'ip', 'route', 'del', 'unreachable', registry);
    }
    await updated('1.5.1');
  }));

test('an update reports a node that goes down during the run, and completes on the other nodes', () => {
  const onFirst = { placement: { constraints: ['node.hostname==n1'] } };
  return onStack({ services: { app: { replicas: 3 }, worker: { deploy: onFirst } } }, async ({ stack }) => {
    const run = await runUpdater('n1', ['--stack', stack.name, '--target', '1.5.0', '--wait-timeout', '90']);
    await run.waitFor(/old task \S+_app\.\d on n3: shutdown|new task \S+_app\.\d on n[12]: running/);
    await swarm('kill', 'n3');
    try {
      const { exitCode, lines } = await run.done;
      expect(lines.join('\n')).toMatch(
        /WARN {2}done n3 is down, so the state of its task \S+ of \S+_app is unknown/,
      );
      expect([exitCode, lines.at(-1)]).toEqual([0, expect.stringContaining('done updated v1.4.2 → v1.5.0')]);
    } finally {
      await swarm('start', 'n3');
      const ready = async () =>
        /n3 Ready/.test(await docker('n1', 'node', 'ls', '--format', '{{.Hostname}} {{.Status}}'));
      await until('n3 is ready', ready);
    }
  });
});
