import { serviceImageOf } from '../../../engine/swarm/swarm-service.ts';
import { hasNewImageBeforeRun, type SpecForm, type StackServiceUpdate } from '../services/specs.ts';
import type { TaskSummary } from '../services/tasks.ts';

/**
 * Writes to a stack's services. `form` is the form of the spec to write; `from` lists which images the current spec may
 * have.
 */
export const swarmWrites = {
  /** Stops a worker, because no old worker may run on data that the new app has migrated. */
  'stop-worker': { form: 'stopped', from: ['old', 'new'] },
  /** Stops all old app tasks before the first new app task starts, for example because of `--stop-first`. */
  'stop-first': { form: 'stopped', from: ['old'] },
  'move-app': { form: 'moving', from: ['old', 'new'] },
  'move-worker': { form: 'moving', from: ['old', 'new'] },
  /** Makes Swarm stop waiting for a task on a node that is down. */
  nudge: { form: 'nudged', from: ['new'] },
  /** Makes Swarm remove new tasks that have not started, and prevents it from starting others. */
  hold: { form: 'held', from: ['new'] },
  /** Restores the original spec. If this run has given the service its new image, `hold` must be written first. */
  restore: { form: 'before', from: ['old', 'new'] },
  /**
   * Writes the owner's settings with the new image, even if the current spec is identical. Swarm's own rollback
   * restores the previous spec, which must not have the old image.
   */
  settle: { form: 'after', from: ['new'] },
} as const satisfies Record<string, { form: SpecForm; from: readonly ('old' | 'new')[] }>;

export type SwarmWriteKind = keyof typeof swarmWrites;

/** State of a service in one poll. */
export interface ServiceView {
  move: StackServiceUpdate;
  /** Whether the current spec has the old or the new image; null if another user or process changed the spec. */
  side: 'old' | 'new' | null;
  /** Image of the current spec. */
  image: string;
  isStopped: boolean;
  /** Forms that the current spec matches exactly. */
  forms: ReadonlySet<SpecForm>;
  /** Whether the service's previous spec has the new image, so that Swarm's own rollback keeps the new version. */
  isPreviousSpecNew: boolean;
  /** Whether Swarm has paused the rolling update because a new task failed. */
  isPaused: boolean;
  /** Whether the owner wants 0 replicas. */
  isScaledToZero: boolean;
  tasks: TaskSummary;
}

export interface StackView {
  app: ServiceView;
  workers: readonly ServiceView[];
  /** Whether all old app tasks are stopped before the first new app task starts. */
  stopFirst: boolean;
  /** Whether the new app has been healthy at least once. Its migrations are then complete, so new workers may run. */
  hasBeenHealthy: boolean;
}

export type StackStep =
  | { kind: 'write'; write: SwarmWriteKind; service: ServiceView }
  /** `progress` changes as the wait approaches its end. Each change restarts the timeout of the wait. */
  | { kind: 'wait'; service: ServiceView; what: 'ends' | 'starts' | 'returns'; progress: number }
  | { kind: 'foreign'; service: ServiceView }
  /** A new task has started, so a rollback is no longer possible. */
  | { kind: 'started' }
  | { kind: 'done' };

export type WaitStep = Extract<StackStep, { kind: 'wait' }>;

const write = (name: SwarmWriteKind, service: ServiceView): StackStep => ({
  kind: 'write',
  write: name,
  service,
});
const createStopWait = (service: ServiceView): StackStep => ({
  kind: 'wait',
  service,
  what: 'ends',
  progress: -service.tasks.oldAlive.length,
});

