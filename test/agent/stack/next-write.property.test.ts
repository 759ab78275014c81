import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  nextBack,
  nextForward,
  type ServiceView,
  type Step,
  writes,
} from '../../../src/agent/stack/next-write.ts';
import {
  type Amounts,
  amountsOf,
  imageSideOf,
  isSame,
  isStopped,
  type ServiceMove,
  type SpecForm,
  specOf,
} from '../../../src/agent/stack/specs.ts';
import { isAlive, note, nothingSeen, type Seen, summarise } from '../../../src/agent/stack/tasks.ts';
import { type Json, object } from '../../../src/engine/json.ts';
import { imageOf, replicasOf, type SwarmTask } from '../../../src/engine/swarm.ts';
import { moveOf, newImage, nodes, specWith } from '../../build-stack.ts';

const forms: readonly SpecForm[] = ['before', 'after', 'moving', 'stopped', 'held'];
const states = ['new', 'pending', 'assigned', 'preparing', 'ready', 'starting', 'running'];
const forcedOf = (spec: Json): number => Number(object(spec.TaskTemplate).ForceUpdate ?? 0);

interface Task extends SwarmTask {
  forced: number;
}

/**
 * The slots in the order in which Swarm keeps them when there are to be fewer: those that are the first of their node, then the
 * second ones …, such that run before others on the same node, and last those that have no node.
 */
function inOrder(slots: readonly number[], alive: readonly Task[]): number[] {
  const of = (slot: number) => alive.filter((task) => task.slot === slot);
  const isRunning = (slot: number) => of(slot).some(({ state }) => state === 'running');
  const sorted = slots.toSorted((a, b) => Number(isRunning(b)) - Number(isRunning(a)) || a - b);
  const count = new Map<string, number>();
  const ranks = new Map(
    sorted.map((slot) => {
      const [task, ...more] = of(slot);
      if (!task || more.length > 0 || task.node === '') return [slot, Number.POSITIVE_INFINITY] as const;
      const rank = (count.get(task.node) ?? 0) + 1;
      count.set(task.node, rank);
      return [slot, rank] as const;
    }),
  );
  const rankOf = (slot: number) => ranks.get(slot) ?? 0;
  return sorted.toSorted((a, b) => (rankOf(a) === rankOf(b) ? 0 : rankOf(a) - rankOf(b)));
}

/** One service of a Swarm that stops before it starts, one slot after the other, and pauses when a new task fails. */
class Service {
  spec: Json;
  previous: Json | null = null;
  isPaused = false;
  tasks: Task[] = [];
  /** A task of the new image has run: it has migrated. */
  hasRun = false;
  /** An old task was made after that. */
  cameBack = false;
  readonly move: ServiceMove;
  #made = 0;

  /** @param isUneven its old tasks are all on one node: the other one was down once, and Swarm moves none back */
  constructor(move: ServiceMove, { isUneven = false }: { isUneven?: boolean } = {}) {
    this.move = move;
    this.spec = move.before;
    for (let each = 0; each < 30; each++) this.tick();
    if (isUneven) for (const task of this.tasks) task.node = 'n1';
  }

  write(spec: Json): void {
    this.previous = this.spec;
    this.spec = spec;
    this.isPaused = false;
  }

  /** Swarm does what the spec asks for, and each task comes one state further. */
  tick(): void {
    this.reconcile();
    for (const task of [...this.tasks]) this.advance(task);
  }

  reconcile(): void {
    const replicas = replicasOf(this.spec) ?? 0;
    const isClean = ({ image, forced }: Task) =>
      image === imageOf(this.spec) && forced === forcedOf(this.spec);
    const alive = () => this.tasks.filter((task) => isAlive(task) && task.wanted === 'running');
    const slots = [...new Set(alive().map(({ slot }) => slot))];
    const kept = inOrder(slots, alive()).slice(0, replicas);
    for (const task of this.tasks)
      if (slots.includes(task.slot) && !kept.includes(task.slot)) task.wanted = 'remove';
    let isTaken = this.isPaused || alive().some((task) => isClean(task) && task.state !== 'running');
    for (const slot of kept) {
      const dirty = alive().find((task) => task.slot === slot && !isClean(task));
      if (!dirty || isTaken) continue;
      dirty.wanted = 'shutdown';
      this.#make(slot);
      isTaken = true;
    }
    const free = Array.from({ length: replicas }, (_, at) => at + 1).filter((slot) => !slots.includes(slot));
    for (const slot of free.slice(0, Math.max(0, replicas - slots.length))) this.#make(slot);
  }

