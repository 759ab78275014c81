import type { Json } from '../../engine/json.ts';
import { replicasOf, type SwarmNode, type SwarmTask } from '../../engine/swarm.ts';
import { isActive, isEligible, type ServiceMove } from './specs.ts';

/** What has been seen of a service's new tasks so far: Swarm forgets tasks, and a look in between tells only the present. */
export interface Seen {
  /** Tasks that were there before the app was told to move: none of them is of this run. */
  readonly earlier: ReadonlySet<string>;
  /** The last state of each new task. */
  readonly states: Map<string, { state: string; node: string; at: number }>;
  /** New tasks that have failed, were rejected, or have ended of themselves. */
  readonly failed: Map<string, SwarmTask>;
  /** A new task has started: there is no way back (docs/contract.md 11.5). */
  started: boolean;
  /** The new tasks that run, and since when the same ones do. */
  steady: { ids: string; since: number } | null;
}

export const nothingSeen = (earlier: Iterable<string>, started = false): Seen => ({
  earlier: new Set(earlier),
  states: new Map(),
  failed: new Map(),
  started,
  steady: null,
});

/** The tasks of a service at one look. */
export interface TaskSummary {
  started: boolean;
  /** That have not ended, by node. */
  oldAlive: readonly SwarmTask[];
  newAlive: readonly SwarmTask[];
  /** Of those, the ones that run and are to. */
  oldRunning: readonly SwarmTask[];
  newRunning: readonly SwarmTask[];
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
  /** Old tasks on nodes that went down after the app's first new task: nobody can stop them. */
  lost: readonly SwarmTask[];
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

/** Notes what a look tells; `at` is its moment by a clock that nobody sets. */
export function note(seen: Seen, move: ServiceMove, tasks: readonly SwarmTask[], at: number): void {
  const own = tasks.filter(({ id, image }) => image === move.image && !seen.earlier.has(id));
  for (const task of own) {
    const last = seen.states.get(task.id);
    if (hasStarted(task, last, at)) seen.started = true;
    // One that is unhealthy is stopped, and may end well.
    if (['failed', 'rejected', 'complete'].includes(task.state)) seen.failed.set(task.id, task);
    seen.states.set(task.id, { state: task.state, node: task.node, at });
  }
  const there = new Set(own.map(({ id }) => id));
  for (const [id, { state, node, at: lastAt }] of seen.states) {
    if (there.has(id)) continue;
    // It is forgotten: what became of it between two looks that lie far apart, on a node, nobody tells.
    if (before.includes(state) && node !== '' && at - lastAt > betweenLooksMs) seen.started = true;
    seen.states.delete(id);
  }
}

function hasStarted(task: SwarmTask, last: { state: string; at: number } | undefined, at: number): boolean {
  if (before.includes(task.state) || couldNotStart(task) || task.node === '') return false;
  if (task.state !== 'shutdown' && task.state !== 'remove' && task.state !== 'orphaned') return true;
  return last === undefined || !before.includes(last.state) || at - last.at > betweenLooksMs;
}

/** What a look comes to, once it is noted. @param spec the service's present one */
export function summarise(
  seen: Seen,
  move: ServiceMove,
  { spec, tasks, nodes }: { spec: Json; tasks: readonly SwarmTask[]; nodes: readonly SwarmNode[] },
  at: number,
): TaskSummary {
  const isNew = ({ image }: SwarmTask) => image === move.image;
  const stateOf = new Map(nodes.map(({ id, state }) => [id, state] as const));
  const isLost = ({ node, wanted }: SwarmTask) =>
    node !== '' && stateOf.get(node) !== 'ready' && stateOf.get(node) !== 'unknown' && wanted !== 'running';
  const alive = tasks.filter(isAlive);
  const old = alive.filter((task) => !isNew(task));
  const fresh = alive.filter((task) => isNew(task) && !isLost(task));
  const needs = replicasOf(spec) ?? nodes.filter((node) => isActive(node) && isEligible(spec, node)).length;
  const lost = seen.started ? old.filter(isLost) : [];
  const [oldRunning, newRunning] = [old.filter(runs), fresh.filter(runs)];
  const ids = [...oldRunning, ...newRunning].map(({ id }) => id).sort();
  const key = `${needs} ${ids.join(' ')}`;
  if (seen.steady?.ids !== key) seen.steady = { ids: key, since: at };
  const sameFor = at - seen.steady.since;
  const isSteady = ids.length === needs && (needs === 0 || sameFor >= steadyMs);
  return {
    started: seen.started,
    oldAlive: old.filter((task) => !lost.includes(task)),
    newAlive: fresh,
    oldRunning,
    newRunning,
    needs,
    steadyMs: sameFor,
    failures: seen.failed.size,
    isWell:
      isSteady &&
      old.length === lost.length &&
      fresh.length === newRunning.length &&
      newRunning.length === needs,
    isBack: isSteady && fresh.length === 0 && old.length === oldRunning.length,
    lost,
  };
}

/** Whether all tasks of a service that has the new image run, by one look. */
export function isWell(move: ServiceMove, tasks: readonly SwarmTask[], nodes: readonly SwarmNode[]): boolean {
  const own = tasks.filter((task) => task.service === move.id && isAlive(task));
  const needs =
    replicasOf(move.before) ?? nodes.filter((node) => isActive(node) && isEligible(move.before, node)).length;
  return own.length === needs && own.every((task) => runs(task) && task.image === move.image);
}
