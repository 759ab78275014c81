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

  constructor(move: ServiceMove) {
    this.move = move;
    this.spec = move.before;
    for (let each = 0; each < 30; each++) this.tick();
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
    const alive = this.tasks.filter(isAlive);
    for (const task of alive) if (task.slot > replicas) task.wanted = 'remove';
    const isBusy = alive.some((task) => isClean(task) && task.state !== 'running');
    let isTaken = isBusy || this.isPaused;
    for (let slot = 1; slot <= replicas; slot++) {
      const own = alive.filter((task) => task.slot === slot);
      if (own.length === 0) this.#make(slot);
      const dirty = own.find((task) => !isClean(task) && task.wanted === 'running');
      if (!dirty || isTaken) continue;
      dirty.wanted = 'shutdown';
      isTaken = true;
    }
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
    task.state = states[Math.min(states.indexOf(task.state) + 1, states.length - 1)] ?? 'running';
    if (states.indexOf(task.state) >= states.indexOf('assigned')) task.node = 'n1';
    if (task.state === 'running' && task.image === newImage) this.hasRun = true;
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
    const there = nodes('n1');
    note(seen, move, { tasks, nodes: there }, at);
    const side = imageSideOf(move, spec);
    if (!isSame(this.#known, spec)) this.#adopt(spec, side);
    const wanted = specOf(move, isBack ? 'before' : 'after', this.amounts);
    const summary = summarise(seen, move, { spec: wanted, tasks, nodes: there }, at);
    this.amounts = { ...this.amounts, oldRunning: summary.oldRunning.length };
    return {
      ...{ move, side, isStopped: isStopped(spec), tasks: summary, isPaused: service.isPaused },
      forms: new Set(forms.filter((form) => isSame(specOf(move, form, this.amounts), spec))),
      isSettled: previous !== null && imageSideOf(move, previous) === 'new',
      isOff: this.amounts.replicas === 0,
    };
  }

  #adopt(spec: Json, side: 'old' | 'new' | null): void {
    this.#known = spec;
    const { replicas, forced } = amountsOf(spec);
    const isTaken =
      replicas !== null && (replicas > 0 || (side === 'new' && this.service.move.role === 'app'));
    this.amounts = {
      ...this.amounts,
      ...(isTaken && { replicas }),
      forced: Math.max(forced, this.amounts.forced),
    };
  }

  write(form: SpecForm): void {
    const spec = specOf(this.service.move, form, this.amounts);
    this.service.write(spec);
    this.#known = spec;
  }
}

type Act =
  | { kind: 'tick' }
  | { kind: 'advance' | 'fail'; whose: 'app' | 'worker'; which: number }
  | { kind: 'scale'; whose: 'app' | 'worker'; to: number }
  | { kind: 'force' | 'rollback'; whose: 'app' | 'worker' };

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

  constructor({ replicas, workers, stopApp }: { replicas: number; workers: number; stopApp: boolean }) {
    this.app = new Follower(new Service(moveOf('app', { before: specWith({ replicas }) })));
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
const meddling: fc.Arbitrary<Act>[] = [
  fc.record({ kind: fc.constant<'scale'>('scale'), whose, to: fc.nat(3) }),
  fc.record({ kind: fc.constantFrom<'force' | 'rollback'>('force', 'rollback'), whose }),
];
const scenes = fc.record({
  replicas: fc.integer({ min: 1, max: 3 }),
  workers: fc.nat(2),
  stopApp: fc.boolean(),
});
const many = { numRuns: 200 };

/** Swarm does a lot between what somebody does. */
const acts = (meddled: boolean) =>
  fc.array(
    fc.oneof(
      ...obeying.map((arbitrary) => ({ arbitrary, weight: 6 })),
      ...(meddled ? meddling : []).map((arbitrary) => ({ arbitrary, weight: 1 })),
    ),
    { maxLength: 60 },
  );

describe('a run on a Swarm', () => {
  it('is done whatever fails and whoever scales, forces and rolls back in between, and writes nothing that leads back', () => {
    fc.assert(
      fc.property(scenes, acts(true), (given, happens) => {
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
      fc.property(scenes, acts(false), acts(false), (given, before, after) => {
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

  it.fails('holds old tasks untouched, whoever has forced or scaled the app in between', () => {
    fc.assert(
      fc.property(scenes, acts(true), acts(false), (given, before, after) => {
        const scene = new Scene(given);
        for (const act of before) {
          scene.act(act);
          scene.look();
        }
        if (scene.app.seen.started.size > 0 || scene.worker.seen.started.size > 0) return;
        scene.giveUp();
        for (const act of after) {
          if (scene.look().kind === 'started') return;
          const { spec, tasks } = scene.app.service;
          const running = tasks.filter(
            ({ state, wanted, image }) => state === 'running' && wanted === 'running' && image !== newImage,
          );
          const isHeld =
            imageOf(spec) !== newImage && tasks.some((task) => isAlive(task) && task.image === newImage);
          scene.app.service.reconcile();
          if (isHeld) expect(running.filter(({ wanted }) => wanted !== 'running')).toEqual([]);
          scene.act(act);
        }
      }),
      { ...many, numRuns: 2_000 },
    );
  });
});
