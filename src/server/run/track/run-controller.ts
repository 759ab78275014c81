import { formatLastLogLine } from '../../../core/progress/run-result.ts';
import { automaticCaller, isSuccessfulOutcome } from '../../../wire/codes.ts';
import { isTooLateToCancel } from '../../../wire/derived/phase-rows.ts';
import type { CancelReason, Reason, Run } from '../../../wire/status.ts';
import { fetchJobs } from '../../application/fetch-jobs.ts';
import type { DeploymentState } from '../../deployment/deployment-cache.ts';
import type { InitialRunFacts } from '../../deployment/updater-container.ts';
import { fetchBuildServerWarnings } from '../../reasons/build-servers.ts';
import { findAwaitedJobs } from '../../reasons/find-blocking-reason.ts';
import { createTooLateToCancelReason, notRunningReason } from '../../reasons/run-reasons.ts';
import type { OpenRun } from '../../store/stored-entries.ts';
import type { RunPlan } from '../launch/prepare-run.ts';
import { createRun, RunRecord, reopenRun } from '../run-record.ts';
import type { ServerContext } from '../server-context.ts';
import { findUpdater } from './find-updater.ts';
import { crashedRunResult } from './follow-run-log.ts';
import { planResume, type ResumeStep } from './plan-resume.ts';
import { ResultNotifier } from './result-notifier.ts';
import { ResultWriter } from './result-writer.ts';
import { RunSession } from './run-session.ts';
import { ServerLiveness } from './server-liveness.ts';

/** Tracks the instance's current run, even if another server has accepted the run (docs/contract.md 8.18). */
export class RunController {
  /** Start time of this server in milliseconds since 1970, for measuring the downtime. */
  bootedAt = Date.now();
  readonly #context: ServerContext;
  readonly #boots: ServerLiveness;
  readonly #notifier: ResultNotifier;
  readonly #ends: ResultWriter;
  /** Record of the current run, or of the last run if no run is in progress. */
  #record: RunRecord | null = null;
  /** Session of the run that this server prepares or follows; null if there is no such run. */
  #session: RunSession | null = null;
  #freed: Promise<void> = Promise.resolve();
  #notified: Promise<void> = Promise.resolve();
  /** Completion of the last queued operation. Operations that reconcile or start a run are executed one at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #isKnown = false;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#boots = new ServerLiveness(context);
    this.#notifier = new ResultNotifier(context, this.#boots);
    this.#ends = new ResultWriter(context);
  }

  get record(): RunRecord | null {
    return this.#record;
  }

  get isUnderWay(): boolean {
    return this.#record !== null && !this.#record.hasEnded;
  }

  /** Whether this server prepares or follows a run. */
  get hasSession(): boolean {
    return this.#session !== null;
  }

  /** Whether it is known if a run was in progress when this server started. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /**
   * Resolves when the session has ended, after its first attempt to write the outcome. If there is no session, resolves
   * immediately.
   */
  get whenReleased(): Promise<void> {
    return this.#freed;
  }

