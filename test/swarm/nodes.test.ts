import { expect, test } from 'vitest';
import { docker, on } from '../rig/swarm.ts';
import { expectUntouched, snapshot } from '../rig/swarm-judge.ts';
import { onStack } from '../rig/swarm-try.ts';

const small = { services: { app: { replicas: 1 } } };

test('one node that cannot pull is named, and nothing is changed; then it can', () =>
  onStack(small, async ({ stack, before, update, updated }) => {
    const registry = '10.77.0.1/32';
    // It may be there from another test, by its digest.
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
