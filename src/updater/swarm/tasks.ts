import { type Json, object } from '../../engine/json.ts';
import { replicasOf, type SwarmNode, type SwarmService, type SwarmTask } from '../../engine/swarm.ts';
import { isActive, isDown, isEligible, keepsImage, type ServiceMove } from './specs.ts';

/** What has been seen of a service's new tasks so far: Swarm forgets tasks, and a look in between tells only the present. */
export interface Seen {
  /** Tasks that were there before the app was told to move: none of them is of this run. */
  readonly earlier: ReadonlySet<string>;
  /** The last state of each new task. */
  readonly states: Map<string, { state: string; node: string; at: number }>;
  /** New tasks that have failed, were rejected, or have ended of themselves. */
  readonly failed: Map<string, SwarmTask>;
  /** New tasks that have started, or whose end between two looks nobody saw: with any there is no way back (docs/contract.md 11.5). */
  readonly started: Set<string>;
  /** New tasks that the engine is about to start, or has started: their end tells. */
  readonly starting: Set<string>;
  /** New tasks that cannot start while a node is down: Swarm was told not to wait for them. */
  readonly passed: Set<string>;
  /** Slots, or nodes of a global service, whose new task has succeeded. */
  readonly done: Set<string>;
  /** The new tasks that run, and since when the same ones do. */
  steady: { ids: string; since: number } | null;
}

export const nothingSeen = (earlier: Iterable<string>, started = false): Seen => ({
  earlier: new Set(earlier),
  states: new Map(),
  failed: new Map(),
  // A run that was killed has seen one.
  started: new Set(started ? ['before'] : []),
  starting: new Set(),
  passed: new Set(),
  done: new Set(),
  steady: null,
});

/** The tasks of a service at one look. */
export interface TaskSummary {
  started: boolean;
  /** None has started for certain, and one may be about to. */
  isUnsure: boolean;
  /** That have not ended, by node. */
  oldAlive: readonly SwarmTask[];
  newAlive: readonly SwarmTask[];
  /** Of those, the ones that run and are to. */
  oldRunning: readonly SwarmTask[];
  newRunning: readonly SwarmTask[];
  /** The number of replicas during a rollback, chosen so that Swarm removes only new tasks. */
  held: number;
  /** How many it is to have. */
  needs: number;
  /** For how long the same ones have run. */
  steadyMs: number;
  /** How many of the new ones have failed so far. */
  failures: number;
  /** The same new ones have run for long enough, as many as there are to be, and no old one is alive. */
  isWell: boolean;
  /** The same of the old ones. */
  isBack: boolean;
  /** Old tasks on nodes that went down after the app's first new task. They cannot be stopped. */
  lost: readonly SwarmTask[];
  /** New tasks on nodes that went down. */
  lostNew: readonly SwarmTask[];
  /** New tasks that cannot start while a node is down. Swarm waits for them before it updates the other tasks. */
  stuck: readonly SwarmTask[];
  /** Swarm was not yet told to continue without one of them. */
  isStuck: boolean;
  /** How many new tasks no other node takes: they start when a node returns. */
  waiting: number;
}

/** So long the same tasks have to run. */
const steadyMs = 5_000;
/** A task that was seen before it started, and the next time stopped, has not started in between, if the looks lie no further apart. */
const betweenLooksMs = 400;

const ended = ['complete', 'failed', 'rejected', 'shutdown', 'orphaned', 'remove'];
const before = ['new', 'pending', 'assigned', 'accepted', 'preparing', 'ready'];

export const isAlive = ({ state }: SwarmTask): boolean => !ended.includes(state);
const runs = ({ state, wanted }: SwarmTask): boolean => state === 'running' && wanted === 'running';
/** The container could not even be started: nothing of the image has run. */
const couldNotStart = ({ state, error }: SwarmTask): boolean =>
  state === 'rejected' || (state === 'failed' && error.startsWith('starting container failed'));

/**
 * Notes what a look tells.
 * @param at its moment, by a clock that nobody sets
 */
