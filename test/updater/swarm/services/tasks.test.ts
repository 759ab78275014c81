import { describe, expect, it } from 'vitest';
import { type Json, toObject } from '../../../../src/engine/objects/json.ts';
import type { SwarmNode, SwarmTask } from '../../../../src/engine/swarm/swarm-service.ts';
import { buildServiceSpec } from '../../../../src/updater/swarm/services/specs.ts';
import {
  canHaveMissedTasks,
  createTaskObservations,
  isHealthyService,
  isRunOnceService,
  recordTaskObservations,
  summarizeTasks,
  type TaskObservations,
  type TaskSummary,
} from '../../../../src/updater/swarm/services/tasks.ts';
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

const move = moveOf('app');
const after = buildServiceSpec(move, 'after', { replicas: 2, forced: 0, held: 0, nodesWithout: [] });
const allNodes = nodes('n1', 'n2', 'n3');
const unstarted = 'starting container failed: error mounting "/x"';

/** The state of the new task `t1` at one poll; empty if Swarm has deleted the task. */
type Told = string | [word: string, changes: Partial<SwarmTask>];

interface Look {
  at?: number;
  nodes?: readonly SwarmNode[];
}

/** Polls one task every 100 ms, or at the specified time. */
function seenIn(
  looks: readonly (Told | [Told, Look])[],
  seen: TaskObservations = createTaskObservations([]),
): TaskObservations {
  const isLook = (each: Told | [Told, Look]): each is [Told, Look] =>
    Array.isArray(each) && typeof each[1] === 'object' && ('at' in each[1] || 'nodes' in each[1]);
  let now = 0;
  for (const each of looks) {
    const [told, { at = now + 100, nodes: there = allNodes }] = isLook(each) ? each : [each, {}];
    now = at;
    recordTaskObservations(seen, move, { tasks: told === '' ? [] : tasksOf(told), nodes: there }, at);
  }
  return seen;
}

const isStarted = (...looks: (Told | [Told, Look])[]): boolean => seenIn(looks).started.size > 0;

describe('recordObservation', () => {
  it.each<[state: string, started: boolean]>([
    ['assigned', false],
    // The engine reports this state before the start; only the next state shows the outcome.
    ['starting', false],
    ['running', true],
    ['complete', true],
    ['failed', true],
    ['rejected', false],
    ['shutdown', true],
    ['remove', true],
  ])('decides whether a task first observed as %s has started', (state, started) =>
    expect(isStarted(`new ${state}`)).toBe(started),
  );

  it.each<[what: string, looks: (Told | [Told, Look])[], started: boolean]>([
    [
      'its container could not be started',
      ['new ready', 'new starting', ['new failed', { error: unstarted }]],
      false,
    ],
    ['it ended by itself', ['new ready', ['new failed', { error: 'task: non-zero exit (1)' }]], true],
    ['taken away while it started', ['new starting', 'new shutdown'], true],
    ['forgotten while it started', ['new starting', ''], true],
    ['taken away right after it was ready', ['new ready', 'new shutdown'], false],
    ['400 ms lie between two looks', ['new ready', ['new shutdown', { at: 500 }]], false],
    ['forgotten between looks far apart', ['new ready', ['', { at: 501 }]], true],
    [
      'ready on a node that is down',
      ['new ready', ['new ready', { nodes: [nodeWith('n1', { state: 'down' })] }]],
      true,
    ],
    [
      'ready on one that nobody has heard of since an election',
      ['new ready', ['new ready', { nodes: [nodeWith('n1', { state: 'unknown' })] }]],
      false,
    ],
    ['it has another image', ['old running'], false],
  ])('decides whether a task has started from several polls: %s', (_, looks, started) =>
    expect(isStarted(...looks)).toBe(started),
  );

  it('does not count tasks that existed before', () => {
    expect(seenIn(['new running', 'new failed', ''], createTaskObservations(['t1'])).started.size).toBe(0);
  });

  it('counts a new task recorded by a previous run as started', () => {
    expect(seenIn([''], createTaskObservations([], true)).started.size).toBe(1);
  });

  it.each<[word: Told, failures: number]>([
    ['new failed', 1],
    ['new rejected', 1],
    // Unhealthy, and exited with 0 after SIGTERM.
    ['new complete', 1],
    ['new shutdown', 0],
    ['old failed', 0],
  ])('counts the failures of %s', (word, failures) => {
    expect(seenIn([word, word, '']).failed.size).toBe(failures);
  });

  it('does not count a task as a failure if Swarm was stopping it', () => {
    const told: Told = [
      'new failed',
      { desiredState: 'remove', error: 'error while removing network: unknown network' },
    ];
    expect(seenIn(['new running', ['new running', { desiredState: 'remove' }], told]).failed.size).toBe(0);
  });

  it('counts an orphaned task that was ready as started', () => {
    expect(isStarted('new ready', 'new orphaned')).toBe(true);
  });
});

