import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Json } from '../../../engine/objects/json.ts';
import {
  listSwarmNodes,
  listSwarmServices,
  listSwarmTasks,
  type SwarmManagerInfo,
} from '../../../engine/swarm/swarm-requests.ts';
import {
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
  serviceImageOf,
} from '../../../engine/swarm/swarm-service.ts';
import type { Log } from '../../run/log/run-log.ts';
import type { EngineContext } from '../../run/run-context.ts';
import { rollbackOf, type StoredRunState, unfinishedStateOf } from '../../run/state/run-state.ts';
import type { StackRecord } from '../record/stack-record.ts';
import {
  buildServiceSpec,
  classifySpecImage,
  hasNewImageBeforeRun,
  isEligibleNode,
  isEquivalentJson,
  isStoppedSpec,
  type MutableSpecValues,
  mutableSpecValuesOf,
  type SpecForm,
  type StackServiceUpdate,
} from '../services/specs.ts';
import {
  canHaveMissedTasks,
  createTaskObservations,
  isTaskAlive,
  recordTaskObservations,
  summarizeTasks,
  type TaskObservations,
} from '../services/tasks.ts';
import type { ServiceView, StackView } from './plan-stack-step.ts';

const nodesEveryMs = 1_000;
const forms: readonly SpecForm[] = ['before', 'after', 'moving', 'nudged', 'stopped', 'held'];

interface FollowedService {
  move: StackServiceUpdate;
  seen: TaskObservations;
  amounts: MutableSpecValues;
  /**
   * Counter of forced updates in specs with the old image. Another number would make Swarm replace the old tasks again.
   */
  forcedOld: number;
  /** Version index of the service; null before the first poll. Swarm's own writes change the index, too. */
  version: number | null;
  /** Last known spec, either written by this run or found after another user's change. */
  known: Json | null;
  /**
   * Spec that this run last tried to write. If a leader election lost the response, the write may still have succeeded.
   */
  tried: Json | null;
}

interface WatchedStack {
  context: EngineContext;
  /** `taskHistoryLimit` is the number of ended tasks that Swarm retains per slot. */
  place: Pick<SwarmManagerInfo, 'taskHistoryLimit'>;
}

/** Polls the updated services, their tasks and the nodes. */
export class StackWatch {
  readonly followed: readonly FollowedService[];
  nodes: readonly SwarmNode[] = [];
  /** Result of the last poll. */
  views: readonly ServiceView[] = [];
  /** The new task that failed most recently. Its log shows the reason. */
  failure: SwarmTask | null = null;
  readonly #stack: WatchedStack;
  readonly #record: StackRecord;
  readonly #earlier: StoredRunState | null;
  readonly #told = new Map<string, string>();
  #nodesAt = Number.NEGATIVE_INFINITY;
  #isFirstLook = true;
  #hasBeenWell = false;

  /**
   * @param previous - state in which the resumed run was killed; null for a new run. A resumed run knows only the tasks
   * that Swarm still retains.
   */
  constructor(stack: WatchedStack, record: StackRecord, previous: StoredRunState | null) {
    this.#stack = stack;
    this.#record = record;
    this.#earlier = previous;
    const { moves, tasks } = record.data;
    this.followed = moves.map((move) => ({
      move,
      seen: createTaskObservations(tasks, move.role === 'app' && record.hasStarted),
      amounts: mutableSpecValuesOf(move.wanted),
      version: null,
      known: null,
      tried: null,
      forcedOld: mutableSpecValuesOf(move.before).forced,
    }));
  }

  get hasStarted(): boolean {
    return this.followed.some(({ seen }) => seen.started.size > 0);
  }

  /** Makes all `starting` tasks count as started. Returns whether they are the first tasks that have started. */
  countStarting(): boolean {
    const had = this.hasStarted;
    for (const { seen } of this.followed) for (const id of seen.starting) seen.started.add(id);
    return this.hasStarted !== had;
  }

