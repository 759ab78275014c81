import { describe, expect, it, onTestFinished } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import { HostPaths } from '../../../../src/core/mounts/host-paths.ts';
import { type Json, toObject } from '../../../../src/engine/objects/json.ts';
import {
  replicaCountOf,
  serviceImageOf,
  serviceLabelsOf,
} from '../../../../src/engine/swarm/swarm-service.ts';
import { runSteps, updateOrRollBack } from '../../../../src/updater/run/run-steps.ts';
import { planServiceUpdates } from '../../../../src/updater/swarm/plan/plan-service-updates.ts';
import type { StackUpdatePlan } from '../../../../src/updater/swarm/plan/plan-stack.ts';
import {
  StackRecord,
  type StackRecordData,
  stackRollbackState,
} from '../../../../src/updater/swarm/record/stack-record.ts';
import { StackRun } from '../../../../src/updater/swarm/rollout/stack-run.ts';
import type { StackServiceUpdate } from '../../../../src/updater/swarm/services/specs.ts';
import { engineThat, runContext, target, updateOptions } from '../../../build-plan.ts';
import {
  moveOf,
  newImage,
  nodes,
  nodeWith,
  serviceWith,
  specWith,
  type TaskWord,
  tasksOf,
} from '../../../build-stack.ts';
import { type SwarmDouble, swarmDouble } from '../swarm-double.ts';

const workerMove = (replicas = 2): StackServiceUpdate =>
  moveOf('worker', { before: specWith({ name: 'svc_worker', replicas }) });

const appMove = (replicas: number): StackServiceUpdate => moveOf('app', { before: specWith({ replicas }) });

interface Stage {
  moves: readonly StackServiceUpdate[];
  /** Specs at the start of the run, if they differ from those in the record. */
  now?: Readonly<Record<string, Json>>;
  isResumed?: boolean;
  started?: boolean;
  /** The run was killed while it limited the app, after the app had the new image. */
  wasHolding?: boolean;
  /** Ids of tasks that existed before the run. */
  tasks?: readonly string[];
  waitTimeoutMs?: number;
  files?: StackRecordData['files'];
  /** The plan of a run that begins; null for a run that already replaces services. */
  planned?: StackUpdatePlan | null;
}

const file = { path: '/opt/svc/stack.yaml', before: 'a'.repeat(64), after: 'b'.repeat(64) };
/** The directory is not mounted, so the attempt to restore causes a warning. */
const restored = /^warn: cannot restore \/opt\/svc\/stack\.yaml/m;

/** A run on a Swarm, with a wait timeout of 300 ms by default. */
async function begin({
  moves,
  now = {},
  isResumed = false,
  started = false,
  wasHolding = false,
  tasks = [],
  waitTimeoutMs = 300,
  files = [],
  planned = null,
}: Stage) {
  const specs = moves.map(({ id, before }) => [id, now[id] ?? before] as const);
  const double = swarmDouble(Object.fromEntries(specs), nodes('n1', 'n2'));
  const engine = await engineThat(double.answer);
  const data: StackRecordData = {
    ...{ format: 2, run: '20261125T100000Z', stack: 'svc', target: 'v1.5.0', from: 'v1.4.2', to: 'v1.5.0' },
    ...{ stopFirst: false, moves, tasks, files },
  };
  const record = await StackRecord.create(engine, data, { holder: 'h', container: 'c', node: 'n1' }, null);
  onTestFinished(() => record.release());
  const earlier = started || wasHolding ? stackRollbackState : ({ at: 'replacing' } as const);
  if (planned === null) await record.update({ state: earlier, started });
  const app = double.services.get('app-id');
  if (wasHolding && app) {
    app.PreviousSpec = specWith({ replicas: 2, image: newImage });
  }
  if (started) await record.update({ state: { at: 'replacing' } });
  const { context, lines } = runContext(engine, {
    ...updateOptions(),
    limits: { waitTimeoutMs, pullTimeoutMs: 0, pauseMs: 0 },
  });
  const stack = {
    context,
    place: { nodeId: 'n1', taskHistoryLimit: 5 },
    paths: new HostPaths([]),
    directory: null,
  };
  const run = new StackRun(stack, record, { earlier: isResumed ? earlier : null, planned });
  /** Returns the error that prevents the update; null if the update succeeds. */
  const forward = (): Promise<unknown> =>
    runSteps(run, 'update', context.log).then(
      () => null,
      (error) => error,
    );
  /** @param error the cause of the rollback; null for a run that was killed during a rollback */
  const back = async (error: unknown) => {
    if (error !== null) await run.switchToRollback(error);
    await runSteps(run, 'rollback', context.log).catch(tooShort);
  };
  /** Requires that the update fails with this code, and rolls it back. */
  const failWith = async (code: string) => {
    const error = await forward();
    expect(error).toMatchObject({ code });
    await back(error);
  };
  return { double, run, forward, back, failWith, record, log: context.log, lines };
}

