import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../core/progress/update-error.ts';
import {
  listNodes,
  listServices,
  listTasks,
  type SwarmPlace,
  updateService,
} from '../../engine/api/swarm.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Json, object } from '../../engine/json.ts';
import {
  containerOf,
  imageOf,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
} from '../../engine/swarm.ts';
import type { PublishedImage } from '../compose/pull/ask-published.ts';
import { breakSilence } from '../run/log/heartbeat.ts';
import type { Log } from '../run/log/log.ts';
import { and, counted, seconds } from '../run/log/wording.ts';
import type { RunContext } from '../run/run-context.ts';
import {
  nextBack,
  nextForward,
  type ServiceView,
  type StackStep,
  type StackView,
  type Write,
  writes,
} from './next-write.ts';
import { swarmLoginFor } from './pull.ts';
import type { StackRecord } from './record.ts';
import {
  type Amounts,
  amountsOf,
  imageSideOf,
  isActive,
  isEligible,
  isSame,
  isStopped,
  keepsImage,
  type ServiceMove,
  type SpecForm,
  specOf,
} from './specs.ts';
import { isAlive, mayHaveForgotten, note, nothingSeen, type Seen, summarise } from './tasks.ts';

/** Ten looks a second: a new task that starts and ends at once must be seen. */
const lookMs = 100;
const nodesEveryMs = 1_000;
/** After so many failures a service is not waited for any longer. */
const maxFailures = 5;
/** If another user keeps changing a service, the run gives up after this many writes. */
const maxRewrites = 5;
const forms: readonly SpecForm[] = ['before', 'after', 'moving', 'nudged', 'stopped', 'held'];
const endedInOrder = ['shutdown', 'complete', 'orphaned', 'remove'];

interface Followed {
  move: ServiceMove;
  seen: Seen;
  amounts: Amounts;
  /** How often its old tasks were made again: another number would have Swarm make them once more. */
  forcedOld: number;
  /** Null before its first look. Swarm's own writes move it, too. */
  version: number | null;
  /** The spec as this run knows it: as it has written it, or has found what somebody else wrote. */
  known: Json | null;
  /** What this run has last tried to write: an election may have swallowed the answer. */
  tried: Json | null;
}

/** Of a stack that was found. */
interface ReplacingStack {
  context: Pick<RunContext, 'engine' | 'log' | 'options'>;
  place: Pick<SwarmPlace, 'history'>;
}

/** Carries a run's decisions out, one write after the other, each after a look that asks for it. */
export class Replacing {
  readonly record: StackRecord;
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #waitTimeoutMs: number;
  /** How many ended tasks Swarm remembers of a slot. */
  readonly #history: number;
  readonly #published: readonly PublishedImage[];
  readonly #followed: readonly Followed[];
  #nodes: readonly SwarmNode[] = [];
  #nodesAt = Number.NEGATIVE_INFINITY;
  readonly #told = new Map<string, string>();
  readonly #writes = new Map<Write, number>();
  #isFirstLook = true;
  #hasBeenWell = false;
  #isVerifying = false;
  #isBack: boolean;
  readonly #isResumed: boolean;
  /** The run before was going back. */
  readonly #wasBack: boolean;
  /** It was killed before it had seen the last new task go. */
  readonly #mayHaveMissed: boolean;
  #lastFailure: SwarmTask | null = null;
  #views: readonly ServiceView[] = [];
  /** Old tasks on nodes that went down. Each is reported once. */
  #lost: readonly SwarmTask[] = [];

