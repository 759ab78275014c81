import { describe, expect, it, onTestFinished } from 'vitest';
import { type Json, object } from '../../../src/engine/json.ts';
import { imageOf, labelsOf, replicasOf } from '../../../src/engine/swarm.ts';
import { type RecordData, StackRecord } from '../../../src/updater/swarm/record.ts';
import { Replacing } from '../../../src/updater/swarm/replace.ts';
import type { ServiceMove } from '../../../src/updater/swarm/specs.ts';
import { engineThat, runContext, updateOptions } from '../../build-plan.ts';
import { moveOf, newImage, nodes, nodeWith, specWith, type TaskWord, tasksOf } from '../../build-stack.ts';
import { type SwarmDouble, swarmDouble } from './swarm-double.ts';

const workerMove = (replicas = 2): ServiceMove =>
  moveOf('worker', { before: specWith({ name: 'svc_worker', replicas }) });

interface Stage {
  moves: readonly ServiceMove[];
  /** What is there when the run begins, where it is not as it was found. */
  now?: Readonly<Record<string, Json>>;
  isResumed?: boolean;
  started?: boolean;
  /** It was killed while it held the app, after that had been new. */
  wasHolding?: boolean;
  /** Ids of tasks that were there before. */
  tasks?: readonly string[];
  waitTimeoutMs?: number;
}

/** A run on a Swarm, which waits 300 ms for anything where a test does not say. */
async function begin({
  moves,
  now = {},
  isResumed = false,
  started = false,
  wasHolding = false,
  tasks = [],
  waitTimeoutMs = 300,
}: Stage) {
  const specs = moves.map(({ id, before }) => [id, now[id] ?? before] as const);
  const double = swarmDouble(Object.fromEntries(specs), nodes('n1', 'n2'));
  const engine = await engineThat(double.answer);
  const data: RecordData = {
    ...{ format: 1, run: '20261125T100000Z', stack: 'svc', target: 'v1.5.0', from: 'v1.4.2', to: 'v1.5.0' },
    ...{ stopFirst: false, moves, tasks, files: [] },
  };
  const record = await StackRecord.make(engine, data, { holder: 'h', container: 'c', node: 'n1' }, null);
  onTestFinished(() => record.release());
  if (started) await record.note({ phase: 'back', started: true });
  const app = double.services.get('app-id');
  if (wasHolding && app) {
    await record.note({ phase: 'back' });
    app.PreviousSpec = specWith({ replicas: 2, image: newImage });
  }
  const { context, lines } = runContext(engine, {
    ...updateOptions(),
    limits: { waitTimeoutMs, pullTimeoutMs: 0 },
  });
  const replacing = new Replacing({ context, place: { history: 5 } }, record, { isResumed });
  return { double, replacing, lines };
}

/** What was written to a service: `new x3`, `old x0`. */
const writesTo = ({ written }: SwarmDouble, id: string): string[] =>
  written
    .filter(({ service }) => service === id)
    .map(({ spec }) => `${imageOf(spec) === newImage ? 'new' : 'old'} x${replicasOf(spec)}`);

/** So many tasks of the old version run as the spec asks for, as long as it is the old one's. */
const oldOf = ({ services }: SwarmDouble, id: string) => {
  const spec = services.get(id)?.Spec ?? {};
  const count = imageOf(spec) === newImage ? 1 : (replicasOf(spec) ?? 0);
  return tasksOf(...Array<string>(count).fill('old running')).map((task) => ({
    ...task,
    service: id,
    id: `${id}-${task.id}`,
  }));
};

/** The app's tasks: once its spec is new, there is one that has no room. */
const withoutRoom = (double: SwarmDouble) => [
  ...oldOf(double, 'app-id'),
  ...(imageOf(double.services.get('app-id')?.Spec ?? {}) === newImage
    ? tasksOf(['new pending -', { id: 'new' }])
    : []),
];

/** It takes 5 s until tasks count as back: these runs end before, after all of their writes. */
const tooShort = (error: unknown): void =>
  expect(['containers-not-restored', 'broken', 'containers-changed']).toContain(Object(error).code);