  #make(slot: number): void {
    const image = imageOf(this.spec);
    if (image !== newImage && this.hasRun) this.cameBack = true;
    const id = `${this.move.role}-${++this.#made}`;
    this.tasks.push({
      ...{ id, service: this.move.id, slot, node: '', state: 'new', wanted: 'running', image, error: '' },
      forced: forcedOf(this.spec),
    });
  }

  advance(task: Task): void {
    if (!isAlive(task)) return;
    if (task.wanted !== 'running') {
      task.state = 'shutdown';
      if (task.wanted === 'remove') this.tasks = this.tasks.filter((each) => each !== task);
      return;
    }
    const next = states[Math.min(states.indexOf(task.state) + 1, states.length - 1)] ?? 'running';
    // What it takes the place of ends first.
    const before = this.tasks.some((each) => each !== task && each.slot === task.slot && isAlive(each));
    if (next === 'starting' && before) return;
    task.state = next;
    if (next === 'assigned') task.node = this.#emptier();
    if (next === 'running' && task.image === newImage) this.hasRun = true;
  }

  #emptier(): string {
    const on = (node: string) => this.tasks.filter((each) => isAlive(each) && each.node === node).length;
    return on('n2') < on('n1') ? 'n2' : 'n1';
  }

  /** It is rejected, cannot be started, or ends: as far as it has come. */
  fail(task: Task): void {
    if (!isAlive(task) || task.node === '') return;
    task.error = task.state === 'starting' ? 'starting container failed: x' : '';
    task.state = ['starting', 'running'].includes(task.state) ? 'failed' : 'rejected';
    task.wanted = 'shutdown';
    if (task.image === newImage && imageOf(this.spec) === newImage) this.isPaused = true;
  }
}

/** What a run sees of a service, as `Replacing` makes it of looks. */
class Follower {
  readonly service: Service;
  readonly seen: Seen;
  amounts: Amounts;
  #forcedOld = 0;
  #known: Json;

  constructor(service: Service) {
    this.service = service;
    this.seen = nothingSeen(service.tasks.map(({ id }) => id));
    this.amounts = amountsOf(service.spec);
    this.#known = service.spec;
  }

