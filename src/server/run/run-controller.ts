import { formatEnd } from '../../core/progress/run-result.ts';
import { byItself, isGoodEnd } from '../../wire/codes.ts';
import { isTooLate } from '../../wire/phase-rows.ts';
import type { CancelReason, Reason, Run } from '../../wire/status.ts';
import { askJobs } from '../host/ask-jobs.ts';
import { outdatedBuildServers } from '../offer/build-servers.ts';
import { judgeJobs } from '../offer/find-reason.ts';
import type { Surroundings } from '../place/surroundings.ts';
import type { RunOrigin } from '../place/updater-container.ts';
import type { OpenRun } from '../store/open-run.ts';
import { BootRegistry } from './boot-registry.ts';
import { EndNotifier } from './end-notifier.ts';
import { EndWriter } from './end-writer.ts';
import { findUpdater } from './find-updater.ts';
import { crash } from './follow-run.ts';
import { planResume, type ResumeStep } from './plan-resume.ts';
import type { RunPlan } from './prepare-run.ts';
import { notRunning, tooLateToCancel } from './reasons.ts';
import { freshRun, RunRecord, runAgain } from './run-record.ts';
import { RunSession } from './run-session.ts';
import type { ServerContext } from './server-context.ts';

/** Knows which run is on, whichever server of the instance has accepted it (docs/contract.md 8.18). */
export class RunController {
  /** When this server began to answer, in milliseconds since 1970. */
  bootedAt = Date.now();
  readonly #context: ServerContext;
  readonly #boots: BootRegistry;
  readonly #notifier: EndNotifier;
  readonly #ends: EndWriter;
  /** The run that is on, or the last one. */
  #record: RunRecord | null = null;
  /** The session of the run that this server prepares or follows. */
  #session: RunSession | null = null;
  #freed: Promise<void> = Promise.resolve();
  #notified: Promise<void> = Promise.resolve();
  /** One look or start at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #isKnown = false;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#boots = new BootRegistry(context);
    this.#notifier = new EndNotifier(context, this.#boots);
    this.#ends = new EndWriter(context);
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

  /** Whether it is known if a run was on as this server began. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Resolves once the session has let go of its run, whose end was tried to be written; at once without a session. */
  get freed(): Promise<void> {
    return this.#freed;
  }