describe('summariseTasks', () => {
  interface Given {
    tasks: readonly SwarmTask[];
    spec?: Json;
    nodes?: readonly SwarmNode[];
    seen?: TaskObservations;
    /** Time for which the same tasks have been running. */
    forMs?: number;
  }

  function summary({
    tasks,
    spec = after,
    nodes: there = allNodes,
    seen = createTaskObservations([]),
    forMs = 5_000,
  }: Given): TaskSummary {
    const look = { spec, tasks, nodes: there };
    recordTaskObservations(seen, move, look, 0);
    summarizeTasks(seen, move, look, 0);
    recordTaskObservations(seen, move, look, forMs);
    return summarizeTasks(seen, move, look, forMs);
  }
  const judged = (given: Given): string => {
    const { isHealthy: well, isRestored: isBack } = summary(given);
    return well ? (isBack ? 'both' : 'well') : isBack ? 'back' : 'neither';
  };

  const down = [nodeWith('n1', { state: 'down' }), ...nodes('n2', 'n3')];
  const gone: [string, Partial<SwarmTask>] = ['old running n1', { desiredState: 'shutdown' }];
  const scaled = (replicas: number) => specWith({ replicas });

  it.each<[situation: string, given: Given, judged: string]>([
    ['all new ones run', { tasks: tasksOf('new running', 'new running n2') }, 'well'],
    ['too few', { tasks: tasksOf('new running') }, 'neither'],
    [
      'one is about to stop',
      { tasks: tasksOf('new running', ['new running', { desiredState: 'shutdown' }]) },
      'neither',
    ],
    ['an old one is alive', { tasks: tasksOf('new running', 'new running', 'old running') }, 'neither'],
    [
      'the old ones have ended',
      { tasks: tasksOf('new running', 'new running', 'old shutdown', 'old failed', 'old orphaned') },
      'well',
    ],
    ['all old ones run', { tasks: tasksOf('old running', 'old running') }, 'back'],
    [
      'somebody has scaled it',
      { tasks: tasksOf('new running', 'new running', 'new running'), spec: scaled(3) },
      'well',
    ],
    [
      'an old one on a node that went down after the first new one',
      { tasks: tasksOf('new running n2', 'new running n3', gone), nodes: down },
      'well',
    ],
    [
      'an old one on a node that is unknown',
      {
        tasks: tasksOf('new running n2', 'new running n3', gone),
        nodes: [nodeWith('n1', { state: 'unknown' })],
      },
      'neither',
    ],
    [
      'old ones are back, but for one on a node that is down',
      { tasks: tasksOf('old running n2', 'old running n3', gone), nodes: down },
      'back',
    ],
  ])('reports the service as healthy, restored or neither: %s', (_, given, expected) =>
    expect(judged(given)).toBe(expected),
  );

  it('reports lost old tasks after a new task has started', () => {
    const tasks = tasksOf('new running n2', 'new running n3', gone);
    const { lost, oldAlive } = summary({ tasks, nodes: down });
    expect([lost.map(({ id }) => id), oldAlive]).toEqual([['t3'], []]);
    const early = summary({ tasks: tasksOf('new preparing n2', gone), nodes: down });
    expect([early.lost, early.oldAlive.map(({ id }) => id)]).toEqual([[], ['t2']]);
  });

  it('reports new tasks on a node that is down until Swarm no longer waits for them', () => {
    const tasks = tasksOf('new running n2', 'old running n3', [
      'new starting n1',
      { desiredState: 'shutdown' },
    ]);
    const seen = createTaskObservations([]);
    const { lostNew, isStuck } = summary({ tasks, nodes: down, seen });
    expect([lostNew.map(({ id }) => id), isStuck]).toEqual([['t3'], true]);
    seen.bypassed.add('t3');
    expect(summary({ tasks, nodes: down, seen }).isStuck).toBe(false);
  });

  it.each<[situation: string, tasks: SwarmTask[], waiting: number, well: boolean]>([
    ['on the node that went down', tasksOf('new running n2', 'new pending -', gone), 1, true],
    ['more than were there', tasksOf('new running n2', 'new pending -', 'new pending -', gone), 1, false],
    ['on no node', tasksOf('new running n2', 'new pending -'), 0, false],
    ['and none runs', tasksOf('new starting n2', 'new pending -', gone), 0, false],
  ])(
    'accepts a pending new task only in place of a task on a node that went down: %s',
    (_, tasks, waiting, well) => {
      const found = summary({ tasks, nodes: down, spec: scaled(tasks.length === 4 ? 3 : 2) });
      expect([found.waitingCount, found.isHealthy]).toEqual([waiting, well]);
      // Swarm also waits for this task, and needs a write to continue.
      expect([found.stuck.length, found.isStuck]).toEqual([waiting, waiting > 0]);
    },
  );

  it.each<[situation: string, tasks: SwarmTask[], well: boolean, failures: number]>([
    ['it runs', tasksOf('new running'), false, 0],
    ['it has succeeded', tasksOf('new complete'), true, 0],
    ['it failed, and runs again', tasksOf('new failed', ['new running', { slot: 1 }]), false, 1],
    ['it failed, then succeeded', tasksOf('new failed', ['new complete', { slot: 1 }]), true, 1],
    ['the old one had succeeded', tasksOf('old complete'), false, 0],
  ])('evaluates a service that runs once: %s', (_, tasks, well, failures) => {
    const once = moveOf('app', { role: 'once' });
    const seen = createTaskObservations([]);
    const look = { spec: scaled(1), tasks, nodes: allNodes };
    recordTaskObservations(seen, once, look, 0);
    const found = summarizeTasks(seen, once, look, 0);
    expect([found.isHealthy, found.failures]).toEqual([well, failures]);
  });

  it('needs one task of a global service per eligible node', () => {
    const needs = (constraints: string[], ...there: SwarmNode[]) =>
      summary({ tasks: [], spec: specWith({ replicas: null, constraints }), nodes: there }).requiredCount;
    expect(needs([], ...allNodes)).toBe(3);
    expect(needs([], nodeWith('n1'), nodeWith('n2', { availability: 'drain' }))).toBe(1);
    expect(needs([], nodeWith('n1'), nodeWith('n2', { availability: 'pause' }))).toBe(1);
    expect(needs([], nodeWith('n1'), nodeWith('n2', { state: 'down' }))).toBe(1);
    expect(needs(['node.role==manager'], nodeWith('n1'), nodeWith('n2', { role: 'manager' }))).toBe(1);
  });

  it('measures the time since the same tasks have been running', () => {
    const seen = createTaskObservations([]);
    const look = (at: number, ...words: string[]) =>
      summarizeTasks(seen, move, { spec: after, tasks: tasksOf(...words), nodes: allNodes }, at);
    expect(look(0, 'new running', 'new running').isHealthy).toBe(false);
    expect(look(4_900, 'new running', 'new starting').steadyMs).toBe(0);
    expect(look(5_000, 'new running', 'new running').steadyMs).toBe(0);
    expect(look(9_999, 'new running', 'new running').isHealthy).toBe(false);
    expect(look(10_000, 'new running', 'new running').isHealthy).toBe(true);
  });

  it('does not report a global service without nodes as healthy', () => {
    const seen = seenIn(['new running']);
    const spec = specWith({ replicas: null });
    expect(
      judged({
        tasks: tasksOf(['new running', { desiredState: 'shutdown' }]),
        spec,
        seen,
        nodes: [nodeWith('n1', { state: 'down' })],
      }),
    ).toBe('neither');
  });

  it('reports a service that keeps its image as restored if its tasks are running', () => {
    const same = moveOf('worker', { before: specWith({ name: 'svc_worker', image: newImage }) });
    const tasks = tasksOf('new running', 'new running');
    const seen = createTaskObservations(tasks.map(({ id }) => id));
    const look = { spec: same.before, tasks, nodes: allNodes };
    summarizeTasks(seen, same, look, 0);
    expect(summarizeTasks(seen, same, look, 5_000).isRestored).toBe(true);
  });
});