  get isRollingBack(): boolean {
    return rollbackOf(this.#record.state) !== null;
  }

  /** Right after a leader election, the managers may report outdated states of nodes and tasks. */
  get isOutdated(): boolean {
    return this.nodes.some(({ state }) => state === 'unknown');
  }

  nodeName(id: string): string {
    return this.nodes.find((node) => node.id === id)?.name ?? id;
  }

  /** Remembers the latest text about a subject, and returns whether the text differs from the previous one. */
  isNews(of: string, what: string): boolean {
    const isNews = this.#told.get(of) !== what;
    this.#told.set(of, what);
    return isNews;
  }

  specOf({ move, amounts, forcedOld }: FollowedService, form: SpecForm): Json {
    const isNew = form === 'moving' || form === 'nudged' || form === 'after';
    return buildServiceSpec(move, form, isNew ? amounts : { ...amounts, forced: forcedOld });
  }

  /** Polls the stack once. @throws UpdateError containers-changed if a service was removed */
  async poll(): Promise<StackView> {
    const engine = this.#stack.context.engine.uncancellable();
    const ids = this.followed.map(({ move }) => move.id);
    const askedAt = performance.now();
    const isDue = askedAt - this.#nodesAt > nodesEveryMs;
    const [found, tasks, nodes] = await Promise.all([
      listSwarmServices(engine, { id: ids }),
      listSwarmTasks(engine, ids),
      isDue ? listSwarmNodes(engine) : this.nodes,
    ]);
    if (isDue) this.#nodesAt = performance.now();
    this.nodes = nodes;
    const at = performance.now();
    const views = this.followed.map((each) => {
      const service = found.find(({ id }) => id === each.move.id);
      if (service === undefined)
        throw new UpdateError(
          'containers-changed',
          `the service ${each.move.name} was removed during the update`,
        );
      return this.#viewOf(each, service, tasks, { at, askedAt });
    });
    this.views = views;
    const [app, ...workers] = views as [ServiceView, ...ServiceView[]];
    // An updated worker shows that the app was healthy, because the killed run updated workers only after that.
    const wasWell =
      this.#isFirstLook &&
      this.#earlier !== null &&
      workers.some(({ move, side, isStopped: is }) => move.role !== 'once' && side === 'new' && !is);
    this.#hasBeenWell ||= app.side === 'new' && (app.tasks.isHealthy || wasWell);
    this.#tellTasks(tasks);
    this.#isFirstLook = false;
    const { stopFirst } = this.#record.data;
    return { app, workers, stopFirst, hasBeenHealthy: this.#hasBeenWell };
  }

  /** Logs tasks whose state has changed since the last poll. The first poll logs nothing. */
  #tellTasks(tasks: readonly SwarmTask[]): void {
    for (const task of tasks) {
      const move = this.followed.find((each) => each.move.id === task.service)?.move;
      if (!this.isNews(task.id, `${task.state} ${task.error}`) || !move || this.#isFirstLook) continue;
      if (hasFailed(task) && task.image === move.image) this.failure = task;
      logTaskState(
        this.#stack.context.log,
        task,
        move,
        task.node === '' ? '' : ` on ${this.nodeName(task.node)}`,
      );
    }
  }

  #viewOf(
    each: FollowedService,
    service: SwarmService,
    all: readonly SwarmTask[],
    { at, askedAt }: { at: number; askedAt: number },
  ): ServiceView {
    const { move, seen } = each;
    const { spec } = service;
    const { nodes } = this;
    const tasks = all.filter((task) => task.service === move.id);
    recordTaskObservations(seen, move, { tasks, nodes }, at, askedAt);
    const side = classifySpecImage(move, spec);
    const isSettled =
      service.previousSpec !== null && classifySpecImage(move, service.previousSpec) === 'new';
    if (this.#isFirstLook && this.#earlier !== null) {
      if (canHaveMissedTasks(seen, move, tasks, this.#stack.place.taskHistoryLimit))
        seen.started.add('forgotten');
      // A new task may have started unseen during the killed run's rollback, because Swarm deletes the tasks that it
      // removes.
      const wasHolding = unfinishedStateOf(this.#earlier)?.at === 'rolling-back';
      if (wasHolding && side === 'old' && isSettled) seen.started.add('missed');
    }
    if (side !== null && service.version !== each.version) this.#adopt(each, service, side);
    // Spec that the service must have when the run is complete.
    const wanted = this.specOf(each, this.isRollingBack ? 'before' : 'after');
    const summary = summarizeTasks(seen, move, { spec: wanted, tasks, nodes }, at);
    const withOld = new Set(summary.oldRunning.map(({ node }) => node));
    each.amounts = {
      ...each.amounts,
      held: summary.retainableReplicas,
      nodesWithout: nodes
        .filter((node) => isEligibleNode(move.before, node) && !withOld.has(node.id))
        .map(({ id }) => id),
    };
    return {
      move,
      side,
      image: serviceImageOf(spec),
      isStopped: isStoppedSpec(spec),
      forms: new Set(forms.filter((form) => isEquivalentJson(this.specOf(each, form), spec))),
      isPreviousSpecNew: isSettled,
      isPaused: service.updateState === 'paused',
      isScaledToZero: each.amounts.replicas === 0,
      tasks: summary,
    };
  }

  /**
   * Takes the replicas and the counter of forced updates from the current spec, because the owner may change both
   * during the update.
   */
  #adopt(each: FollowedService, { spec, version }: SwarmService, side: 'old' | 'new'): void {
    const isFirst = each.version === null;
    each.version = version;
    if ([each.known, each.tried].some((own) => own !== null && isEquivalentJson(own, spec))) return;
    each.known = spec;
    const { log } = this.#stack.context;
    const { replicas, forced } = mutableSpecValuesOf(spec);
    if (!isFirst) log.warn(`${each.move.name} was changed by another user or process during the update`);
    // The first poll of a resumed run may see the replica count of the killed run, not the owner's.
    const wasBack = this.#earlier !== null && rollbackOf(this.#earlier) !== null;
    const isOurs = isFirst && (isStoppedSpec(spec) || this.isRollingBack || wasBack);
    const isScaled = replicas !== null && replicas !== each.amounts.replicas && !isOurs;
    // If the spec has the old image, or had the new one before the run, 0 replicas were set by this updater, not by the
    // owner.
    if (isScaled && (replicas > 0 || (side === 'new' && !hasNewImageBeforeRun(each.move)))) {
      log.warn(`${each.move.name} was scaled to ${replicas} replicas; keeping this number`);
      each.amounts = { ...each.amounts, replicas };
    }
    if (side === 'old') each.forcedOld = Math.max(forced, each.forcedOld);
    each.amounts = { ...each.amounts, forced: Math.max(forced, each.amounts.forced) };
  }
}

const endedInOrder = ['shutdown', 'complete', 'orphaned', 'remove'];

function logTaskState(log: Log, task: SwarmTask, { name, image }: StackServiceUpdate, where: string): void {
  const isNew = task.image === image;
  const slot = task.slot > 0 ? `.${task.slot}` : '';
  const what = `${isNew ? 'new' : 'old'} task ${name}${slot}${where}: ${task.state}`;
  const fields = { task: task.id, state: task.state };
  if (hasFailed(task) && (isNew || task.desiredState === 'running'))
    log.warn(`${what} (${task.error || 'Swarm reports no reason'})`, fields);
  else if (['running', ...endedInOrder].includes(task.state)) log.info(what, fields);
  else if (task.error !== '' && isTaskAlive(task)) log.info(`${what} (${task.error})`, fields);
}

const hasFailed = ({ state }: SwarmTask): boolean => state === 'failed' || state === 'rejected';