  /** Resolves once the host was told of the end as well. */
  async settled(): Promise<void> {
    if (this.#notifier.isCaller) return;
    await this.#freed;
    await this.#notified;
  }

  /**
   * Looks at the store, then at the engine, and does what is to be done about a run that is on. Never the other way
   * round: what the store has as launched must be the engine's already. Gives what it saw.
   * @throws HostFailure or HomeNotFound where store or engine leave it open whether a run is on
   */
  reconcile(): Promise<Surroundings> {
    return this.#exclusive(async () => {
      // What is read while a session comes to its end may be from before that.
      const hadSession = this.hasSession;
      const stored = await this.#ends.openRun();
      const seen = await this.#context.place.observe();
      if (hadSession) return seen;
      // The run may have ended while the engine was asked.
      const open = stored === null || this.#ends.isUnwritten(stored.run.id) ? null : stored;
      const { noHome } = seen;
      if (noHome === null) await this.#resume(open, seen);
      else if (open !== null || (noHome.mayPass && !this.#isKnown)) throw noHome;
      // Whatever this server has held the queue for is over.
      else await this.#release();
      if (!this.#isKnown) void this.#notifier.notifyAll();
      this.#isKnown = true;
      return seen;
    });
  }

  /**
   * Opens a run in the store, then holds the queue for it, then looks for work. Gives `taken` where another run is open.
   * @throws HostFailure
   */
  async begin(plan: RunPlan): Promise<{ run: Run } | { reason: Reason } | 'taken'> {
    const { ledger, settings } = this.#context;
    const { kind, order, to, path = [] } = plan;
    const id = crypto.randomUUID();
    const startedAt = new Date().toISOString();
    const origin = { id, kind, from: settings.version, to, startedAt, by: order.by, upgradePath: [...path] };
    const record = new RunRecord(freshRun(origin));
    const session = new RunSession(record, this.#context);
    const isOpened = await this.#exclusive(async () => {
      if (this.hasSession || !(await ledger.begin(this.#opened(record.run, null)))) return false;
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
    if (jobs.length > 0) record.prepare('waiting', 'waiting for running jobs to finish', { jobs });
    this.#take(session, session.prepare(plan));
    return { run: record.run };
  }

  /** Holds the queue, then checks for jobs. @throws HostFailure */
  async #admit(order: RunPlan['order']): Promise<ReturnType<typeof judgeJobs>> {
    const { hold, settings, timing } = this.#context;
    await hold.call(true);
    return judgeJobs(order, order.force ? [] : await askJobs(settings, timing));
  }

  /**
   * Asks that the run stop (docs/contract.md 8.19): at the server that prepares it, or its updater.
   * @throws HostFailure, EngineError
   */
  async cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }> {
    const { ledger, settings } = this.#context;
    const record = this.#record;
    const session = this.#session;
    if (record === null || record.hasEnded) return { reason: notRunning };
    const { id } = record.run;
    if (isTooLate(record.run)) return { reason: tooLateToCancel(record.run, settings.product) };
    await session?.cancel(by);
    const noteBy = (open: OpenRun) => ({ ...open, run: { ...open.run, cancelRequestedBy: by } });
    const asked = ledger.change(id, noteBy);
    // Another server that prepares the run learns it from the store; for the own run the store may fail.
    if (session !== null) await asked.catch(ignored);
    else if ((await asked) === null) return { reason: notRunning };
    record.note({ cancelRequestedBy: by });
    return { run: record.run };
  }

  /** For the server's own end: the next server measures from it how long nobody answered. */
  async noteStop(): Promise<void> {
    if (this.#record === null || !this.isUnderWay) return;
    const serverStoppedAt = new Date().toISOString();
    const noteEnd = (open: OpenRun) => ({ ...open, serverStoppedAt });
    await this.#context.ledger.change(this.#record.run.id, noteEnd).catch(ignored);
  }

  /** Ends the open run where this server has no engine and will have none, so that nothing can tell how the run ends. */
  async giveUp(): Promise<void> {
    await this.#exclusive(async () => {
      const open = await this.#ends.openRun();
      if (open === null || this.hasSession) return;
      await this.#carryOut({ kind: 'end', open, outcome: 'crashed', leftover: null });
    });
  }

  async #resume(open: OpenRun | null, seen: Surroundings): Promise<void> {
    // Where this fails, only other servers know less of this one.
    await this.#boots.register().catch(ignored);
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
        await ledger.change(step.open.run.id, () => null);
        return this.#release();
      case 'mirror': {
        await hold.ensure(true);
        const record = this.#recordOf(step.open.run);
        record.mirror(step.open.run);
        return this.#show(record);
      }
      case 'follow': {
        const { open, updater } = step;
        if (updater.state !== 'ended') await hold.ensure(true);
        // Its server may have ended before it could write this; nothing here depends on it. An absence that is measured
        // here must not be measured again by the next server.
        if (open.updater === null || open.serverStoppedAt !== null) {
          const noteBegin = (now: OpenRun) => ({ ...now, updater: updater.id, serverStoppedAt: null });
          await ledger.change(open.run.id, noteBegin).catch(ignored);
        }
        return this.#follow(this.#recordOf(open.run), updater.id, open);
      }
      case 'adopt': {
        const { undone } = step;
        const { id: containerId, origin } = step.updater;
        if (undone !== null) await ledger.addPast(takenBack(undone, origin), null);
        const past = (await ledger.pastRuns()).find(({ run }) => run.id === origin.id)?.run;
        const record = new RunRecord(
          past ? runAgain(past) : freshRun(origin, 'launching', 'reading the updater log'),
        );
        const open = this.#opened(record.run, containerId);
        await hold.ensure(true);
        // Where the store has a run by now, the next look finds it. A store that fails changes nothing of a run.
        const opening = undone === null ? ledger.begin(open) : ledger.replace(undone.run.id, open);
        if (await opening.catch(() => true)) this.#follow(record, containerId, open);
        return;
      }
      case 'end': {
        const { open, outcome, leftover } = step;
        // Another server may have seen its real end meanwhile.
        if ((await this.#ends.openRun())?.run.id !== open.run.id) return;
        if (leftover !== null) await engine.removeContainer(leftover, { force: true }).catch(ignored);
        const record = this.#recordOf(open.run);
        record.end(endings[outcome]);
        return this.#take(new RunSession(record, this.#context), Promise.resolve(null));
      }
    }
  }

  #opened(run: Run, updater: string | null): OpenRun {
    return { run, server: this.#boots.own, updater, serverStoppedAt: null };
  }

  /** The record that is shown already, or a new one. */
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
    // The server before this one has noted its end; an hour later a clock was set.
    const awayMs = this.bootedAt - Date.parse(serverStoppedAt ?? '');
    record.note(awayMs >= 0 && awayMs < 3_600_000 ? { downtimeSeconds: Math.round(awayMs / 100) / 10 } : {});
    const session = new RunSession(record, this.#context);
    this.#take(session, session.follow(containerId));
  }

  /** From here on the session is at work. */
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
    // Without an end, the next server of the instance goes on with the run, and needs the hold.
    if (!record.hasEnded) return;
    const { ledger, listeners, settings, timing } = this.#context;
    const warnings = await outdatedBuildServers(record.run, settings, timing);
    for (const warning of warnings) record.warn(warning);
    const isGood = isGoodEnd(record.run.outcome);
    const message = `update finished: ${sentenceOf(record.run)}`;
    settings.log({ level: isGood ? 'info' : 'warn', message });
    listeners.emit('end', record.run);
    const { tried, written } = this.#ends.write(record.run.id, async () => {
      // Nobody has asked for it, and it has not begun: another window comes.
      const isQuiet = record.run.by === byItself && updaterStartedAt === null && isHarmless(record.run);
      await ledger.addPast(record.run, updaterStartedAt, { told: isQuiet });
      await ledger.change(record.run.id, () => null);
    });
    await tried;
    await this.#free();
    this.#notified = written.then((isWritten) => (isWritten ? this.#notifier.notifyAll() : undefined));
  }