describe('Replacing', () => {
  it('rolls back by limiting the running tasks, then restores the definition', async () => {
    const { double, replacing } = await begin({
      moves: [moveOf('app', { before: specWith({ replicas: 3 }) }), workerMove()],
    });
    double.tasks = () => [...withoutRoom(double), ...oldOf(double, 'worker-id')];
    await expect(replacing.forward()).rejects.toMatchObject({ code: 'recreate-failed' });
    await replacing.back().catch(tooShort);
    expect(writesTo(double, 'app-id')).toEqual(['new x3', 'old x1', 'old x3']);
    expect(writesTo(double, 'worker-id')).toEqual(['old x0', 'old x2']);
  });

  it('keeps the number of tasks if the answer to the limit is lost in an election', async () => {
    const { double, replacing } = await begin({
      moves: [moveOf('app', { before: specWith({ replicas: 3 }) })],
    });
    double.tasks = () => withoutRoom(double);
    await expect(replacing.forward()).rejects.toMatchObject({ code: 'recreate-failed' });
    let swallowed = 0;
    double.afterWrite = () =>
      swallowed++ === 0
        ? { status: 500, message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded' }
        : null;
    await replacing.back().catch(tooShort);
    expect(writesTo(double, 'app-id')).toEqual(['new x3', 'old x1', 'old x3']);
  });

  it('does not take the limit of the previous run for the number that the owner wants', async () => {
    const app = moveOf('app', { before: specWith({ replicas: 3 }) });
    const { double, replacing } = await begin({
      moves: [app],
      now: { 'app-id': specWith({ replicas: 1 }) },
      isResumed: true,
      started: true,
    });
    // It only has to be told: no new task comes.
    await expect(replacing.forward()).rejects.toMatchObject({ code: 'broken' });
    expect(writesTo(double, 'app-id')).toEqual(['new x3']);
  });

  it('restores a worker that had the new image before', async () => {
    const worker = moveOf('worker', { before: specWith({ name: 'svc_worker', image: newImage }) });
    const { double, replacing } = await begin({
      moves: [moveOf('app', { before: specWith({ replicas: 1 }) }), worker],
      tasks: ['w1', 'w2'],
    });
    double.tasks = () => [
      ...withoutRoom(double),
      ...(replicasOf(double.services.get('worker-id')?.Spec ?? {}) === 2
        ? tasksOf(
            ['new running', { id: 'w1', service: 'worker-id' }],
            ['new running', { id: 'w2', service: 'worker-id' }],
          )
        : []),
    ];
    await expect(replacing.forward()).rejects.toMatchObject({ code: 'recreate-failed' });
    await replacing.back().catch(tooShort);
    expect(writesTo(double, 'worker-id')).toEqual(['new x0', 'new x2']);
  });

  it('starts no old worker next to a new app that was edited during the update', async () => {
    const { double, replacing } = await begin({
      moves: [moveOf('app', { before: specWith({ replicas: 1 }) }), workerMove(1)],
    });
    double.tasks = () => {
      const isNew = imageOf(double.services.get('app-id')?.Spec ?? {}) === newImage;
      return isNew ? tasksOf(['new preparing', { id: 'new' }]) : oldOf(double, 'app-id');
    };
    double.afterWrite = () => {
      const app = double.services.get('app-id');
      if (app && imageOf(app.Spec) === newImage) app.Spec = { ...app.Spec, Labels: { tier: 'web' } };
      return null;
    };
    await expect(replacing.forward()).rejects.toMatchObject({ code: 'containers-changed' });
    await replacing.back().catch(tooShort);
    expect(writesTo(double, 'worker-id')).toEqual(['old x0']);
  });

  it('does not roll back after the kill of a run that had seen a task on a node', async () => {
    // That task may have started and be gone without a trace: what is scaled away, Swarm forgets at once.
    const app = moveOf('app', { before: specWith({ replicas: 2 }) });
    const { double, replacing } = await begin({
      moves: [app],
      now: { 'app-id': specWith({ replicas: 1 }) },
      isResumed: true,
      wasHolding: true,
    });
    double.tasks = () => oldOf(double, 'app-id');
    await replacing.back().catch(tooShort);
    expect(writesTo(double, 'app-id')).not.toContain('old x2');
  });

  it('continues with the other nodes if Swarm waits for a task on a node that went down', async () => {
    const { double, replacing, lines } = await begin({
      moves: [moveOf('app', { before: specWith({ replicas: 2 }) })],
      waitTimeoutMs: 15_000,
    });
    double.tasks = () => {
      const writes = double.written.length;
      if (writes === 0) return oldOf(double, 'app-id');
      double.nodes = [nodeWith('n1'), nodeWith('n2', { state: 'down' })];
      const lost: TaskWord = ['new starting n2', { id: 'lost', slot: 1, wanted: 'shutdown' }];
      const first: TaskWord = ['new running n1', { id: 'first', slot: 1 }];
      // Until its spec has changed, Swarm leaves the second one alone.
      const second: TaskWord = [writes < 2 ? 'old running n1' : 'new running n1', { id: `s${writes < 2}` }];
      return tasksOf(lost, first, second);
    };
    const ended = await replacing.forward().catch((error) => error.message);
    replacing.tellOpen();
    const labels = double.written.map(({ spec }) => labelsOf(spec)['svc-updater.nudge']);
    expect([ended, labels]).toEqual([undefined, [undefined, '1', undefined]]);
    expect(lines.join('\n')).toMatch(
      /warn: \S+ is down, so the state of its task lost of svc_app is unknown/,
    );
  }, 30_000);

  it('keeps old tasks unchanged if the new tasks were forced to restart', async () => {
    const { double, replacing } = await begin({
      moves: [moveOf('app', { before: specWith({ replicas: 3 }) })],
    });
    double.tasks = () => withoutRoom(double);
    double.afterWrite = () => {
      const app = double.services.get('app-id');
      if (!app || imageOf(app.Spec) !== newImage) return null;
      app.Spec = { ...app.Spec, TaskTemplate: { ...object(app.Spec.TaskTemplate), ForceUpdate: 1 } };
      return null;
    };
    await expect(replacing.forward()).rejects.toMatchObject({ code: 'recreate-failed' });
    await replacing.back().catch(tooShort);
    // Of another template Swarm would make the old ones again, while a new one may be about to start.
    expect(object(double.written[1]?.spec.TaskTemplate).ForceUpdate).toBe(0);
  });

  it('counts a task as started if it was ready in a late answer and had ended by the next check', async () => {
    const { double, replacing } = await begin({
      moves: [moveOf('app', { before: specWith({ replicas: 1 }) })],
    });
    let looks = 0;
    double.tasks = () => {
      if (imageOf(double.services.get('app-id')?.Spec ?? {}) !== newImage) return oldOf(double, 'app-id');
      return tasksOf([++looks === 1 ? 'new ready' : 'new shutdown', { id: 'new' }]);
    };
    // What is told of the tasks is a second old when the look is over.
    double.delay = (path) => (path === '/services' && double.written.length === 1 && looks === 0 ? 1_000 : 0);
    await replacing.forward().catch(() => {});
    expect(replacing.hasStarted).toBe(true);
  });
});
