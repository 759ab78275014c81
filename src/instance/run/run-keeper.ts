import type { Reason, Run } from '../../wire/status.ts';
import type { RunOrigin } from '../contract/run-origin.ts';
import type { Surroundings, SurroundingsCache } from '../place/surroundings.ts';
import { originOf } from '../place/updater-container.ts';
import type { OpenRun } from '../store/open-run.ts';
import { admitRun } from './admit-run.ts';
import { cancelRun } from './cancel-run.ts';
import { adviceOnCrash } from './follow-run.ts';
import { planResume, type ResumeStep } from './plan-resume.ts';
import type { RunPlan } from './prepare-run.ts';
import { RunCare } from './run-care.ts';
import { type DeskTools, RunDesk } from './run-desk.ts';
import { freshRun, RunRecord, runAgain, type Why } from './run-record.ts';
import { seeUpdater } from './see-updater.ts';
import { ServerMarks } from './server-marks.ts';
import { EndTeller } from './tell-ends.ts';

export interface KeeperTools extends Omit<DeskTools, 'onFree' | 'onWritten'> {
  place: SurroundingsCache;
}

/** What comes of a start: a run, a reason, or that another one is open. */
export type Begun = { run: Run } | { reason: Reason } | 'taken';

/** Knows which run is on, whichever server of the instance has accepted it (docs/contract.md 8.18). */
export class RunKeeper {
  readonly #tools: KeeperTools;
  readonly #desk: RunDesk;
  readonly #marks: ServerMarks;
  readonly #teller: EndTeller;
  /** One look or start at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #isKnown = false;

  constructor(tools: KeeperTools) {
    this.#tools = tools;
    this.#marks = new ServerMarks(tools);
    this.#teller = new EndTeller({ ...tools, marks: this.#marks });
    this.#desk = new RunDesk({
      ...tools,
      onWritten: () => this.#teller.tellAll(),
      // Nobody tells whether another run is on: this one is over, so nothing is left to be held for.
      onFree: () => this.observe().then(noted, () => tools.hold.ensure(false)),
    });
  }

  get record(): RunRecord | null {
    return this.#desk.record;
  }

  get isUnderWay(): boolean {
    return this.#desk.isUnderWay;
  }

  /** This server prepares or follows a run. */
  get isCaring(): boolean {
    return this.#desk.care !== null;
  }

  /** It is known whether a run was on as this server began. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Resolves once what takes care of a run has let go of it; at once where nothing does. */
  get freed(): Promise<void> {
    return this.#desk.freed;
  }

  /** Resolves once its end was told as well. */
  settled(): Promise<void> {
    return this.#teller.isWithin ? Promise.resolve() : this.#desk.settled();
  }