/** The specs written to a service, for example `new x3`, `old x0`. */
const writesTo = ({ written }: SwarmDouble, id: string): string[] =>
  written
    .filter(({ service }) => service === id)
    .map(({ spec }) => `${serviceImageOf(spec) === newImage ? 'new' : 'old'} x${replicaCountOf(spec)}`);

/** As many running tasks of the old version as the old spec requires; one if the spec is new. */
const oldOf = ({ services }: SwarmDouble, id: string) => {
  const spec = services.get(id)?.Spec ?? {};
  const count = serviceImageOf(spec) === newImage ? 1 : (replicaCountOf(spec) ?? 0);
  return tasksOf(...Array<string>(count).fill('old running')).map((task) => ({
    ...task,
    service: id,
    id: `${id}-${task.id}`,
  }));
};

/** The tasks of the app. If its spec is new, one task is pending because no node has room. */
const withoutRoom = (double: SwarmDouble) => [
  ...oldOf(double, 'app-id'),
  ...(serviceImageOf(double.services.get('app-id')?.Spec ?? {}) === newImage
    ? tasksOf(['new pending -', { id: 'new' }])
    : []),
];

/** Tasks count as restored after 5 s. These runs end earlier, but after all of their writes. */
const tooShort = (error: unknown): void =>
  expect(['containers-not-restored', 'broken', 'containers-changed']).toContain(Object(error).code);

