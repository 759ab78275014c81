import { type Json, toObject } from '../../../engine/objects/json.ts';
import {
  replicaCountOf,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
} from '../../../engine/swarm/swarm-service.ts';
import {
  hasNewImageBeforeRun,
  isActiveNode,
  isEligibleNode,
  isUnreachableNode,
  type StackServiceUpdate,
} from './specs.ts';

/** Observations of new tasks from all polls. One poll is not enough, because Swarm deletes ended tasks. */
export interface TaskObservations extends ReturnType<typeof createTaskObservations> {}

export const createTaskObservations = (previous: Iterable<string>, started = false) => ({
  /** Ids of the tasks that existed before the update. */
  earlier: new Set(previous),
  /** Last state of each new task, keyed by task id. `at` is the time of the request in ms. */
  states: new Map<string, { state: string; node: string; at: number }>(),
  /** New tasks that failed, were rejected, or exited on their own, keyed by task id. */
  failed: new Map<string, SwarmTask>(),
  /**
   * Ids of new tasks that started, perhaps unseen between two polls. A single entry rules out a rollback
   * (docs/contract.md 11.5). `before` stands for a new task whose start the killed run recorded.
   */
  started: new Set(started ? ['before'] : []),
  /** Ids of new tasks in the state `starting`. Only a later state shows whether their container has started. */
  starting: new Set<string>(),
  /**
   * Ids of new tasks that cannot start while a node is down. After a write by this run, Swarm no longer waits for them.
   */
  bypassed: new Set<string>(),
  /** Slots (for a global service: node ids) whose new task has succeeded. */
  done: new Set<string>(),
  /** `ids` identifies the running tasks and their required number; `since` is the time of the last change in ms. */
  steady: null as { ids: string; since: number } | null,
});

export interface TaskSummary extends ReturnType<typeof summarizeTasks> {}

/** Time in ms for which the same tasks must run before they count as healthy. */
const steadyMs = 5_000;
/**
 * Maximum gap between two polls in ms. If it is longer, a task may start and stop unseen. A new task that has been shut
 * down then counts as started.
 */
const maxUnseenTaskMs = 400;

const endedStates = ['complete', 'failed', 'rejected', 'shutdown', 'orphaned', 'remove'];
const unstartedStates = ['new', 'pending', 'assigned', 'accepted', 'preparing', 'ready'];

export const isTaskAlive = ({ state }: SwarmTask): boolean => !endedStates.includes(state);
const isRunningTask = ({ state, desiredState: wanted }: SwarmTask): boolean =>
  state === 'running' && wanted === 'running';
/** True if the container of a task could not start, so that no process of the image has run. */
const couldNotStart = ({ state, error }: SwarmTask): boolean =>
  state === 'rejected' || (state === 'failed' && error.startsWith('starting container failed'));

/**
 * @param at - time of the responses in ms, from a monotonic clock
 * @param askedAt - time of the requests in ms
 */
export function recordTaskObservations(
  seen: TaskObservations,
  move: StackServiceUpdate,
  { tasks, nodes }: { tasks: readonly SwarmTask[]; nodes: readonly SwarmNode[] },
  at: number,
  askedAt = at,
): void {
  const down = new Set(nodes.filter(isUnreachableNode).map(({ id }) => id));
  const own = tasks.filter(({ id, image }) => image === move.image && !seen.earlier.has(id));
  for (const task of own) {
    const { id, state, node } = task;
    const last = seen.states.get(id);
    // The state of a task on an unreachable node is unknown, so the task counts as started.
    if (hasStarted(task, last, at) || (down.has(node) && isTaskAlive(task))) seen.started.add(id);
    if (state === 'starting') seen.starting.add(id);
    else seen.starting.delete(id);
    // `complete` also counts as a failure: an unhealthy task is stopped and may exit with 0. A task that Swarm removes
    // does not count, because it was stopped on purpose.
    const isEnd = ['failed', 'rejected', 'complete'].includes(state);
    if (isEnd && task.desiredState !== 'remove') seen.failed.set(id, task);
    // The reported state may be as old as the request.
    seen.states.set(id, { state, node, at: askedAt });
  }
  const there = new Set(own.map(({ id }) => id));
  for (const [id, { state, node, at: lastAt }] of seen.states) {
    if (there.has(id)) continue;
    // Swarm deleted the task before its end was seen. If it was assigned to a node, the task may have started.
    const isLate = node !== '' && at - lastAt > maxUnseenTaskMs;
    if (state === 'starting' || (unstartedStates.includes(state) && isLate)) seen.started.add(id);
    seen.starting.delete(id);
    seen.states.delete(id);
  }
}

/**
 * Whether a task has started. The state `starting` does not prove this: the engine reports it before the container
 * starts, and until the container is healthy.
 */