  /** A run that never began: nobody is told of it. */
  async #drop(id: string): Promise<void> {
    await this.#ends.write(id, () => this.#context.ledger.change(id, () => null)).tried;
    await this.#free();
  }

  async #free(): Promise<void> {
    this.#session = null;
    // Where store or engine do not tell whether another run is on, there is nothing left to hold the queue for.
    await this.reconcile().then(ignored, () => this.#context.hold.ensure(false));
  }

  /** Nothing is on: the queue goes on, unless a run is opened in the same moment. @throws HostFailure */
  async #release(): Promise<void> {
    const { hold } = this.#context;
    await this.#settleOthers(null);
    const wasReleased = hold.wanted === false;
    await hold.ensure(false);
    if (!wasReleased && (await this.#ends.openRun()) !== null) await hold.ensure(true);
  }

  /** A run that another server has prepared is over, or never began, where another run or none is on by now. @throws HostFailure */
  async #settleOthers(id: string | null): Promise<void> {
    const record = this.#record;
    if (record === null || record.hasEnded || record.run.id === id) return;
    const past = (await this.#context.ledger.pastRuns()).find(({ run }) => run.id === record.run.id);
    if (past) record.mirror(past.run);
    else record.end({ outcome: 'cancelled', message: 'the update was not started; nothing was changed' });
    this.#context.listeners.emit('end', record.run);
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(ignored);
    return done;
  }
}

const ignored = () => {};

/** Its end was in the store that the rollback has restored. Only a run that changed the instance is rolled back. */
function takenBack({ run }: OpenRun, { startedAt }: RunOrigin): Run {
  const record = new RunRecord(run);
  const message = `${run.from} → ${run.to}, later rolled back`;
  record.end({ outcome: 'updated', message }, new Date(startedAt));
  return record.run;
}

const isHarmless = ({ outcome }: Run): boolean => outcome === 'cancelled' || outcome === 'refused';

const endings = {
  crashed: {
    ...crash,
    message: 'the result of the update is unknown: the updater container was removed, so its log is lost',
    code: 'updater-gone',
  },
  cancelled: {
    outcome: 'cancelled',
    message: 'the server was stopped before the updater was started; nothing was changed',
  },
} as const;

/** As the last line of an updater's log has it. */
const sentenceOf = ({ outcome, ...run }: Run): string =>
  outcome === null || isGoodEnd(outcome) ? run.message : formatEnd({ ...run, outcome });