describe('mayHaveMissedTasks', () => {
  const forgotten = (history: number, tasks: readonly SwarmTask[], earlier: string[] = []) =>
    canHaveMissedTasks(createTaskObservations(earlier), move, tasks, history);
  const ended = (...slots: number[]) =>
    slots.flatMap((slot, at) => tasksOf(['new rejected', { id: `e${at}`, slot, node: 'n1' }]));

  it.each<[situation: string, history: number, tasks: SwarmTask[], forgotten: boolean]>([
    ['Swarm remembers none', 0, [], true],
    ['none has ended', 5, tasksOf('new preparing'), false],
    ['fewer than it remembers', 2, ended(1), false],
    ['as many', 2, ended(1, 1), true],
    ['as many in two slots', 2, ended(1, 2), false],
  ])('compares ended tasks with the task history limit: %s', (_, history, tasks, expected) =>
    expect(forgotten(history, tasks)).toBe(expected),
  );

  it('does not count tasks of a previous run', () => {
    expect(forgotten(2, ended(1, 1), ['e0'])).toBe(false);
  });
});

describe('isRunOnceService', () => {
  const policy = (Condition: string) => {
    const spec = specWith();
    return serviceWith({
      ...spec,
      TaskTemplate: { ...toObject(spec.TaskTemplate), RestartPolicy: { Condition } },
    });
  };
  it.each<[situation: string, condition: string, tasks: SwarmTask[], ends: boolean]>([
    ['it has ended, and is not started again', 'none', tasksOf('old complete'), true],
    ['it would be started again after a failure', 'on-failure', tasksOf('old failed', 'old complete'), true],
    ['it is started again', 'any', tasksOf('old complete'), false],
    ['it runs', 'on-failure', tasksOf('old complete', 'old running'), false],
    ['it has only failed', 'none', tasksOf('old failed'), false],
    ['it had run for long', 'on-failure', tasksOf(['old complete', { tookMs: 300_001 }]), false],
    ['another service has ended', 'none', tasksOf(['old complete', { service: 'worker-id' }]), false],
  ])('evaluates tasks and restart policy: %s', (_, condition, tasks, ends) =>
    expect(isRunOnceService(policy(condition), tasks, 300_000)).toBe(ends),
  );
});

