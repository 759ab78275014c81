import { sleepFor, waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { updateSwarmService } from '../../../engine/swarm/swarm-requests.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import type { Log } from '../../run/log/run-log.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import type { DrivenRun, NextStep, RunGoal } from '../../run/run-steps.ts';
import type { StoredRunState } from '../../run/state/run-state.ts';
import type { InspectedStack } from '../plan/inspect-stack.ts';
import type { StackUpdatePlan } from '../plan/plan-stack.ts';
import { createSwarmCredentialHeaders, pullStackImages } from '../pull/pull-stack.ts';
import { type StackRecord, stackRollbackState } from '../record/stack-record.ts';
import { logUpdatedStackOutcome } from './log-updated-stack-outcome.ts';
import { logUnresolvedTasks, logWaitProgress, swarmWriteMessages } from './log-wait-progress.ts';
import {
  planStackRollbackStep,
  planStackUpdateStep,
  type ServiceView,
  type StackStep,
  type StackView,
  type SwarmWriteKind,
  swarmWrites,
  type WaitStep,
} from './plan-stack-step.ts';
import {
  createNotRolledBackError,
  createRolledBackError,
  createServiceChangedError,
  createSwarmLostError,
  createTaskFailureError,
  findWaitError,
  readFailedTaskLog,
} from './stack-errors.ts';
import { StackWatch } from './stack-watch.ts';
import { restoreStackFiles, writeStackFiles } from './write-stack-files.ts';

/** Minimum time in ms between two polls. It is short enough to see a new task that starts and exits at once. */
const pollMs = 100;
/**
 * Maximum number of writes of one kind to a service. After more writes, the run gives up, because another user seems to
 * keep changing the service.
 */
const maxRewrites = 5;

type StackToUpdate = Pick<InspectedStack, 'context' | 'place' | 'paths' | 'directory'>;

/** View of a run that has not changed any service yet, and therefore has not polled the engine. */
interface UnchangedRunView {
  at: 'pulling' | 'writing';
  planned: StackUpdatePlan;
}

type StackRunView = (StackView & { areFilesBack: boolean }) | UnchangedRunView;
type StackRunStep =
  | Exclude<StackStep, { kind: 'done' }>
  | { kind: 'pull' | 'write-files'; planned: StackUpdatePlan }
  | { kind: 'restore-files' };
type Executors = { [K in StackRunStep['kind']]: (step: Extract<StackRunStep, { kind: K }>) => Promise<void> };

/** Update of a stack. Every write to a service is based on the latest poll. */
export class StackRun implements DrivenRun<StackRunView, StackRunStep> {
  readonly record: StackRecord;
  /** Whether services may have been changed. */
  isReplacing: boolean;
  readonly #stack: StackToUpdate;
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #planned: StackUpdatePlan | null;
  readonly #watch: StackWatch;
  readonly #writes = new Map<SwarmWriteKind, number>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** `key` identifies the condition of the current wait; `since` is the time in ms at which the wait began. */
  #wait = { key: '', since: 0 };
  #areFilesBack = false;

  /**
   * @param earlier - state in which the resumed run was killed; null for a new run
   * @param planned - plan of a new run; null for a resumed run, which needs only the record
   */
  constructor(
    stack: StackToUpdate,
    record: StackRecord,
    {
      earlier: previous = null,
      planned = null,
    }: { earlier?: StoredRunState | null; planned?: StackUpdatePlan | null },
  ) {
    this.record = record;
    this.isReplacing = record.state.at !== 'pulling';
    this.#stack = stack;
    this.#engine = stack.context.engine.uncancellable();
    this.#log = stack.context.log;
    this.#planned = planned;
    this.#watch = new StackWatch(stack, record, previous);
  }

  async inspect(): Promise<StackRunView> {
    const { at } = this.record.state;
    const planned = this.#planned;
    if (planned !== null && (at === 'pulling' || at === 'writing')) return { at, planned };
    const view = await this.#orRestore(() => this.#lookAtStack());
    return { ...view, areFilesBack: this.#areFilesBack };
  }

  planNextStep(view: StackRunView, goal: RunGoal): NextStep<StackRunStep> {
    if ('at' in view) return { kind: view.at === 'pulling' ? 'pull' : 'write-files', planned: view.planned };
    if (goal === 'update') return planStackUpdateStep(view);
    if (view.areFilesBack) return { kind: 'done' };
    const step = planStackRollbackStep(view);
    return step.kind === 'done' ? { kind: 'restore-files' } : step;
  }

  execute(step: StackRunStep): Promise<void> {
    const executor = this.#executors[step.kind] as (step: StackRunStep) => Promise<void>;
    return this.#orRestore(() => executor(step));
  }

  readonly #executors: Executors = {
    pull: ({ planned }) => this.#pull(planned),
    'write-files': ({ planned }) => this.#writeFiles(planned),
    write: (step) => this.#write(step),
    wait: async (step) => this.#goOnWaiting(step),
    foreign: async ({ service }) => {
      throw createServiceChangedError(this.#watch, service);
    },
    started: () => this.#stayNew(),
    'restore-files': () => this.#restoreFiles(),
  };

  getWaitSignal(goal: RunGoal): AbortSignal {
    const isCancellable = goal === 'update' && !this.isReplacing;
    return (isCancellable ? this.#stack.context.engine : this.#engine).aborted;
  }

  async switchToRollback(error: unknown): Promise<() => unknown> {
    if (!this.isReplacing) throw error;
    const log = this.#log;
    const { data } = this.record;
    logUnresolvedTasks(log, this.#watch);
    if (!(error instanceof UpdateError) || error.code === 'update-running') throw error;
    if (error.code === 'engine-unavailable') throw createSwarmLostError(error);
    const detail = [...error.detail, ...(await readFailedTaskLog(this.#engine, this.#watch))];
    if (this.#watch.hasStarted) throw createNotRolledBackError(data, error, detail);
    log.error(error.message);
    for (const line of detail) log.error(line);
    log.warn(`no task of ${data.to} has started; undoing all changes`);
    await this.record.update({ state: stackRollbackState });
    this.#wait.since = performance.now();
    return () => createRolledBackError(data, error);
  }

  async completeRun(): Promise<RunOutcome> {
    const { context } = this.#stack;
    context.log.enterPhase('done');
    logUnresolvedTasks(context.log, this.#watch);
    return logUpdatedStackOutcome(context, this.record.data, this.#planned);
  }

  close(): void {
    this.record.release();
  }

  async #lookAtStack(): Promise<StackView> {
    const { record } = this;
    const signal = this.#engine.aborted;
    const observe = async () => {
      await sleepFor(Math.max(1, pollMs - (performance.now() - this.#lookedAt)), signal);
      this.#lookedAt = performance.now();
      record.requireNotLost();
      return this.#watch.poll();
    };
    const evaluate = (seen: StackView) => {
      if (!this.#watch.isOutdated) return seen;
      logWaitIfQuiet(this.#log, 'waiting until the new Swarm leader knows the state of all nodes');
      this.#wait.since = performance.now();
    };
    const view = await waitUntil(observe, evaluate, { pause: 0, signal });
    // A new task's start is recorded before any decision depends on it, so that no later run rolls back.
    if (this.#watch.hasStarted !== record.hasStarted)
      await record.update({ started: this.#watch.hasStarted });
    this.#enterVerify(view);
    return view;
  }

  /** Enters the `verify` phase once all services have their new definition. */
  #enterVerify({ app, workers }: StackView): void {
    const isTold = ({ side, isStopped, isScaledToZero: isOff }: ServiceView) =>
      side === 'new' && (!isStopped || isOff);
    if (!this.#watch.isRollingBack && [app, ...workers].every(isTold)) this.#log.enterPhase('verify');
  }

  /** If the work fails during a rollback, restores the files anyway, unless a new task has started. */
  async #orRestore<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (!this.#watch.isRollingBack) throw cause;
      const { hasStarted } = this.#watch;
      if (!hasStarted) await this.#restoreFiles();
      if (!(cause instanceof UpdateError)) throw cause;
      // The next run continues the rollback from the record.
      if (cause.code === 'engine-unavailable') throw createSwarmLostError(cause);
      throw hasStarted ? createNotRolledBackError(this.record.data, cause, []) : cause;
    }
  }

  async #pull(planned: StackUpdatePlan): Promise<void> {
    const { context } = this.#stack;
    this.#log.enterPhase('pull');
    await pullStackImages(context, planned, this.record.data);
    if (planned.files?.draft.changes.length) await this.record.update({ state: { at: 'writing' } });
    else await this.#beginReplacing();
  }

  async #writeFiles({ files }: StackUpdatePlan): Promise<void> {
    const { context, paths } = this.#stack;
    this.#log.enterPhase('write');
    if (files) await writeStackFiles(context, files, { paths, run: this.record.data.run });
    await this.#beginReplacing();
  }

  async #beginReplacing(): Promise<void> {
    const { engine, cancellation } = this.#stack.context;
    // Last moment at which a signal can cancel the run.
    if (cancellation.signal.aborted) {
      await this.#restoreFiles();
      throw engine.abortError;
    }
    cancellation.disable();
    this.isReplacing = true;
    this.#log.enterPhase('recreate');
    await this.record.update({ state: { at: 'replacing' } });
  }

  async #write({ write, service }: Extract<StackStep, { kind: 'write' }>): Promise<void> {
    const { record } = this;
    const watch = this.#watch;
    const each = watch.followed.find(({ move }) => move === service.move);
    const { form, from } = swarmWrites[write];
    if (!each || each.version === null || service.side === null) return;
    if (!(from as readonly string[]).includes(service.side)) throw createServiceChangedError(watch, service);
    const count = (this.#writes.get(write) ?? 0) + 1;
    this.#writes.set(write, count);
    if (count > maxRewrites * watch.followed.length) throw createServiceChangedError(watch, service);
    if (write === 'restore' && record.state.at !== 'restoring')
      await record.update({ state: { at: 'restoring', ending: null } });
    await record.requireOwnership();
    const spec = watch.specOf(each, form);
    each.tried = spec;
    const { id, name, image } = service.move;
    const isMoved = form === 'moving' || form === 'after';
    const headers = isMoved ? createSwarmCredentialHeaders(this.#planned?.published ?? [], image) : {};
    const done = await updateSwarmService(this.#engine, { id, name, version: each.version }, spec, headers);
    this.#wait.since = performance.now();
    // `moved`: another write came first, or a leader election lost the response. The next poll shows which.
    if (done === 'moved') return;
    this.#log.info(swarmWriteMessages[write](service), { write, service: name });
    each.known = spec;
    for (const { id } of service.tasks.stuck) each.seen.bypassed.add(id);
  }

  #goOnWaiting(step: WaitStep): void {
    const now = performance.now();
    const key = `${step.service.move.name} ${step.what} ${step.progress}`;
    if (key !== this.#wait.key) this.#wait = { key, since: now };
    const waitedMs = now - this.#wait.since;
    logWaitProgress(this.#log, this.#watch, step, waitedMs);
    const { waitTimeoutMs } = this.#stack.context.options.limits;
    const failure = findWaitError(this.#watch, step, { waitedMs, timeoutMs: waitTimeoutMs });
    if (failure) throw failure;
  }

  /**
   * Moves the app to the new version and then fails, because a rollback is no longer possible. Workers stay stopped.
   */
  async #stayNew(): Promise<void> {
    const [app] = this.#watch.views;
    if (app?.side === 'old') await this.#write({ kind: 'write', write: 'move-app', service: app });
    throw createTaskFailureError(this.#watch, `a task of the new version of ${app?.move.name} has started`);
  }

  async #restoreFiles(): Promise<void> {
    if (this.#areFilesBack) return;
    this.#areFilesBack = true;
    await restoreStackFiles(this.#stack.context, this.record.data, this.#stack.directory);
  }
}
