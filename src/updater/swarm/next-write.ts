import { imageOf } from '../../engine/swarm.ts';
import { keepsImage, type ServiceMove, type SpecForm } from './specs.ts';
import type { TaskSummary } from './tasks.ts';

/** All that a run ever writes to a Swarm's services. */
export const writes = {
  /** No old worker may meet what the new app has migrated. */
  'stop-worker': { form: 'stopped', from: ['old', 'new'] },
  /** As `--stop-first` asks for it. */
  'stop-first': { form: 'stopped', from: ['old'] },
  'move-app': { form: 'moving', from: ['old', 'new'] },
  'move-worker': { form: 'moving', from: ['old', 'new'] },
  /** Swarm stops waiting for a task on a node that is down. */
  nudge: { form: 'nudged', from: ['new'] },
  /** Swarm takes away new tasks that have not started, and starts nothing. */
  hold: { form: 'held', from: ['new'] },
  /** From the new image only where it was there before: what else has started there has migrated. */
  restore: { form: 'before', from: ['old', 'new'] },
  /** Written also where it is equal: the spec before the last write is what a rollback leads to. */
  settle: { form: 'after', from: ['new'] },
} as const satisfies Record<string, { form: SpecForm; from: readonly ('old' | 'new')[] }>;

export type Write = keyof typeof writes;

/** A service at one look. */
export interface ServiceView {
  move: ServiceMove;
  /** Null if another user or process changed the spec. */
  side: 'old' | 'new' | null;
  /** Of its spec now. */
  image: string;
  isStopped: boolean;
  /** The forms that its spec is in now, to the last value. */
  forms: ReadonlySet<SpecForm>;
  /** What a rollback of somebody's would lead to is the new version. */
  isSettled: boolean;
  /** Swarm has stopped its rolling update, as a new task failed. */
  isPaused: boolean;
  /** Its owner wants none. */
  isOff: boolean;
  tasks: TaskSummary;
}

export interface StackView {
  app: ServiceView;
  workers: readonly ServiceView[];
  /** The app is stopped wholly before its first new task. */
  stopFirst: boolean;
  /** The new app was well once: it has migrated, and new workers may run. */
  hasBeenWell: boolean;
}

export type StackStep =
  | { kind: 'write'; write: Write; service: ServiceView }
  /** @param progress grows whenever it comes nearer */
  | { kind: 'wait'; service: ServiceView; what: 'ends' | 'starts' | 'returns'; progress: number }
  | { kind: 'foreign'; service: ServiceView }
  /** A new task has started, so a rollback is no longer possible. */
  | { kind: 'started' }
  | { kind: 'done' };

export type WaitStep = Extract<StackStep, { kind: 'wait' }>;

const write = (name: Write, service: ServiceView): StackStep => ({ kind: 'write', write: name, service });
const ends = (service: ServiceView): StackStep => ({
  kind: 'wait',
  service,
  what: 'ends',
  progress: -service.tasks.oldAlive.length,
});

/** What of an update is to be done next (docs/contract.md 11.3): the first thing of its order that is not. */
export function nextForward({ app, workers, stopFirst, hasBeenWell }: StackView): StackStep {
  const foreign = [app, ...workers].find(({ side }) => side === null);
  if (foreign) return { kind: 'foreign', service: foreign };
  const once = workers.filter(isOnce);
  for (const worker of workers) {
    const isToStop = !isOnce(worker) && !worker.isStopped && !worker.isOff;
    if (isToStop && (worker.side === 'old' || !hasBeenWell)) return write('stop-worker', worker);
  }
  const busy = workers.find(({ tasks }) => tasks.oldAlive.length > 0);
  if (busy) return ends(busy);
  if (app.side === 'old' && stopFirst && !app.isOff) {
    if (!app.isStopped) return write('stop-first', app);
    if (app.tasks.oldAlive.length > 0) return ends(app);
  }
  // No worker meets what these migrate, and the new app meets nothing older.
  for (const each of once) {
    const next = comes(each, 'move-worker');
    if (next) return next;
  }
  const unmoved = comes(app, 'move-app');
  if (unmoved) return unmoved;
  for (const worker of workers) {
    const next = comes(worker, 'move-worker');
    if (next) return next;
  }
  const unsettled = [app, ...workers].find(({ forms, isSettled }) => !forms.has('after') || !isSettled);
  return unsettled ? write('settle', unsettled) : { kind: 'done' };
}

const isOnce = ({ move }: ServiceView): boolean => move.role === 'once';

/** What a service that moves still lacks; null where it is well. */
function comes(service: ServiceView, move: 'move-app' | 'move-worker'): StackStep | null {
  const { forms, tasks, isPaused, isSettled, isStopped, isOff } = service;
  const isForm = forms.has('moving') || forms.has('nudged') || (forms.has('after') && isSettled);
  const isMoved = service.side === 'new' && isForm;
  if (!isMoved || (isStopped && !isOff)) return write(move, service);
  if (tasks.isWell) return null;
  // One has failed once and is well now: Swarm goes on with the others when it is told so again.
  const { newRunning, newAlive, oldAlive } = tasks;
  const isHealed = newRunning.length > 0 && newAlive.length === newRunning.length;
  if (isPaused && isHealed && tasks.steadyMs >= nudgeMs && oldAlive.length + newAlive.length >= tasks.needs)
    return write(move, service);
  const coming = newAlive.filter(({ state }) => state !== 'running' && state !== 'pending');
  const isAtRest = coming.length === 0 && oldAlive.length > 0 && tasks.steadyMs >= nudgeMs;
  if (tasks.isStuck && isAtRest) return write(forms.has('nudged') ? move : 'nudge', service);
  return { kind: 'wait', service, what: 'starts', progress: newRunning.length };
}

const nudgeMs = 5_000;

/** What of going back is to be done next (docs/contract.md 11.5). */
export function nextBack({ app, workers }: StackView): StackStep {
  const all = [app, ...workers];
  if (all.some(({ tasks }) => tasks.started)) return { kind: 'started' };
  // What somebody else has made of a service stands; beside another version of the app no old worker comes back.
  const before = imageOf(app.move.before);
  const isOther =
    [app, ...app.tasks.oldAlive].some(({ image }) => image !== before) || app.tasks.newAlive.length > 0;
  const own = app.side === null && isOther ? [] : all.filter(({ side }) => side !== null);
  const moved = own.find(
    (each) => each.side === 'new' && !each.forms.has('before') && !keepsImage(each.move),
  );
  if (moved) return write('hold', moved);
  const coming = own.find(({ move, tasks }) => tasks.newAlive.length > 0 && !keepsImage(move));
  if (coming) return { kind: 'wait', service: coming, what: 'ends', progress: -coming.tasks.newAlive.length };
  const unlike = own.find(({ forms }) => !forms.has('before'));
  if (unlike) return write('restore', unlike);
  const away = own.find(({ tasks }) => !tasks.isBack);
  return away
    ? { kind: 'wait', service: away, what: 'returns', progress: away.tasks.oldRunning.length }
    : { kind: 'done' };
}