  /**
   * Resolves when the session has ended and `onEnd` was called. If `onEnd` calls this method, resolves immediately,
   * because `onEnd` would otherwise wait for itself.
   */
  async waitUntilSettled(): Promise<void> {
    if (this.#notifier.isInsideOnEnd) return;
    await this.#freed;
    await this.#notified;
  }

  /**
   * Reads the store, inspects the engine, and continues the current run. Because of this order, an updater that is
   * recorded in the store already exists when the engine is inspected.
   * @throws ApplicationError or DeploymentNotFoundError if it remains unknown whether a run is in progress
   */
  reconcile(): Promise<DeploymentState> {
    return this.#exclusive(async () => {
      // If this server has a session, the results are not used: they are outdated if the session ends during the reads.
      const hadSession = this.hasSession;
      const stored = await this.#ends.openRun();
      const seen = await this.#context.place.observe();
      if (hadSession) return seen;
      // The run may have ended while the engine was inspected.
      const open = stored === null || this.#ends.isUnwritten(stored.run.id) ? null : stored;
      const { noHome } = seen;
      if (noHome === null) await this.#resume(open, seen);
      else if (open !== null || (noHome.mayPass && !this.#isKnown)) throw noHome;
      // No run is open, so every run for which this server paused the queue has ended.
      else await this.#release();
      if (!this.#isKnown) void this.#notifier.notifyAll();
      this.#isKnown = true;
      return seen;
    });
  }

  /**
   * Opens a run in the store, then pauses the queue, then checks for jobs. Returns `taken` if another run is open.
   * @throws ApplicationError
   */
  async begin(plan: RunPlan): Promise<{ run: Run } | { reason: Reason } | 'taken'> {
    const { ledger, settings } = this.#context;
    const { kind, order, to, path = [] } = plan;
    const id = crypto.randomUUID();
    const startedAt = new Date().toISOString();
    const origin = { id, kind, from: settings.version, to, startedAt, by: order.by, upgradePath: [...path] };
    const record = new RunRecord(createRun(origin));
    const session = new RunSession(record, this.#context);
    const isOpened = await this.#exclusive(async () => {
      if (this.hasSession || !(await ledger.openRun(this.#opened(record.run, null)))) return false;
      this.#session = session;
      return true;
    });
    if (!isOpened) return 'taken';
    const admission = await this.#admit(order).catch(async (error) => {
      await this.#drop(id);
      throw error;
    });
    if ('reason' in admission) {
      await this.#drop(id);
      return admission;
    }
    const { jobs } = admission;
    if (jobs.length > 0) record.setLaunchState('waiting', 'waiting for running jobs to finish', { jobs });
    this.#take(session, session.prepare(plan));
    return { run: record.run };
  }

  /** Pauses the queue, then checks for jobs. @throws ApplicationError */
  async #admit(order: RunPlan['order']): Promise<ReturnType<typeof findAwaitedJobs>> {
    const { hold, settings, timing } = this.#context;
    await hold.requestState(true);
    return findAwaitedJobs(order, order.force ? [] : await fetchJobs(settings, timing));
  }

  /**
   * Requests cancellation of the current run (docs/contract.md 8.19). Until the updater is launched, the preparing
   * server cancels the run; afterwards, the updater does.
   * @throws ApplicationError, EngineError
   */
  async cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }> {
    const { ledger, settings } = this.#context;
    const record = this.#record;
    const session = this.#session;
    if (record === null || record.hasEnded) return { reason: notRunningReason };
    const { id } = record.run;
    if (isTooLateToCancel(record.run))
      return { reason: createTooLateToCancelReason(record.run, settings.product) };
    await session?.cancel(by);
    const noteBy = (open: OpenRun) => ({ ...open, run: { ...open.run, cancelRequestedBy: by } });
    const requested = ledger.changeOpenRun(id, noteBy);
    // If another server is preparing the run, that server reads the request from the store. This server's session
    // already has the request, so a store failure is ignored.
    if (session !== null) await requested.catch(ignoreResult);
    else if ((await requested) === null) return { reason: notRunningReason };
    record.setFields({ cancelRequestedBy: by });
    return { run: record.run };
  }