describe('isHealthyService', () => {
  it('requires that a service that runs once has succeeded', () => {
    const once = moveOf('app', { role: 'once', before: specWith({ image: newImage }) });
    const well = (...words: TaskWord[]) => isHealthyService(once, tasksOf(...words), allNodes);
    expect([well('new complete'), well('new failed'), well('new complete', 'new running')]).toEqual([
      ...[true, false, false],
    ]);
  });

  const now = (image: string, ...words: TaskWord[]) =>
    isHealthyService(moveOf('app', { before: specWith({ image }) }), tasksOf(...words), allNodes);
  it.each<[situation: string, words: TaskWord[], well: boolean]>([
    ['all run', ['new running', 'new running'], true],
    ['history does not count', ['new running', 'new running', 'new failed', 'old shutdown'], true],
    ["another service's", ['new running', ['new running', { service: 'worker-id' }]], false],
  ])('evaluates the tasks: %s', (_, words, well) => expect(now(newImage, ...words)).toBe(well));
  it('requires a running task on each node for a global service', () => {
    const global = moveOf('app', { before: specWith({ image: newImage, replicas: null }) });
    expect(isHealthyService(global, tasksOf('new running n1', 'new running n2'), nodes('n1', 'n2'))).toBe(
      true,
    );
    expect(isHealthyService(global, tasksOf('new running n1'), nodes('n1', 'n2'))).toBe(false);
  });
  it('ignores pending tasks on a node of another platform', () => {
    const before = specWith({ image: newImage, replicas: null, platforms: [{ Architecture: 'amd64' }] });
    const global = moveOf('app', { before });
    const there = [...nodes('n1'), nodeWith('n2', { arch: 'aarch64' })];
    expect(isHealthyService(global, tasksOf('new running n1', 'new pending n2'), there)).toBe(true);
    expect(isHealthyService(global, tasksOf('new pending n1', 'new pending n2'), there)).toBe(false);
    const told = { spec: before, tasks: tasksOf('new running n1', 'new pending n2'), nodes: there };
    const seen = createTaskObservations([]);
    summarizeTasks(seen, global, told, 0);
    expect(summarizeTasks(seen, global, told, 6_000).isHealthy).toBe(true);
  });
});