  /**
   * @param isResumed the run before was killed: what became of its tasks is known as far as Swarm remembers it
   * @param published with logins that registries have just taken, for the nodes that pull later
   */
  constructor(
    { context: { engine, log, options }, place }: ReplacingStack,
    record: StackRecord,
    { isResumed, published = [] }: { isResumed: boolean; published?: readonly PublishedImage[] },
  ) {
    this.record = record;
    this.#engine = engine.uncancellable();
    this.#log = log;
    this.#waitTimeoutMs = options.limits.waitTimeoutMs;
    this.#history = place.history;
    this.#published = published;
    const { data, state } = record;
    this.#isBack = state.phase === 'back' || state.phase === 'restore';
    this.#wasBack = isResumed && this.#isBack;
    this.#mayHaveMissed = isResumed && state.phase === 'back';
    this.#isResumed = isResumed;
    this.#followed = data.moves.map((move) => ({
      move,
      seen: nothingSeen(data.tasks, move.role === 'app' && state.started),
      amounts: amountsOf(move.wanted),
      version: null,
      known: null,
      tried: null,
      forcedOld: amountsOf(move.before).forced,
    }));
  }

  get hasStarted(): boolean {
    return this.#followed.some(({ seen }) => seen.started.size > 0);
  }

  /** Lists what is unknown at the end, and what starts later. */
  tellOpen(): void {
    const log = this.#log;
    for (const { move, tasks } of this.#views) {
      for (const task of [...tasks.lost, ...tasks.lostNew])
        log.warn(
          `${this.nodeName(task.node)} is down, so the state of its task ${task.id} of ${move.name} is unknown: the ${task.image === move.image ? 'new' : 'old'} task may be running until the node reconnects`,
        );
      if (tasks.waiting > 0)
        log.warn(
          `no node is available for ${counted(tasks.waiting, 'task')} of ${move.name}; Swarm starts missing tasks when a node returns`,
        );
    }
  }

  nodeName(id: string): string {
    return this.#nodes.find((node) => node.id === id)?.name ?? id;
  }

  /** To the new version, or as far as it comes. @throws UpdateError broken, recreate-failed where it does not come there */
  async forward(): Promise<void> {
    await this.record.note({ phase: 'recreate' });
    this.#isBack = false;
    await this.#follow(nextForward);
  }

  /** Everything as it was, where no new task has started. @throws UpdateError broken, containers-not-restored */
  async back(): Promise<void> {
    const { record } = this;
    if (record.state.phase !== 'restore') await record.note({ phase: 'back' });
    this.#isBack = true;
    await this.#follow(nextBack);
  }

  async #follow(next: (view: StackView) => StackStep): Promise<void> {
    let key = '';
    let since = performance.now();
    for (;;) {
      const lookedAt = performance.now();
      this.record.check();
      const view = await this.#look();
      // Right after an election, the reported state of nodes and tasks is outdated.
      if (this.#nodes.some(({ state }) => state === 'unknown')) {
        breakSilence(this.#log, 'waiting for the new Swarm leader to receive the state of all nodes');
        since = performance.now();
        await sleep(lookMs);
        continue;
      }
      await this.#noteStart();
      const step = next(view);
      this.#enterPhase(view);
      switch (step.kind) {
        case 'done':
          return;
        case 'started':
          await this.#stayNew(view);
          return;
        case 'foreign':
          throw this.#changed(step.service);
        case 'write':
          await this.#write(step);
          since = performance.now();
          break;
        case 'wait': {
          const now = `${step.service.move.name} ${step.what} ${step.progress}`;
          if (now !== key) since = performance.now();
          key = now;
          this.#tellWaiting(step, performance.now() - since);
          this.#judge(step, performance.now() - since);
        }
      }
      await sleep(Math.max(1, lookMs - (performance.now() - lookedAt)));
    }
  }

  /** Enters the verify phase when all services have their new definition. */
  #enterPhase({ app, workers }: StackView): void {
    const isTold = ({ side, isStopped: is, isOff }: ServiceView) => side === 'new' && (!is || isOff);
    if (this.#isBack || this.#isVerifying || ![app, ...workers].every(isTold)) return;
    this.#isVerifying = true;
    this.#log.enter('verify');
  }

  async #look(): Promise<StackView> {
    const engine = this.#engine;
    const ids = this.#followed.map(({ move }) => move.id);
    const askedAt = performance.now();
    const isDue = askedAt - this.#nodesAt > nodesEveryMs;
    const [found, tasks, nodes] = await Promise.all([
      listServices(engine, { id: ids }),
      listTasks(engine, ids),
      isDue ? listNodes(engine) : this.#nodes,
    ]);
    if (isDue) this.#nodesAt = performance.now();
    this.#nodes = nodes;
    const at = performance.now();
    const views = this.#followed.map((each) => {
      const service = found.find(({ id }) => id === each.move.id);
      if (service === undefined)
        throw new UpdateError(
          'containers-changed',
          `the service ${each.move.name} was removed during the update`,
        );
      return this.#viewOf(each, service, tasks, { at, askedAt });
    });
    this.#views = views;
    const [app, ...workers] = views as [ServiceView, ...ServiceView[]];
    // A run that was killed has moved a worker only once the app was well.
    const wasWell =
      this.#isFirstLook &&
      workers.some(({ move, side, isStopped: is }) => move.role !== 'once' && side === 'new' && !is);
    this.#hasBeenWell ||= app.side === 'new' && (app.tasks.isWell || (wasWell && this.#isResumed));
    this.#tellTasks(tasks);
    this.#isFirstLook = false;
    const { stopFirst } = this.record.data;
    return { app, workers, stopFirst, hasBeenWell: this.#hasBeenWell };
  }

  #viewOf(
    each: Followed,
    service: SwarmService,
    all: readonly SwarmTask[],
    { at, askedAt }: { at: number; askedAt: number },
  ): ServiceView {
    const { move, seen } = each;
    const { spec } = service;
    const tasks = all.filter((task) => task.service === move.id);
    note(seen, move, { tasks, nodes: this.#nodes }, at, askedAt);
    if (this.#isFirstLook && this.#isResumed && mayHaveForgotten(seen, move, tasks, this.#history))
      seen.started.add('forgotten');
    const side = imageSideOf(move, spec);
    const isSettled = service.previous !== null && imageSideOf(move, service.previous) === 'new';
    // Held by a run that was killed then: a task that was about to start may have, and Swarm forgets what it takes away.
    if (this.#isFirstLook && this.#mayHaveMissed && side === 'old' && isSettled) seen.started.add('missed');
    if (side !== null && service.version !== each.version) this.#adopt(each, service, side);
    const summary = summarise(seen, move, { spec: this.#asWanted(each), tasks, nodes: this.#nodes }, at);
    const withOld = new Set(summary.oldRunning.map(({ node }) => node));
    each.amounts = {
      ...each.amounts,
      held: summary.held,
      nodesWithout: this.#nodes
        .filter((node) => isEligible(move.before, node) && !withOld.has(node.id))
        .map(({ id }) => id),
    };
    return {
      move,
      side,
      image: imageOf(spec),
      isStopped: isStopped(spec),
      forms: new Set(forms.filter((form) => isSame(this.#specOf(each, form), spec))),
      isSettled,
      isPaused: service.updateState === 'paused',
      isOff: each.amounts.replicas === 0,
      tasks: summary,
    };
  }

  /** What is to be there in the end. */
  #asWanted(each: Followed): Json {
    return this.#specOf(each, this.#isBack ? 'before' : 'after');
  }

  #specOf({ move, amounts, forcedOld }: Followed, form: SpecForm): Json {
    const isNew = form === 'moving' || form === 'nudged' || form === 'after';
    return specOf(move, form, isNew ? amounts : { ...amounts, forced: forcedOld });
  }

  /** Adopts the number of replicas and forced updates, which the owner may change during the update. */
  #adopt(each: Followed, { spec, version }: SwarmService, side: 'old' | 'new'): void {
    const isFirst = each.version === null;
    each.version = version;
    if ([each.known, each.tried].some((own) => own !== null && isSame(own, spec))) return;
    each.known = spec;
    const log = this.#log;
    const { replicas, forced } = amountsOf(spec);
    if (!isFirst) log.warn(`${each.move.name} was changed by another user or process during the update`);
    // What a run that was killed has stopped, or held, has its own number.
    const isOurs = isFirst && (isStopped(spec) || this.#isBack || this.#wasBack);
    const isScaled = replicas !== null && replicas !== each.amounts.replicas && !isOurs;
    // What is stopped is of the old image, or was new before.
    if (isScaled && (replicas > 0 || (side === 'new' && !keepsImage(each.move)))) {
      log.warn(`${each.move.name} was scaled to ${replicas} replicas; keeping this number`);
      each.amounts = { ...each.amounts, replicas };
    }
    if (side === 'old') each.forcedOld = Math.max(forced, each.forcedOld);
    each.amounts = { ...each.amounts, forced: Math.max(forced, each.amounts.forced) };
  }

  async #write({ write, service }: Extract<StackStep, { kind: 'write' }>): Promise<void> {
    const each = this.#followed.find(({ move }) => move === service.move);
    const { form, from } = writes[write];
    if (!each || each.version === null || service.side === null) return;
    if (!(from as readonly string[]).includes(service.side)) throw this.#changed(service);
    const count = (this.#writes.get(write) ?? 0) + 1;
    this.#writes.set(write, count);
    if (count > maxRewrites * this.#followed.length) throw this.#changed(service);
    const spec = this.#specOf(each, form);
    if (write === 'restore' && this.record.state.phase !== 'restore')
      await this.record.note({ phase: 'restore' });
    await this.record.confirm();
    const isMoved = form === 'moving' || form === 'after';
    each.tried = spec;
    const headers = isMoved ? swarmLoginFor(this.#published, service.move.image) : {};
    const { id, name } = service.move;
    const done = await updateService(this.#engine, { id, name, version: each.version }, spec, headers);
    // Another write came first, or the answer was lost in an election. The next check shows which.
    if (done === 'moved') return;
    this.#log.info(sentenceOf[write](service), { write, service: service.move.name });
    each.known = spec;
    for (const { id } of service.tasks.stuck) each.seen.passed.add(id);
  }

  /** Records the start before any decision depends on it: a later run must not roll back. */
  async #noteStart(): Promise<void> {
    const { record } = this;
    if (this.hasStarted !== record.state.started) await record.note({ started: this.hasStarted });
  }

  /** It is too late to roll back: the app keeps the new version and the worker stays stopped. */
  async #stayNew({ app }: StackView): Promise<void> {
    if (app.side === 'old') await this.#write({ kind: 'write', write: 'move-app', service: app });
    throw this.#failed(`a task of the new version of ${app.move.name} has started`);
  }

  /** Whether to keep waiting. @throws UpdateError if waiting longer is pointless */
  #judge({ service, what }: Extract<StackStep, { kind: 'wait' }>, waitedMs: number): void {
    const { move, tasks } = service;
    const isLate = waitedMs > this.#limit(move);
    if (what === 'starts') {
      if (tasks.lost.length > 0 && this.#lost.length !== tasks.lost.length) {
        this.#lost = tasks.lost;
        const where = and([...new Set(tasks.lost.map(({ node }) => this.nodeName(node)))]);
        this.#log.warn(
          `${where} went down with an old task of ${move.name} (${tasks.lost.map(({ id }) => id).join(', ')}); the task may keep running until the node reconnects`,
        );
      }
      const isOver = tasks.newAlive.length === 0 && tasks.failures > 0 && waitedMs > 15_000;
      if ((tasks.failures < maxFailures || tasks.isUnsure) && !isOver && !isLate) return;
      // What has been starting for so long has started.
      for (const { seen } of this.#followed) for (const id of seen.starting) seen.started.add(id);
      throw this.#unwell(
        service,
        tasks.failures >= maxFailures ? `${tasks.failures} new tasks of ${move.name} failed` : null,
        waitedMs,
      );
    }
    if (!isLate) return;
    const left = this.#isBack ? tasks.newAlive : tasks.oldAlive;
    const where = left.map(({ node, state }) => `${this.nodeName(node)} (${state})`).join(', ');
    const message =
      what === 'returns'
        ? `after ${seconds(waitedMs)}, only ${tasks.oldRunning.length} of ${tasks.needs} tasks of ${move.name} are running`
        : `${move.name} still has tasks on ${where} after ${seconds(waitedMs)}`;
    if (this.#isBack) throw new UpdateError('containers-not-restored', message, { advice: adviceOn([move]) });
    throw this.#failed(message);
  }

  /** Adds the delays that the owner configured between tasks, for monitoring and for stopping. */
  #limit({ wanted }: ServiceMove): number {
    const { Delay = 0, Monitor = 0 } = object(wanted.UpdateConfig);
    const { StopGracePeriod = 0 } = containerOf(wanted);
    return this.#waitTimeoutMs + (Number(Delay) + Number(Monitor) + Number(StopGracePeriod)) / 1e6;
  }

  #unwell({ move, tasks }: ServiceView, why: string | null, waitedMs: number): UpdateError {
    if (move.role === 'once') {
      const message = `${move.name} did not succeed within ${seconds(waitedMs)}`;
      const advice = `Check the output of docker service logs ${move.name}. Fix the cause, run docker service update --force --detach ${move.name}, then run {command} again.`;
      return new UpdateError(this.hasStarted ? 'broken' : 'recreate-failed', message, { advice });
    }
    const has = `after ${seconds(waitedMs)}, only ${tasks.newRunning.length} of ${tasks.needs} new tasks of ${move.name} are running`;
    const old =
      tasks.oldAlive.length > 0 ? `; ${counted(tasks.oldAlive.length, 'old task')} still present` : '';
    return this.#failed(`${why ?? has}${old}`);
  }

  #failed(message: string): UpdateError {
    if (!this.hasStarted) return new UpdateError('recreate-failed', message);
    const moves = this.#followed.map(({ move }) => move);
    return new UpdateError('broken', message, { advice: adviceOn(moves) });
  }

  #changed({ move }: ServiceView): UpdateError {
    const message = `the definition of ${move.name} was changed by another user or process during the update`;
    return this.hasStarted
      ? new UpdateError('broken', message, { advice: adviceOn([move]) })
      : new UpdateError('containers-changed', message, {
          advice: `Check the service with docker service inspect --pretty ${move.name}. Make sure that no one deploys the stack during the update, then run {command} again.`,
        });
  }

  /** The last task that failed. Its log contains the reason. */
  get failure(): SwarmTask | null {
    return this.#lastFailure;
  }

  /** One line for what becomes of a task: its node, its state, and Swarm's own words where it failed. */
  #tellTasks(tasks: readonly SwarmTask[]): void {
    const log = this.#log;
    const known = new Map(this.#followed.map(({ move }) => [move.id, move] as const));
    for (const task of tasks) {
      const last = this.#told.get(task.id);
      const said = `${task.state} ${task.error}`;
      if (last === said) continue;
      this.#told.set(task.id, said);
      const move = known.get(task.service);
      if (!move || this.#isFirstLook) continue;
      const isNew = task.image === move.image;
      const name = `${move.name}${task.slot > 0 ? `.${task.slot}` : ''}`;
      const where = task.node === '' ? '' : ` on ${this.nodeName(task.node)}`;
      const what = `${isNew ? 'new' : 'old'} task ${name}${where}: ${task.state}`;
      const fields = { task: task.id, state: task.state };
      const isBad = task.state === 'failed' || task.state === 'rejected';
      if (isBad && isNew) this.#lastFailure = task;
      if (isBad && (isNew || task.wanted === 'running'))
        log.warn(`${what} (${task.error || 'no reason given'})`, fields);
      else if (['running', ...endedInOrder].includes(task.state)) log.info(what, fields);
      else if (task.error !== '' && isAlive(task)) log.info(`${what} (${task.error})`, fields);
    }
  }

  #tellWaiting({ service, what }: Extract<StackStep, { kind: 'wait' }>, waitedMs: number): void {
    const { move, tasks } = service;
    const { newRunning, needs, newAlive, oldAlive } = tasks;
    const active = this.#nodes.filter(isActive).length;
    const sentences = {
      ends: `waiting for the tasks of ${move.name} to stop (${this.#isBack ? newAlive.length : oldAlive.length} left)`,
      starts: `waiting for ${move.name}: ${newRunning.length} of ${needs} new tasks running, ${active} active nodes`,
      returns: `waiting for ${move.name}: ${tasks.oldRunning.length} of ${needs} tasks running`,
    };
    breakSilence(this.#log, `${sentences[what]} (${seconds(waitedMs)})`);
  }
}

const sentenceOf: Record<Write, (service: ServiceView) => string> = {
  'stop-worker': ({ move }) => `stopping ${move.name}`,
  'stop-first': ({ move }) => `stopping ${move.name}`,
  'move-app': ({ move }) => `updating ${move.name} to ${move.label}`,
  'move-worker': ({ move }) => `updating ${move.name} to ${move.label}`,
  nudge: ({ move }) =>
    `a node is down, so Swarm stopped updating ${move.name}; continuing the update on the other nodes`,
  hold: ({ move, tasks: { held, oldRunning } }) =>
    held === oldRunning.length
      ? `limiting ${move.name} to its ${held} old tasks`
      : `stopping ${move.name}, because Swarm would otherwise replace old tasks with new ones`,
  restore: ({ move }) => `restoring the previous definition of ${move.name}`,
  settle: ({ move }) => `${move.name} is healthy; restoring its original settings and keeping the new image`,
};

const adviceOn = (moves: readonly ServiceMove[]): string =>
  `Check the output of docker service ps --no-trunc ${moves.map(({ name }) => name).join(' ')} and docker service logs ${moves[0]?.name}. Fix the cause, then run {command} again.`;
