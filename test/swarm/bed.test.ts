import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployStack, type Stack } from '../rig/swarm.ts';
import { expectUntouched, expectUpdated, snapshot } from '../rig/swarm-judge.ts';
import { runUpdater } from '../rig/swarm-run.ts';

/** Without the start period, Swarm would replace a container that starts slowly and fails its first three checks. */
const more = { healthcheck: { test: ['CMD', '/bin/healthy'], interval: '1s', start_period: '60s' } };

let stack: Stack;
beforeAll(async () => {
  stack = await deployStack({ version: '1.4.2', services: { app: { replicas: 2, more }, worker: { more } } });
});
afterAll(() => stack?.remove());

test('a deploy of the next version updates only the app and the worker of a running stack', async () => {
  const before = await snapshot(stack);
  expect(before.boots.map((line) => line.split(' ').slice(1, 3).join(' ')).toSorted()).toEqual([
    'app 1.4.2',
    'app 1.4.2',
    'worker 1.4.2',
  ]);
  expectUntouched(before, await snapshot(stack));
  await stack.deploy('1.5.0');
  await stack.runs(150);
  const after = await snapshot(stack);
  expectUpdated(before, after, { app: '1.5.0', worker: '1.5.0' });
  expect(() => expectUntouched(before, after)).toThrow();
  expect(() => expectUpdated(before, after, { app: '1.5.0' })).toThrow();
});

test('the updater image runs on a node, and its output is received', async () => {
  const run = await runUpdater('n2', ['--version'], { mount: stack.directory });
  await run.waitFor(/\d+\.\d+/);
  expect(await run.done).toMatchObject({ exitCode: 0 });
});