  /**
   * Looks at the store, then at the engine, and does what is to be done about a run that is on. Never the other way
   * round: what the store has as launched must be the engine's already. Gives what it saw.
   * @throws HostFailure, HomeNotFound where nobody tells whether a run is on
   */
  observe(): Promise<Surroundings> {
    return this.#exclusive(async () => {
      const desk = this.#desk;
      // What is read while a run comes to its end may be of before it.
      const isCaring = this.isCaring;
      const stored = await desk.openRun();
      const seen = await this.#tools.place.look();
      if (isCaring) return seen;
      // It may have ended meanwhile.
      const open = stored === null || desk.hasEnded(stored.run.id) ? null : stored;
      const { homeless } = seen;
      if (homeless === null) {
        // Only another server's look at this one is the poorer where this fails.
        await this.#marks.announce().catch(noted);
        const updater = await seeUpdater(open, seen, this.#tools);
        const server = open === null ? 'this' : await this.#marks.stateOf(open.server);
        await this.#carryOut(planResume({ open, updater, server }), updater && originOf(updater.container));
      } else {
        if (open !== null || (homeless.mayPass && !this.#isKnown)) throw homeless;
        // Whatever this server has held for is over.
        await desk.goOn();
      }
      if (!this.#isKnown) void this.#teller.tellAll();
      this.#isKnown = true;
      return seen;
    });
  }

  /** Opens a run in the store, then holds the queue for it, then looks for work. @throws HostFailure */
  async begin(plan: RunPlan): Promise<Begun> {
    const { ledger, settings, timing, hold } = this.#tools;
    const { order, goal } = plan;
    const startedAt = new Date().toISOString();
    const id = crypto.randomUUID();
    const record = new RunRecord(
      freshRun({ id, from: settings.version, to: goal.to, startedAt, by: order.by }),
    );
    const care = new RunCare(record, this.#tools);
    const hasBegun = await this.#exclusive(async () => {
      if (this.#desk.care !== null) return false;
      const open = { run: record.run, server: this.#marks.own, updater: null, serverStoppedAt: null };
      if (!(await ledger.begin(open))) return false;
      this.#desk.reserve(care);
      return true;
    });
    if (!hasBegun) return 'taken';
    try {
      const admission = await admitRun(order, { hold, settings, timing });
      if (admission.kind === 'refused') {
        await this.#desk.drop(id);
        return { reason: admission.reason };
      }
      const { jobs } = admission;
      if (jobs.length > 0) record.prepare('waiting', 'waiting for jobs to end', { jobs });
    } catch (error) {
      await this.#desk.drop(id);
      throw error;
    }
    this.#desk.take(care, care.prepare(plan));
    return { run: record.run };
  }

  /** @throws HostFailure, EngineFault */
  cancel(by: string): ReturnType<typeof cancelRun> {
    return cancelRun(this.#desk.record, this.#desk.care, by, this.#tools);
  }

  /** For the server's own end: the next one measures how long nobody answered. */
  async noteStop(): Promise<void> {
    const record = this.#desk.record;
    if (record === null || record.hasEnded) return;
    const serverStoppedAt = new Date().toISOString();
    await this.#tools.ledger.change(record.run.id, (open) => ({ ...open, serverStoppedAt })).catch(noted);
  }

  /** Of a run that nobody can tell of, as this server has no engine and will have none. */
  async giveUp(): Promise<void> {
    await this.#exclusive(async () => {
      const open = await this.#desk.openRun();
      if (open === null || this.#desk.care !== null) return;
      await this.#carryOut({ kind: 'end', open, outcome: 'crashed', leftover: null }, null);
    });
  }

  async #carryOut(step: ResumeStep, origin: RunOrigin | null): Promise<void> {
    const { hold, ledger, engine } = this.#tools;
    const desk = this.#desk;
    await desk.settleOthers('open' in step ? step.open.run.id : (origin?.id ?? null));
    switch (step.kind) {
      case 'go-on':
        return desk.goOn();
      case 'drop':
        await ledger.change(step.open.run.id, () => null);
        return desk.goOn();
      case 'mirror':
        await hold.ensure(true);
        return desk.mirror(step.open.run);
      case 'follow': {
        const { open, containerId } = step;
        if (!step.isOver) await hold.ensure(true);
        // Its server may have ended before it could write this; nothing here hangs on it. An end of a server that
        // this one has measured from must not be measured from again.
        if (open.updater === null || open.serverStoppedAt !== null) {
          const noteBegin = (now: OpenRun) => ({ ...now, updater: containerId, serverStoppedAt: null });
          await ledger.change(open.run.id, noteBegin).catch(noted);
        }
        return desk.follow(desk.recordOf(open.run), containerId, open);
      }
      case 'adopt': {
        if (origin === null) return;
        const past = (await ledger.pastRuns()).find(({ run }) => run.id === origin.id)?.run;
        const record = new RunRecord(
          past ? runAgain(past) : freshRun(origin, 'launching', 'reading the log of the updater'),
        );
        const open = {
          run: record.run,
          server: this.#marks.own,
          updater: step.containerId,
          serverStoppedAt: null,
        };
        // Where the store has a run by now, the next look finds it. A store that fails changes nothing of a run.
        await hold.ensure(true);
        if (!(await ledger.begin(open).catch(() => true))) return;
        return desk.follow(record, step.containerId, open);
      }
      case 'end': {
        const { open, outcome, leftover } = step;
        // Another server may have seen its real end meanwhile.
        if ((await desk.openRun())?.run.id !== open.run.id) return;
        if (leftover !== null) await engine.remove(leftover, { force: true }).catch(noted);
        const record = desk.recordOf(open.run);
        const { message, ...why } = endings[outcome];
        record.end(outcome, message, new Date(), why);
        return desk.take(new RunCare(record, this.#tools), Promise.resolve(null));
      }
    }
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(noted);
    return done;
  }
}

const noted = () => {};

const endings: Record<'crashed' | 'cancelled', { message: string } & Why> = {
  crashed: {
    message: 'nobody can tell how the update ended: its container is gone, and its log with it',
    code: 'updater-gone',
    advice: adviceOnCrash,
  },
  cancelled: { message: 'the server was stopped before the updater was started: nothing was changed' },
};