export function note(
  seen: Seen,
  move: ServiceMove,
  { tasks, nodes }: { tasks: readonly SwarmTask[]; nodes: readonly SwarmNode[] },
  at: number,
  askedAt = at,
): void {
  const down = new Set(nodes.filter(isDown).map(({ id }) => id));
  const own = tasks.filter(({ id, image }) => image === move.image && !seen.earlier.has(id));
  for (const task of own) {
    const { id, state, node } = task;
    const last = seen.states.get(id);
    // The state of a task on an unreachable node is unknown.
    if (hasStarted(task, last, at) || (down.has(node) && isAlive(task))) seen.started.add(id);
    if (state === 'starting') seen.starting.add(id);
    else seen.starting.delete(id);
    // One that is unhealthy is stopped, and may end well; one that is taken away may end badly.
    const isEnd = ['failed', 'rejected', 'complete'].includes(state);
    if (isEnd && task.wanted !== 'remove') seen.failed.set(id, task);
    // The state in an answer may be as old as the request.
    seen.states.set(id, { state, node, at: askedAt });
  }
  const there = new Set(own.map(({ id }) => id));
  for (const [id, { state, node, at: lastAt }] of seen.states) {
    if (there.has(id)) continue;
    // It is forgotten, and its end was not seen: on a node anything may have been.
    const isLate = node !== '' && at - lastAt > betweenLooksMs;
    if (state === 'starting' || (before.includes(state) && isLate)) seen.started.add(id);
    seen.starting.delete(id);
    seen.states.delete(id);
  }
}

/** The engine says `starting` before it tries, and until the container is healthy: that alone decides nothing. */
function hasStarted(task: SwarmTask, last: { state: string; at: number } | undefined, at: number): boolean {
  const { state, node } = task;
  if (before.includes(state) || state === 'starting' || couldNotStart(task) || node === '') return false;
  if (state !== 'shutdown' && state !== 'remove') return true;
  // Its end was judged when it was first seen.
  if (last !== undefined && ended.includes(last.state)) return false;
  return last === undefined || !before.includes(last.state) || at - last.at > betweenLooksMs;
}

/** Of a global service Swarm has a task for each node, whatever its platform: on one of another it stays pending. */
const idleOf =
  (spec: Json, nodes: readonly SwarmNode[]) =>
  ({ state, node }: SwarmTask): boolean =>
    replicasOf(spec) === null &&
    state === 'pending' &&
    nodes.some((each) => each.id === node && !isEligible(spec, each));

/** What a look comes to, once it is noted. @param spec the service's present one */
export function summarise(
  seen: Seen,
  move: ServiceMove,
  { spec, tasks, nodes }: { spec: Json; tasks: readonly SwarmTask[]; nodes: readonly SwarmNode[] },
  at: number,
): TaskSummary {
  const isNew = ({ image }: SwarmTask) => image === move.image;
  const down = new Set(nodes.filter(isDown).map(({ id }) => id));
  const isLost = ({ node, wanted }: SwarmTask) => down.has(node) && wanted !== 'running';
  const replicas = replicasOf(spec);
  const eligible = nodes.filter((node) => isEligible(spec, node));
  const isIdle = idleOf(spec, nodes);
  const alive = tasks.filter((task) => isAlive(task) && !isIdle(task));
  const old = alive.filter((task) => !isNew(task));
  const lostNew = alive.filter((task) => isNew(task) && isLost(task));
  const all = alive.filter((task) => isNew(task) && !isLost(task));
  const canWait = seen.started.size > 0 && all.some(runs) ? alive.filter(isLost).length : 0;
  const waiting = all.filter(({ state }) => state === 'pending').slice(0, canWait);
  const stuck = [...lostNew, ...waiting];
  const fresh = all.filter((task) => !waiting.includes(task));
  const needs = (replicas ?? eligible.filter(isActive).length) - waiting.length;
  const isOnce = move.role === 'once';
  const done = tasks.filter((task) => isNew(task) && task.state === 'complete');
  for (const { slot, node } of done) seen.done.add(slot > 0 ? String(slot) : node);
  // A global service without nodes is not healthy, although no task is missing.
  const isNowhere = replicas === null && needs === 0 && eligible.length > 0;
  const hasStartedOne = seen.started.size > 0;
  const lost = hasStartedOne ? old.filter(isLost) : [];
  const [oldRunning, newRunning] = [old.filter(runs), fresh.filter(runs)];
  const ids = [...oldRunning, ...newRunning].map(({ id }) => id).sort();
  const key = `${needs} ${ids.join(' ')}`;
  if (seen.steady?.ids !== key) seen.steady = { ids: key, since: at };
  const sameFor = at - seen.steady.since;
  const isSteady = !isNowhere && ids.length === needs && (needs === 0 || sameFor >= steadyMs);
  return {
    started: hasStartedOne,
    isUnsure: !hasStartedOne && seen.starting.size > 0,
    oldAlive: old.filter((task) => !lost.includes(task)),
    newAlive: fresh,
    oldRunning,
    newRunning,
    held: replicas === null ? oldRunning.length : heldOf(alive, isNew),
    needs,
    steadyMs: sameFor,
    failures: [...seen.failed.values()].filter(({ state }) => !isOnce || state !== 'complete').length,
    isWell:
      old.length === lost.length &&
      (isOnce
        ? fresh.length === 0 && seen.done.size >= needs
        : isSteady && fresh.length === newRunning.length && newRunning.length === needs),
    // Of a node that is down nothing comes back.
    isBack: isOnce
      ? fresh.length === 0
      : isSteady &&
        (fresh.length === 0 || keepsImage(move)) &&
        [...old, ...fresh].every((task) => runs(task) || isLost(task)),
    lost,
    lostNew,
    stuck,
    isStuck: stuck.some(({ id }) => !seen.passed.has(id)),
    waiting: waiting.length,
  };
}