describe('StackRun', () => {
  it('rolls back by limiting the running tasks, then restores the definition', async () => {
    const { double, failWith } = await begin({
      moves: [appMove(3), workerMove()],
    });
    double.tasks = () => [...withoutRoom(double), ...oldOf(double, 'worker-id')];
    await failWith('recreate-failed');
    expect(writesTo(double, 'app-id')).toEqual(['new x3', 'old x1', 'old x3']);
    expect(writesTo(double, 'worker-id')).toEqual(['old x0', 'old x2']);
  });

  it('keeps the number of tasks if the response to the limit is lost in an election', async () => {
    const { double, forward, back } = await begin({ moves: [appMove(3)] });
    double.tasks = () => withoutRoom(double);
    const error = await forward();
    expect(error).toMatchObject({ code: 'recreate-failed' });
    let swallowed = 0;
    double.afterWrite = () =>
      swallowed++ === 0
        ? { status: 500, message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded' }
        : null;
    await back(error);
    expect(writesTo(double, 'app-id')).toEqual(['new x3', 'old x1', 'old x3']);
  });

  it('does not use the limit set by the previous run as the number of replicas', async () => {
    const app = appMove(3);
    const { double, forward } = await begin({
      moves: [app],
      now: { 'app-id': specWith({ replicas: 1 }) },
      isResumed: true,
      started: true,
    });
    // Fails because no new task is created.
    expect(await forward()).toMatchObject({ code: 'broken' });
    expect(writesTo(double, 'app-id')).toEqual(['new x3']);
  });

  it('restores a worker that had the new image before', async () => {
    const worker = moveOf('worker', { before: specWith({ name: 'svc_worker', image: newImage }) });
    const { double, failWith } = await begin({
      moves: [appMove(1), worker],
      tasks: ['w1', 'w2'],
    });
    double.tasks = () => [
      ...withoutRoom(double),
      ...(replicaCountOf(double.services.get('worker-id')?.Spec ?? {}) === 2
        ? tasksOf(
            ['new running', { id: 'w1', service: 'worker-id' }],
            ['new running', { id: 'w2', service: 'worker-id' }],
          )
        : []),
    ];
    await failWith('recreate-failed');
    expect(writesTo(double, 'worker-id')).toEqual(['new x0', 'new x2']);
  });

  it('starts no old worker next to a new app that was edited during the update', async () => {
    const { double, failWith } = await begin({
      moves: [appMove(1), workerMove(1)],
    });
    double.tasks = () => {
      const isNew = serviceImageOf(double.services.get('app-id')?.Spec ?? {}) === newImage;
      return isNew ? tasksOf(['new preparing', { id: 'new' }]) : oldOf(double, 'app-id');
    };
    double.afterWrite = () => {
      const app = double.services.get('app-id');
      if (app && serviceImageOf(app.Spec) === newImage) app.Spec = { ...app.Spec, Labels: { tier: 'web' } };
      return null;
    };
    await failWith('containers-changed');
    expect(writesTo(double, 'worker-id')).toEqual(['old x0']);
  });

  it('does not roll back if the previous run was killed after a new task was on a node', async () => {
    // That task may have started: Swarm deletes tasks at once when a service is scaled down.
    const app = appMove(2);
    const { double, back } = await begin({
      moves: [app],
      now: { 'app-id': specWith({ replicas: 1 }) },
      isResumed: true,
      wasHolding: true,
    });
    double.tasks = () => oldOf(double, 'app-id');
    await back(null);
    expect(writesTo(double, 'app-id')).not.toContain('old x2');
  });

  it('continues with the other nodes if Swarm waits for a task on a node that went down', async () => {
    const { double, run, forward, lines } = await begin({
      moves: [appMove(2)],
      waitTimeoutMs: 15_000,
    });
    double.tasks = () => {
      const writes = double.written.length;
      if (writes === 0) return oldOf(double, 'app-id');
      double.nodes = [nodeWith('n1'), nodeWith('n2', { state: 'down' })];
      const lost: TaskWord = ['new starting n2', { id: 'lost', slot: 1, desiredState: 'shutdown' }];
      const first: TaskWord = ['new running n1', { id: 'first', slot: 1 }];
      // Swarm does not replace the second task until the spec changes.
      const second: TaskWord = [writes < 2 ? 'old running n1' : 'new running n1', { id: `s${writes < 2}` }];
      return tasksOf(lost, first, second);
    };
    const ended = await forward();
    await run.completeRun();
    const labels = double.written.map(({ spec }) => serviceLabelsOf(spec)['svc-updater.nudge']);
    expect([ended, labels]).toEqual([null, [undefined, '1', undefined]]);
    expect(lines.join('\n')).toMatch(
      /warn: \S+ is down, so the state of its task lost of svc_app is unknown/,
    );
  }, 30_000);

  it('keeps old tasks unchanged if the new tasks were forced to restart', async () => {
    const { double, failWith } = await begin({ moves: [appMove(3)] });
    double.tasks = () => withoutRoom(double);
    double.afterWrite = () => {
      const app = double.services.get('app-id');
      if (!app || serviceImageOf(app.Spec) !== newImage) return null;
      app.Spec = { ...app.Spec, TaskTemplate: { ...toObject(app.Spec.TaskTemplate), ForceUpdate: 1 } };
      return null;
    };
    await failWith('recreate-failed');
    // With a different template, Swarm would recreate the old tasks while a new task may be starting.
    expect(toObject(double.written[1]?.spec.TaskTemplate).ForceUpdate).toBe(0);
  });

  it('counts a task as started if it was ready in a late response and had ended by the next check', async () => {
    const { double, forward, record } = await begin({ moves: [appMove(1)] });
    let looks = 0;
    double.tasks = () => {
      if (serviceImageOf(double.services.get('app-id')?.Spec ?? {}) !== newImage)
        return oldOf(double, 'app-id');
      return tasksOf([++looks === 1 ? 'new ready' : 'new shutdown', { id: 'new' }]);
    };
    // The task list is one second old when the poll ends.
    double.delay = (path) => (path === '/services' && double.written.length === 1 && looks === 0 ? 1_000 : 0);
    await forward();
    expect(record.hasStarted).toBe(true);
  });

  it('restores the files last, and fails with the error that caused the rollback', async () => {
    const { double, run, record, log, lines } = await begin({
      moves: [appMove(3)],
      files: [file],
      waitTimeoutMs: 6_000,
    });
    double.tasks = () => withoutRoom(double);
    await expect(updateOrRollBack(run, log)).rejects.toMatchObject({
      code: 'recreate-failed',
      state: 'the files were restored, and v1.4.2 is running again',
    });
    expect(writesTo(double, 'app-id')).toEqual(['new x3', 'old x1', 'old x3']);
    expect(record.state).toEqual({ at: 'restoring', ending: null });
    expect(lines.at(-1)).toMatch(restored);
  }, 30_000);

  it('restores the files even if the services cannot be rolled back', async () => {
    const { double, run, log, lines } = await begin({
      moves: [appMove(1)],
      files: [file],
    });
    double.tasks = () => withoutRoom(double);
    await expect(updateOrRollBack(run, log)).rejects.toMatchObject({ code: 'containers-not-restored' });
    expect(lines.join('\n')).toMatch(restored);
  });

  it('keeps the files, and reports broken, if a new task starts during the rollback', async () => {
    const { double, run, log, record, lines } = await begin({
      moves: [appMove(1)],
      files: [file],
    });
    double.tasks = () => {
      const isHeld = double.written.length === 2;
      return isHeld ? tasksOf(['new running', { id: 'new' }]) : withoutRoom(double);
    };
    await expect(updateOrRollBack(run, log)).rejects.toMatchObject({
      code: 'broken',
      state: expect.stringMatching(/^v1\.5\.0 has started but is not healthy; nothing was rolled back/),
    });
    expect(writesTo(double, 'app-id')).toEqual(['new x1', 'old x1', 'new x1']);
    expect([record.hasStarted, record.state.at]).toEqual([true, 'rolling-back']);
    expect(lines.join('\n')).not.toMatch(restored);
  });

  it('records a task as started if it is still starting at the timeout', async () => {
    const { double, run, log, record } = await begin({ moves: [appMove(1)] });
    double.tasks = () => tasksOf([double.written.length === 0 ? 'old running' : 'new starting', { id: 'a' }]);
    await expect(updateOrRollBack(run, log)).rejects.toMatchObject({ code: 'broken' });
    expect(record.hasStarted).toBe(true);
  });

  it('reports a Swarm that becomes unavailable while services are replaced, and undoes nothing', async () => {
    const { double, run, log, record } = await begin({ moves: [moveOf('app')] });
    double.tasks = () => [];
    const error = new UpdateError('engine-unavailable', 'the Swarm has no leader that responds');
    run.execute = () => Promise.reject(error);
    await expect(updateOrRollBack(run, log)).rejects.toMatchObject({
      code: 'engine-lost',
      message: error.message,
    });
    expect(record.state).toEqual({ at: 'replacing' });
  });

  it('leaves the remaining steps to a later run if the Swarm becomes unavailable during the rollback', async () => {
    const { double, run, log, record } = await begin({ moves: [appMove(1)] });
    double.tasks = () => withoutRoom(double);
    const confirm = record.requireOwnership.bind(record);
    const lost = new UpdateError('engine-unavailable', 'the Swarm has no leader that responds');
    record.requireOwnership = () => (record.state.at === 'rolling-back' ? Promise.reject(lost) : confirm());
    await expect(updateOrRollBack(run, log)).rejects.toMatchObject({
      code: 'engine-lost',
      outcome: 'broken',
    });
    expect(record.state.at).toBe('rolling-back');
  });
});

describe('a new StackRun', () => {
  const planned: StackUpdatePlan = {
    ...planServiceUpdates({ app: serviceWith(specWith({})), workers: [] }, [], {
      ...updateOptions(),
      target: target('v1.5.0'),
    }),
    ...{ stopFirst: false, moves: [], published: [], files: null, recalls: null },
  };

  it('pulls, then writes the files, without inspecting the services', async () => {
    const { double, run, record } = await begin({ moves: [moveOf('app')], planned });
    double.tasks = () => {
      throw new Error('looked');
    };
    for (const [at, kind] of [
      ['pulling', 'pull'],
      ['writing', 'write-files'],
    ] as const) {
      await record.update({ state: { at } });
      expect(run.planNextStep(await run.inspect(), 'update')).toMatchObject({ kind });
    }
  });

  it('undoes nothing if the pull fails', async () => {
    const { double, run, record, log, lines } = await begin({
      moves: [moveOf('app')],
      planned,
      files: [file],
    });
    const error = new UpdateError('pull-failed', 'no space left');
    run.execute = () => Promise.reject(error);
    await expect(updateOrRollBack(run, log)).rejects.toBe(error);
    expect([record.state.at, double.written, lines]).toEqual(['pulling', [], []]);
  });

  it('enters the phase recreate after the files are written, and can no longer be cancelled', async () => {
    const { run, record } = await begin({ moves: [moveOf('app')], planned });
    await record.update({ state: { at: 'writing' } });
    await run.execute({ kind: 'write-files', planned });
    expect([record.state, run.isReplacing]).toEqual([{ at: 'replacing' }, true]);
  });

  it('restores the files if a signal was received before', async () => {
    const { run, record, lines } = await begin({ moves: [moveOf('app')], planned, files: [file] });
    await record.update({ state: { at: 'writing' } });
    process.emit('SIGTERM');
    onTestFinished(() => void process.removeAllListeners('SIGTERM'));
    await expect(run.execute({ kind: 'write-files', planned })).rejects.toBeInstanceOf(Error);
    expect([record.state, run.isReplacing]).toEqual([{ at: 'writing' }, false]);
    expect(lines.join('\n')).toMatch(restored);
  });
});