function hasStarted(task: SwarmTask, last: { state: string; at: number } | undefined, at: number): boolean {
  const { state, node } = task;
  if (unstartedStates.includes(state) || state === 'starting' || couldNotStart(task) || node === '')
    return false;
  if (state !== 'shutdown' && state !== 'remove') return true;
  // An end seen in an earlier poll has already been evaluated.
  if (last !== undefined && endedStates.includes(last.state)) return false;
  return last === undefined || !unstartedStates.includes(last.state) || at - last.at > maxUnseenTaskMs;
}

/**
 * Recognizes tasks that stay pending. For a global service, Swarm creates tasks even on nodes with the wrong platform.
 */
const createIdleTaskFilter =
  (spec: Json, nodes: readonly SwarmNode[]) =>
  ({ state, node }: SwarmTask): boolean =>
    replicaCountOf(spec) === null &&
    state === 'pending' &&
    nodes.some((each) => each.id === node && !isEligibleNode(spec, each));

/**
 * Must be called after `recordTaskObservations` has recorded the same poll.
 * @param spec - spec that the service must have when the run is complete
 */
export function summarizeTasks(
  seen: TaskObservations,
  move: StackServiceUpdate,
  { spec, tasks, nodes }: { spec: Json; tasks: readonly SwarmTask[]; nodes: readonly SwarmNode[] },
  at: number,
) {
  const isNew = ({ image }: SwarmTask) => image === move.image;
  const down = new Set(nodes.filter(isUnreachableNode).map(({ id }) => id));
  const isLost = ({ node, desiredState: wanted }: SwarmTask) => down.has(node) && wanted !== 'running';
  const replicas = replicaCountOf(spec);
  const eligible = nodes.filter((node) => isEligibleNode(spec, node));
  const isIdle = createIdleTaskFilter(spec, nodes);
  const alive = tasks.filter((task) => isTaskAlive(task) && !isIdle(task));
  const old = alive.filter((task) => !isNew(task));
  const lostNew = alive.filter((task) => isNew(task) && isLost(task));
  const all = alive.filter((task) => isNew(task) && !isLost(task));
  const canWait = seen.started.size > 0 && all.some(isRunningTask) ? alive.filter(isLost).length : 0;
  const waiting = all.filter(({ state }) => state === 'pending').slice(0, canWait);
  const stuck = [...lostNew, ...waiting];
  const fresh = all.filter((task) => !waiting.includes(task));
  const needs = (replicas ?? eligible.filter(isActiveNode).length) - waiting.length;
  const isOnce = move.role === 'once';
  const done = tasks.filter((task) => isNew(task) && task.state === 'complete');
  for (const { slot, node } of done) seen.done.add(slot > 0 ? String(slot) : node);
  // A global service without active nodes is not healthy, although no task is missing.
  const isNowhere = replicas === null && needs === 0 && eligible.length > 0;
  const hasStartedOne = seen.started.size > 0;
  const lost = hasStartedOne ? old.filter(isLost) : [];
  const [oldRunning, newRunning] = [old.filter(isRunningTask), fresh.filter(isRunningTask)];
  const ids = [...oldRunning, ...newRunning].map(({ id }) => id).sort();
  const key = `${needs} ${ids.join(' ')}`;
  if (seen.steady?.ids !== key) seen.steady = { ids: key, since: at };
  const sameFor = at - seen.steady.since;
  const isSteady = !isNowhere && ids.length === needs && (needs === 0 || sameFor >= steadyMs);
  return {
    hasStarted: hasStartedOne,
    /** Whether no task is known to have started, but at least one is `starting`. */
    isStartUncertain: !hasStartedOne && seen.starting.size > 0,
    /** Old tasks that have not ended, except those in `lost`. */
    oldAlive: old.filter((task) => !lost.includes(task)),
    newAlive: fresh,
    /** Old tasks whose state and desired state are `running`. */
    oldRunning,
    newRunning,
    /** Number of replicas with which Swarm removes only new tasks during a rollback; 0 if there is no such number. */
    retainableReplicas: replicas === null ? oldRunning.length : countRetainableReplicas(alive, isNew),
    /** Number of tasks that must be running now, excluding those counted in `waitingCount`. */
    requiredCount: needs,
    /** Time in ms for which the running tasks have not changed. */
    steadyMs: sameFor,
    /** Number of new tasks that have failed so far. */
    failures: [...seen.failed.values()].filter(({ state }) => !isOnce || state !== 'complete').length,
    /**
     * Whether all required new tasks have run unchanged for 5 s, and all old tasks have ended or are lost. For a service
     * that runs once: whether its tasks have succeeded.
     */
    isHealthy:
      old.length === lost.length &&
      (isOnce
        ? fresh.length === 0 && seen.done.size >= needs
        : isSteady && fresh.length === newRunning.length && newRunning.length === needs),
    /**
     * Whether the old tasks have run unchanged for 5 s and no new task is left. Lost tasks are ignored, because tasks on a
     * node that is down cannot be restored.
     */
    isRestored: isOnce
      ? fresh.length === 0
      : isSteady &&
        (fresh.length === 0 || hasNewImageBeforeRun(move)) &&
        [...old, ...fresh].every((task) => isRunningTask(task) || isLost(task)),
    /** Old tasks on nodes that are down, where no task can be stopped. Empty before a new task has started. */
    lost,
    /** New tasks on nodes that went down. */
    lostNew,
    /** New tasks that cannot start while a node is down. Swarm waits for them before it updates the other tasks. */
    stuck,
    /** Whether Swarm is still waiting for a stuck task, because no write has made it continue yet. */
    isStuck: stuck.some(({ id }) => !seen.bypassed.has(id)),
    /** Number of new tasks that cannot start until a node returns. */
    waitingCount: waiting.length,
  };
}