/**
 * Of slots that are too many Swarm keeps those that are the first of their node, then the second ones …; on one node, those that
 * run. So it keeps all old ones, or 0, where it would end an old one and make a new one's slot old: there it might boot
 * after the new one had, unseen, migrated.
 */
function heldOf(alive: readonly SwarmTask[], isNew: (task: SwarmTask) => boolean): number {
  const wanted = alive.filter((task) => task.wanted === 'running');
  const slots = [...Map.groupBy(wanted, ({ slot }) => slot).values()];
  const onNode = new Map<string, number>();
  const ranks = { old: [0], other: [Number.POSITIVE_INFINITY] };
  for (const slot of slots.toSorted((a, b) => Number(b.some(runs)) - Number(a.some(runs)))) {
    const { node } = slot[0] as SwarmTask;
    const count = (onNode.get(node) ?? 0) + 1;
    const isCounted = slot.length === 1 && node !== '';
    if (isCounted) onNode.set(node, count);
    const isOld = slot.some((task) => runs(task) && !isNew(task));
    ranks[isOld ? 'old' : 'other'].push(isCounted ? count : Number.POSITIVE_INFINITY);
  }
  const [last, first] = [Math.max(...ranks.old), Math.min(...ranks.other)];
  // Equal ones keep their order, the running ones first, where they are few: its sort is by insertion then.
  return last < first || (last === first && slots.length <= 12) ? ranks.old.length - 1 : 0;
}

/**
 * Whether tasks may have come and gone while nobody looked: Swarm has as many ended ones of a slot as it remembers.
 * @param history how many it remembers
 */
export function mayHaveForgotten(
  seen: Seen,
  move: ServiceMove,
  tasks: readonly SwarmTask[],
  history: number,
): boolean {
  const own = tasks.filter(
    (task) => task.image === move.image && !seen.earlier.has(task.id) && !isAlive(task),
  );
  const slots = Map.groupBy(own, ({ slot, node }) => (slot > 0 ? String(slot) : node));
  return history === 0 || [...slots.values()].some((each) => each.length >= history);
}

/** Whether a service ends when it is done, as a migration does: Swarm does not start it again, and it did not take longer. */
export function endsWhenDone(
  { id, spec }: SwarmService,
  tasks: readonly SwarmTask[],
  withinMs: number,
): boolean {
  const { Condition } = object(object(spec.TaskTemplate).RestartPolicy);
  const own = tasks.filter(({ service }) => service === id);
  const isDone = own.some(({ state, tookMs }) => state === 'complete' && tookMs <= withinMs);
  return ['none', 'on-failure'].includes(String(Condition)) && isDone && !own.some(isAlive);
}

/** Whether all tasks of a service that has the new image run, or have succeeded, by one look. */
export function isWell(move: ServiceMove, tasks: readonly SwarmTask[], nodes: readonly SwarmNode[]): boolean {
  const isIdle = idleOf(move.before, nodes);
  const own = tasks.filter((task) => task.service === move.id && isAlive(task) && !isIdle(task));
  const hasSucceeded = ({ service, image, state }: SwarmTask) =>
    service === move.id && image === move.image && state === 'complete';
  if (move.role === 'once') return own.length === 0 && tasks.some(hasSucceeded);
  const needs =
    replicasOf(move.before) ?? nodes.filter((node) => isActive(node) && isEligible(move.before, node)).length;
  return own.length === needs && own.every((task) => runs(task) && task.image === move.image);
}