  /** Stores the time at which this server stops. The next server uses it to measure the downtime. */
  async noteStop(): Promise<void> {
    if (this.#record === null || !this.isUnderWay) return;
    const serverStoppedAt = new Date().toISOString();
    const noteEnd = (open: OpenRun) => ({ ...open, serverStoppedAt });
    await this.#context.ledger.changeOpenRun(this.#record.run.id, noteEnd).catch(ignoreResult);
  }

  /** Ends the open run as `crashed`: without an engine, this server can never learn the outcome. */
  async endOpenRunAsCrashed(): Promise<void> {
    await this.#exclusive(async () => {
      const open = await this.#ends.openRun();
      if (open === null || this.hasSession) return;
      await this.#carryOut({ kind: 'end', open, outcome: 'crashed', leftover: null });
    });
  }

  async #resume(open: OpenRun | null, seen: DeploymentState): Promise<void> {
    // Ignore a failure: it only makes it harder for other servers to check whether this server process is running.
    await this.#boots.register().catch(ignoreResult);
    const updater = await findUpdater(open, seen, this.#context);
    const server = open === null ? 'this' : await this.#boots.stateOf(open.server);
    await this.#carryOut(planResume(open, updater, server));
  }

  async #carryOut(step: ResumeStep): Promise<void> {
    const { hold, ledger, engine } = this.#context;
    const id = 'open' in step ? step.open.run.id : step.kind === 'adopt' ? step.updater.origin.id : null;
    await this.#settleOthers(id);
    switch (step.kind) {
      case 'release':
        return this.#release();
      case 'drop':
        await ledger.changeOpenRun(step.open.run.id, () => null);
        return this.#release();
      case 'mirror': {
        await hold.ensureState(true);
        const record = this.#recordOf(step.open.run);
        record.mirror(step.open.run);
        return this.#show(record);
      }
      case 'follow': {
        const { open, updater } = step;
        if (updater.state !== 'ended') await hold.ensureState(true);
        // Store the container id, because the launching server may have stopped before it could do so. Clear the stop
        // time, so that the downtime is counted only once.
        if (open.updater === null || open.serverStoppedAt !== null) {
          const noteBegin = (now: OpenRun) => ({ ...now, updater: updater.id, serverStoppedAt: null });
          // Nothing depends on this write, so ignore a failure.
          await ledger.changeOpenRun(open.run.id, noteBegin).catch(ignoreResult);
        }
        return this.#follow(this.#recordOf(open.run), updater.id, open);
      }
      case 'adopt': {
        const { undone } = step;
        const { id: containerId, origin } = step.updater;
        if (undone !== null) await ledger.addPastRun(toRolledBackRun(undone, origin), null);
        const past = (await ledger.readPastRuns()).find(({ run }) => run.id === origin.id)?.run;
        const record = new RunRecord(
          past ? reopenRun(past) : createRun(origin, 'launching', 'reading the updater log'),
        );
        const open = this.#opened(record.run, containerId);
        await hold.ensureState(true);
        // If the store now contains another run, the next reconciliation finds that run. If the store fails, follow
        // this run anyway.
        const opening = undone === null ? ledger.openRun(open) : ledger.replaceOpenRun(undone.run.id, open);
        if (await opening.catch(() => true)) this.#follow(record, containerId, open);
        return;
      }
      case 'end': {
        const { open, outcome, leftover } = step;
        // Another server may have recorded the actual outcome of the run in the meantime.
        if ((await this.#ends.openRun())?.run.id !== open.run.id) return;
        if (leftover !== null) await engine.removeContainer(leftover, { force: true }).catch(ignoreResult);
        const record = this.#recordOf(open.run);
        record.end(resultsWithoutUpdater[outcome]);
        return this.#take(new RunSession(record, this.#context), Promise.resolve(null));
      }
    }
  }

  #opened(run: Run, updater: string | null): OpenRun {
    return { run, server: this.#boots.own, updater, serverStoppedAt: null };
  }

  /** Returns the current record if it belongs to the run and has not ended. Otherwise, returns a new record. */
  #recordOf(run: Run): RunRecord {
    const now = this.#record;
    return now?.run.id === run.id && !now.hasEnded ? now : new RunRecord(run);
  }

  #show(record: RunRecord): void {
    if (this.#record === record) return;
    this.#record = record;
    this.#context.listeners.emit('start', record.run);
  }

  #follow(record: RunRecord, containerId: string, { serverStoppedAt }: OpenRun): void {
    // Time from the previous server's stop to this server's start. If the time is negative or more than an hour, a
    // clock was set, so the time is ignored.
    const awayMs = this.bootedAt - Date.parse(serverStoppedAt ?? '');
    record.setFields(
      awayMs >= 0 && awayMs < 3_600_000 ? { downtimeSeconds: Math.round(awayMs / 100) / 10 } : {},
    );
    const session = new RunSession(record, this.#context);
    this.#take(session, session.follow(containerId));
  }

  /** Makes the session the current one, and finishes its run when `work` is done. */
  #take(session: RunSession, work: Promise<string | null>): void {
    this.#session = session;
    this.#show(session.record);
    this.#freed = work
      .then((startedAt) => this.#finish(session.record, startedAt))
      .catch((cause) => {
        const message = 'an error occurred after the end of an update';
        this.#context.settings.log({ level: 'error', message, cause });
      });
  }

  async #finish(record: RunRecord, updaterStartedAt: string | null): Promise<void> {
    // The next server continues a run without an outcome, so the queue must stay paused.
    if (!record.hasEnded) return;
    const { ledger, listeners, settings, timing } = this.#context;
    const warnings = await fetchBuildServerWarnings(record.run, settings, timing);
    for (const warning of warnings) record.warn(warning);
    const isGood = isSuccessfulOutcome(record.run.outcome);
    const message = `${record.run.kind} finished: ${formatOutcomeLine(record.run)}`;
    settings.log({ level: isGood ? 'info' : 'warn', message });
    listeners.emit('end', record.run);
    const { tried, written } = this.#ends.write(record.run.id, async () => {
      // `onEnd` is not called for an automatic update that was not started: the update is tried again in the next time
      // window.
      const isQuiet =
        record.run.by === automaticCaller && updaterStartedAt === null && isHarmless(record.run);
      await ledger.addPastRun(record.run, updaterStartedAt, { told: isQuiet });
      await ledger.changeOpenRun(record.run.id, () => null);
    });
    await tried;
    await this.#free();
    this.#notified = written.then((isWritten) => (isWritten ? this.#notifier.notifyAll() : undefined));
  }

  /** Deletes a run from the store without reporting an outcome, because the run was never started. */
  async #drop(id: string): Promise<void> {
    await this.#ends.write(id, () => this.#context.ledger.changeOpenRun(id, () => null)).tried;
    await this.#free();
  }

  async #free(): Promise<void> {
    this.#session = null;
    // If it remains unknown whether another run is in progress, do not keep the queue paused.
    await this.reconcile().then(ignoreResult, () => this.#context.hold.ensureState(false));
  }

  /**
   * Resumes the queue, because no run is in progress. Pauses the queue again if a run was opened in the meantime.
   * @throws ApplicationError
   */
  async #release(): Promise<void> {
    const { hold } = this.#context;
    await this.#settleOthers(null);
    const wasReleased = hold.shouldBePaused === false;
    await hold.ensureState(false);
    if (!wasReleased && (await this.#ends.openRun()) !== null) await hold.ensureState(true);
  }

  /**
   * If a run that another server was preparing is no longer current, ends this server's record of the run. The run has
   * then finished, or was never started.
   * @param id - id of the current run; null if no run is in progress
   * @throws ApplicationError
   */
  async #settleOthers(id: string | null): Promise<void> {
    const record = this.#record;
    if (record === null || record.hasEnded || record.run.id === id) return;
    const past = (await this.#context.ledger.readPastRuns()).find(({ run }) => run.id === record.run.id);
    if (past) record.mirror(past.run);
    else record.end({ outcome: 'cancelled', message: 'the update was not started; nothing was changed' });
    this.#context.listeners.emit('end', record.run);
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(ignoreResult);
    return done;
  }
}

const ignoreResult = () => {};

/**
 * Returns the rolled-back run from the updater of the rollback, because the restored store lacks its result. If no
 * server has started the rollback, only the outcome is known: the run has changed the instance.
 */
function toRolledBackRun({ run }: OpenRun, { undone }: InitialRunFacts): Run {
  if (undone?.id === run.id) return undone;
  const message = `${run.from} → ${run.to}, later rolled back; the end of the update is unknown`;
  return { ...createRun(run), state: 'updated', outcome: 'updated', message, steps: [] };
}

const isHarmless = ({ outcome }: Run): boolean => outcome === 'cancelled' || outcome === 'refused';

const resultsWithoutUpdater = {
  crashed: {
    ...crashedRunResult,
    message: 'the result of the update is unknown: the updater container was removed, so its log is lost',
    code: 'updater-gone',
  },
  cancelled: {
    outcome: 'cancelled',
    message: 'the server was stopped before the updater was started; nothing was changed',
  },
} as const;

/** Formats the result of a run like the last line of an updater log. */
const formatOutcomeLine = ({ outcome, ...run }: Run): string =>
  outcome === null || isSuccessfulOutcome(outcome) ? run.message : formatLastLogLine({ ...run, outcome });