/**
 * Returns the number of replicas with which Swarm retains exactly the old tasks; 0 if there is no such number. With a
 * wrong number, Swarm could start an old task in a new task's slot, on migrated data.
 */
function countRetainableReplicas(alive: readonly SwarmTask[], isNew: (task: SwarmTask) => boolean): number {
  // When scaling down, Swarm retains each node's first slot, then the second, and so on. Running slots come first.
  const wanted = alive.filter((task) => task.desiredState === 'running');
  const slots = [...Map.groupBy(wanted, ({ slot }) => slot).values()];
  const onNode = new Map<string, number>();
  const ranks = { old: [0], other: [Number.POSITIVE_INFINITY] };
  for (const slot of slots.toSorted(
    (a, b) => Number(b.some(isRunningTask)) - Number(a.some(isRunningTask)),
  )) {
    const { node } = slot[0] as SwarmTask;
    const count = (onNode.get(node) ?? 0) + 1;
    const isCounted = slot.length === 1 && node !== '';
    if (isCounted) onNode.set(node, count);
    const isOld = slot.some((task) => isRunningTask(task) && !isNew(task));
    ranks[isOld ? 'old' : 'other'].push(isCounted ? count : Number.POSITIVE_INFINITY);
  }
  const [last, first] = [Math.max(...ranks.old), Math.min(...ranks.other)];
  // Swarm sorts up to 12 slots with a stable insertion sort. Among slots of equal rank, running ones stay first.
  return last < first || (last === first && slots.length <= 12) ? ranks.old.length - 1 : 0;
}

/**
 * Whether Swarm may have deleted new tasks unseen. A slot with as many ended new tasks as Swarm retains may have had
 * more.
 * @param history - number of ended tasks that Swarm retains per slot
 */
export function canHaveMissedTasks(
  seen: TaskObservations,
  move: StackServiceUpdate,
  tasks: readonly SwarmTask[],
  history: number,
): boolean {
  const own = tasks.filter(
    (task) => task.image === move.image && !seen.earlier.has(task.id) && !isTaskAlive(task),
  );
  const slots = Map.groupBy(own, ({ slot, node }) => (slot > 0 ? String(slot) : node));
  return history === 0 || [...slots.values()].some((each) => each.length >= history);
}

/**
 * Recognizes a service that exits when done, such as a migration. Swarm does not restart the service after success, and
 * a task has succeeded within the time limit.
 */
export function isRunOnceService(
  { id, spec }: SwarmService,
  tasks: readonly SwarmTask[],
  withinMs: number,
): boolean {
  const { Condition } = toObject(toObject(spec.TaskTemplate).RestartPolicy);
  const own = tasks.filter(({ service }) => service === id);
  const isDone = own.some(({ state, tookMs }) => state === 'complete' && tookMs <= withinMs);
  return ['none', 'on-failure'].includes(String(Condition)) && isDone && !own.some(isTaskAlive);
}

/**
 * Evaluates a single poll. All tasks must run with the new image; if the service runs once, a task must have succeeded
 * with it.
 */
export function isHealthyService(
  move: StackServiceUpdate,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): boolean {
  const isIdle = createIdleTaskFilter(move.before, nodes);
  const own = tasks.filter((task) => task.service === move.id && isTaskAlive(task) && !isIdle(task));
  const hasSucceeded = ({ service, image, state }: SwarmTask) =>
    service === move.id && image === move.image && state === 'complete';
  if (move.role === 'once') return own.length === 0 && tasks.some(hasSucceeded);
  const needs =
    replicaCountOf(move.before) ??
    nodes.filter((node) => isActiveNode(node) && isEligibleNode(move.before, node)).length;
  return own.length === needs && own.every((task) => isRunningTask(task) && task.image === move.image);
}
