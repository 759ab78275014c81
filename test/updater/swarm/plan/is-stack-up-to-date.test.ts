import { describe, expect, it } from 'vitest';
import type { SwarmTask } from '../../../../src/engine/swarm/swarm-service.ts';
import { isStackUpToDate } from '../../../../src/updater/swarm/plan/is-stack-up-to-date.ts';
import { engineThat, runContext } from '../../../build-plan.ts';
import { moveOf, newImage, nodes, specWith, type TaskWord, tasksOf } from '../../../build-stack.ts';
import { swarmDouble } from '../swarm-double.ts';

/** Checks an update to the running version, with these tasks at first and the later tasks at each following poll. */
async function check(first: readonly TaskWord[], later: readonly TaskWord[] = first) {
  const before = specWith({ image: newImage, replicas: 1 });
  const double = swarmDouble({ 'app-id': before }, nodes('n1', 'n2'));
  double.tasks = (): SwarmTask[] => tasksOf(...later);
  const { context } = runContext(await engineThat(double.answer));
  const found = { context, tasks: tasksOf(...first), nodes: double.nodes };
  return isStackUpToDate(found, { moves: [moveOf('app', { before })], files: null });
}

describe('a version that is already running', () => {
  it.each<[situation: string, first: TaskWord[], later: TaskWord[]]>([
    ['one task does not run', ['new starting'], ['new starting']],
    ['it crashes', ['new running'], ['new failed', ['new ready', { slot: 1 }]]],
    ['it is started again at once', ['new running'], ['new failed', ['new running', { slot: 1 }]]],
    ['Swarm gives up', ['new running'], ['new failed']],
  ])('is unhealthy: %s', async (_, first, later) => {
    await expect(check(first, later)).rejects.toMatchObject({ code: 'unhealthy' });
  });

  it('is healthy if the owner drains a node in the meantime', { timeout: 20_000 }, async () => {
    const moved: TaskWord[] = [
      ['new shutdown', { desiredState: 'shutdown' }],
      ['new running', { slot: 1 }],
    ];
    await expect(check(['new running'], moved)).resolves.toBe(true);
  });

  it('is healthy if the same tasks run for 5 s', { timeout: 20_000 }, async () => {
    const beganAt = performance.now();
    await expect(check(['new running'])).resolves.toBe(true);
    expect(performance.now() - beganAt).toBeGreaterThan(4_900);
  });
});