  look(at: number, isBack: boolean): ServiceView {
    const { service, seen } = this;
    const { move, spec, tasks, previous } = service;
    const there = nodes('n1', 'n2');
    note(seen, move, { tasks, nodes: there }, at);
    const side = imageSideOf(move, spec);
    if (!isSame(this.#known, spec)) this.#adopt(spec, side);
    const wanted = this.#specOf(isBack ? 'before' : 'after');
    const summary = summarise(seen, move, { spec: wanted, tasks, nodes: there }, at);
    this.amounts = { ...this.amounts, held: summary.held };
    return {
      ...{ move, side, image: imageOf(spec), isStopped: isStopped(spec), tasks: summary },
      isPaused: service.isPaused,
      forms: new Set(forms.filter((form) => isSame(this.#specOf(form), spec))),
      isSettled: previous !== null && imageSideOf(move, previous) === 'new',
      isOff: this.amounts.replicas === 0,
    };
  }

  #specOf(form: SpecForm): Json {
    const isNew = form === 'moving' || form === 'after';
    return specOf(
      this.service.move,
      form,
      isNew ? this.amounts : { ...this.amounts, forced: this.#forcedOld },
    );
  }

  #adopt(spec: Json, side: 'old' | 'new' | null): void {
    this.#known = spec;
    const { replicas, forced } = amountsOf(spec);
    const isTaken =
      replicas !== null && (replicas > 0 || (side === 'new' && this.service.move.role === 'app'));
    if (side === 'old') this.#forcedOld = Math.max(forced, this.#forcedOld);
    this.amounts = {
      ...this.amounts,
      ...(isTaken && { replicas }),
      forced: Math.max(forced, this.amounts.forced),
    };
  }

  write(form: SpecForm): void {
    const spec = this.#specOf(form);
    this.service.write(spec);
    this.#known = spec;
  }
}

type Act =
  | { kind: 'tick' }
  | { kind: 'advance' | 'fail'; whose: 'app' | 'worker'; which: number }
  | { kind: 'scale'; whose: 'app' | 'worker'; to: number }
  | { kind: 'force' | 'rollback'; whose: 'app' | 'worker' };

interface Given {
  replicas: number;
  workers: number;
  stopApp: boolean;
  isUneven?: boolean;
}

/** A run on a Swarm of an app and a worker: after each act of Swarm, or of somebody, it looks, 100 ms later. */
class Scene {
  readonly app: Follower;
  readonly worker: Follower;
  readonly stopApp: boolean;
  /** What must not have been written, or not then. */
  readonly wrong: string[] = [];
  last: Step | null = null;
  #hasBeenWell = false;
  #at = 0;
  #isBack = false;

  constructor({ replicas, workers, stopApp, isUneven = false }: Given) {
    this.app = new Follower(new Service(moveOf('app', { before: specWith({ replicas }) }), { isUneven }));
    this.worker = new Follower(
      new Service(moveOf('worker', { before: specWith({ name: 'svc_worker', replicas: workers }) })),
    );
    this.stopApp = stopApp;
  }

  act(act: Act): void {
    if (act.kind === 'tick') {
      for (const { service } of [this.app, this.worker]) service.tick();
      return;
    }
    const { service } = this[act.whose];
    switch (act.kind) {
      case 'advance':
      case 'fail': {
        service.reconcile();
        const task = service.tasks[act.which % Math.max(1, service.tasks.length)];
        if (task) service[act.kind](task);
        return;
      }
      case 'scale':
        service.write({ ...service.spec, Mode: { Replicated: { Replicas: act.to } } });
        return;
      case 'force': {
        const template = object(service.spec.TaskTemplate);
        const ForceUpdate = forcedOf(service.spec) + 1;
        service.write({ ...service.spec, TaskTemplate: { ...template, ForceUpdate } });
        return;
      }
      case 'rollback':
        if (service.previous !== null) service.write(service.previous);
    }
  }

  look(afterMs = 100): Step {
    this.#at += afterMs;
    const [app, worker] = [this.app.look(this.#at, this.#isBack), this.worker.look(this.#at, this.#isBack)];
    this.#hasBeenWell ||= app.side === 'new' && app.tasks.isWell;
    const view = { app, workers: [worker], stopApp: this.stopApp, hasBeenWell: this.#hasBeenWell };
    const step = this.#isBack ? nextBack(view) : nextForward(view);
    this.last = step;
    if (step.kind === 'write') this.#write(step);
    return step;
  }

  #write({ write, service }: Extract<Step, { kind: 'write' }>): void {
    const { form, from } = writes[write];
    const isApp = service.move.role === 'app';
    const hasMigrated = this.app.service.hasRun;
    if (!(from as readonly unknown[]).includes(service.side))
      this.wrong.push(`${write} from ${service.side}`);
    if (hasMigrated && (form === 'before' || form === 'held')) this.wrong.push(`${write} after a start`);
    if (hasMigrated && isApp && form === 'stopped' && service.side !== 'old')
      this.wrong.push(`${write} of the new app`);
    if (
      write === 'move-app' &&
      this.worker.service.tasks.some((task) => isAlive(task) && task.image !== newImage)
    )
      this.wrong.push('move-app beside an old worker');
    (isApp ? this.app : this.worker).write(form);
  }

  giveUp(): void {
    this.#isBack = true;
  }

  /** Nobody interferes any more, and Swarm obeys: what it comes to. */
  settle(): Step['kind'] {
    for (let each = 0; each < 600; each++) {
      this.act({ kind: 'tick' });
      const { kind } = this.look(500);
      if (kind === 'done' || kind === 'started' || kind === 'foreign') return kind;
    }
    return this.last?.kind ?? 'wait';
  }
}

const whose = fc.constantFrom<'app' | 'worker'>('app', 'worker');
const obeying: fc.Arbitrary<Act>[] = [
  fc.constant<Act>({ kind: 'tick' }),
  fc.record({ kind: fc.constantFrom<'advance' | 'fail'>('advance', 'fail'), whose, which: fc.nat(20) }),
];
const scales = fc.record({ kind: fc.constant<'scale'>('scale'), whose, to: fc.nat(3) });
const forces = fc.record({ kind: fc.constant<'force'>('force'), whose });
const rollsBack = fc.record({ kind: fc.constant<'rollback'>('rollback'), whose });
const scenes = fc.record({
  replicas: fc.integer({ min: 1, max: 3 }),
  workers: fc.nat(2),
  stopApp: fc.boolean(),
});
const many = { numRuns: 200 };

/** Swarm does a lot between what somebody does. */
const acts = (...meddling: fc.Arbitrary<Act>[]) =>
  fc.array(
    fc.oneof(
      ...obeying.map((arbitrary) => ({ arbitrary, weight: 6 })),
      ...meddling.map((arbitrary) => ({ arbitrary, weight: 1 })),
    ),
    { maxLength: 60 },
  );

describe('a run on a Swarm', () => {
  it('is done whatever fails and whoever scales, forces and rolls back in between, and writes nothing that leads back', () => {
    fc.assert(
      fc.property(scenes, acts(scales, forces, rollsBack), (given, happens) => {
        const scene = new Scene(given);
        for (const act of happens) {
          scene.act(act);
          scene.look();
        }
        expect(scene.settle()).toBe('done');
        expect(scene.wrong).toEqual([]);
        for (const { service, amounts } of [scene.app, scene.worker]) {
          const alive = service.tasks.filter(isAlive);
          expect(alive.map(({ image, state }) => `${image === newImage} ${state}`)).toEqual(
            Array<string>(amounts.replicas ?? 0).fill('true running'),
          );
        }
      }),
      many,
    );
  });

  it('goes back wholly, or not at all once a new task has run', () => {
    const outcomes = new Set<string>();
    fc.assert(
      fc.property(scenes, acts(), acts(), (given, before, after) => {
        const scene = new Scene(given);
        for (const act of before) {
          scene.act(act);
          scene.look();
        }
        // A run goes back only where none has started.
        if (scene.app.seen.started.size > 0) return;
        scene.giveUp();
        for (const act of after) {
          if (scene.look().kind === 'started') break;
          scene.act(act);
        }
        const end = scene.settle();
        outcomes.add(end);
        expect(scene.wrong).toEqual([]);
        expect(scene.app.service.cameBack).toBe(false);
        expect(['done', 'started']).toContain(end);
        if (end === 'done') {
          expect(scene.app.service.hasRun).toBe(false);
          for (const { service } of [scene.app, scene.worker])
            expect(isSame(service.spec, service.move.before)).toBe(true);
        }
      }),
      many,
    );
    expect([...outcomes].sort()).toEqual(['done', 'started']);
  });

  /** Of a run that goes back before any new task has started: as long as the app is held, no old task of it is made, or touched. */
  const holdsOld = (isUneven: boolean, ...meddling: fc.Arbitrary<Act>[]): void =>
    fc.assert(
      fc.property(scenes, acts(...meddling), acts(), (given, before, after) => {
        const scene = new Scene({ ...given, isUneven });
        const { service } = scene.app;
        // What its owner has made again, and old tasks that crash, Swarm makes again whoever holds them.
        const isOldsEnd = (act: Act) =>
          (act.kind === 'force' && imageOf(service.spec) !== newImage) ||
          (act.kind === 'fail' && service.tasks[act.which % service.tasks.length]?.image !== newImage);
        for (const act of before) {
          if (isOldsEnd(act)) continue;
          scene.act(act);
          scene.look();
        }
        if (scene.app.seen.started.size > 0) return;
        scene.giveUp();
        for (const act of after) {
          if (scene.look().kind === 'started') return;
          const old = () =>
            service.tasks.filter((task) => task.image !== newImage && task.wanted === 'running');
          const was = old();
          const isNewAlive = service.tasks.some((task) => isAlive(task) && task.image === newImage);
          service.reconcile();
          if (imageOf(service.spec) !== newImage && isNewAlive) {
            const touched = was.filter(({ state, wanted }) => state === 'running' && wanted !== 'running');
            const made = old().filter((task) => !was.includes(task));
            expect(made).toEqual([]);
            // Where more are on one node it may stop all of them, and never some.
            if (!isUneven || replicasOf(service.spec) !== 0) expect(touched).toEqual([]);
          }
          if (!isOldsEnd(act)) scene.act(act);
        }
      }),
      { numRuns: 1_000 },
    );

  it('leaves old tasks alone while new ones are taken away, whoever has scaled the app, or had it made again', () => {
    holdsOld(false, scales, forces);
  });

  it('makes no old one while new ones are there, though there are more of them on one node than on another', () => {
    holdsOld(true, scales, forces);
  });
});