/** Returns the first remaining step of an update, in the order of docs/contract.md 11.3. */
export function planStackUpdateStep({
  app,
  workers,
  stopFirst,
  hasBeenHealthy: hasBeenWell,
}: StackView): StackStep {
  const foreign = [app, ...workers].find(({ side }) => side === null);
  if (foreign) return { kind: 'foreign', service: foreign };
  const once = workers.filter(isOnce);
  for (const worker of workers) {
    const isToStop = !isOnce(worker) && !worker.isStopped && !worker.isScaledToZero;
    if (isToStop && (worker.side === 'old' || !hasBeenWell)) return write('stop-worker', worker);
  }
  const busy = workers.find(({ tasks }) => tasks.oldAlive.length > 0);
  if (busy) return createStopWait(busy);
  if (app.side === 'old' && stopFirst && !app.isScaledToZero) {
    if (!app.isStopped) return write('stop-first', app);
    if (app.tasks.oldAlive.length > 0) return createStopWait(app);
  }
  // Services that run once, such as migrations, are updated after the old workers stop and before the app. No old
  // worker may run on migrated data, and the new app needs migrated data.
  for (const each of once) {
    const next = planServiceStep(each, 'move-worker');
    if (next) return next;
  }
  const unmoved = planServiceStep(app, 'move-app');
  if (unmoved) return unmoved;
  for (const worker of workers) {
    const next = planServiceStep(worker, 'move-worker');
    if (next) return next;
  }
  const unsettled = [app, ...workers].find(
    ({ forms, isPreviousSpecNew: isSettled }) => !forms.has('after') || !isSettled,
  );
  return unsettled ? write('settle', unsettled) : { kind: 'done' };
}

const isOnce = ({ move }: ServiceView): boolean => move.role === 'once';

/** Returns the next step for a service; null if the service is updated and healthy. */
function planServiceStep(service: ServiceView, move: 'move-app' | 'move-worker'): StackStep | null {
  const { forms, tasks, isPaused, isPreviousSpecNew: isSettled, isStopped, isScaledToZero: isOff } = service;
  const isForm = forms.has('moving') || forms.has('nudged') || (forms.has('after') && isSettled);
  const isMoved = service.side === 'new' && isForm;
  if (!isMoved || (isStopped && !isOff)) return write(move, service);
  if (tasks.isHealthy) return null;
  // After a failed task, Swarm pauses the update. Once all new tasks are healthy, another write makes Swarm continue.
  const { newRunning, newAlive, oldAlive } = tasks;
  const isHealed = newRunning.length > 0 && newAlive.length === newRunning.length;
  if (
    isPaused &&
    isHealed &&
    tasks.steadyMs >= nudgeMs &&
    oldAlive.length + newAlive.length >= tasks.requiredCount
  )
    return write(move, service);
  const coming = newAlive.filter(({ state }) => state !== 'running' && state !== 'pending');
  const isAtRest = coming.length === 0 && oldAlive.length > 0 && tasks.steadyMs >= nudgeMs;
  if (tasks.isStuck && isAtRest) return write(forms.has('nudged') ? move : 'nudge', service);
  return { kind: 'wait', service, what: 'starts', progress: newRunning.length };
}

const nudgeMs = 5_000;

/** Returns the next step of a rollback (docs/contract.md 11.5). */
export function planStackRollbackStep({ app, workers }: StackView): StackStep {
  const all = [app, ...workers];
  if (all.some(({ tasks }) => tasks.hasStarted)) return { kind: 'started' };
  // Changes by other users are not undone. If such a change made the app run a different version, no service is
  // restored to the old version.
  const before = serviceImageOf(app.move.before);
  const isOther =
    [app, ...app.tasks.oldAlive].some(({ image }) => image !== before) || app.tasks.newAlive.length > 0;
  const own = app.side === null && isOther ? [] : all.filter(({ side }) => side !== null);
  const moved = own.find(
    (each) => each.side === 'new' && !each.forms.has('before') && !hasNewImageBeforeRun(each.move),
  );
  if (moved) return write('hold', moved);
  const coming = own.find(({ move, tasks }) => tasks.newAlive.length > 0 && !hasNewImageBeforeRun(move));
  if (coming) return { kind: 'wait', service: coming, what: 'ends', progress: -coming.tasks.newAlive.length };
  const unlike = own.find(({ forms }) => !forms.has('before'));
  if (unlike) return write('restore', unlike);
  const away = own.find(({ tasks }) => !tasks.isRestored);
  return away
    ? { kind: 'wait', service: away, what: 'returns', progress: away.tasks.oldRunning.length }
    : { kind: 'done' };
}
