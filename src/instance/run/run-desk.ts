import { formatEnd } from '../../progress/end-line.ts';
import type { Run } from '../../wire/status.ts';
import { retry } from '../host/retry.ts';
import type { OpenRun } from '../store/open-run.ts';
import { type CareTools, RunCare } from './run-care.ts';
import { RunRecord } from './run-record.ts';

/** What runs are kept with. */
export interface DeskTools extends CareTools {
  onStart(run: Run): void;
  onEnd(run: Run): void;
  /** A run of another server, or of another boot of this one, is followed from here on. */
  onFollow(record: RunRecord, open: OpenRun): void;
  /** What is to be said of an end besides. */
  warningsAtEnd(run: Run): Promise<string[]>;
  /** No run is taken care of any longer: another one may be on. */
  onFree(): Promise<void>;
  /** An end stands in the store, and nobody was told. */
  onWritten(): Promise<void>;
}

/** The run that is on, or the last one, and who takes care of it; its end is written, and ends the hold. */
export class RunDesk {
  readonly #tools: DeskTools;
  #record: RunRecord | null = null;
  /** Of the run that this server prepares or follows. */
  #care: RunCare | null = null;
  #caring: Promise<void> = Promise.resolve();
  #telling: Promise<void> = Promise.resolve();
  /** Runs that have ended, and stand open in the store until that is written. */
  readonly #ended = new Set<string>();

  constructor(tools: DeskTools) {
    this.#tools = tools;
  }

  get record(): RunRecord | null {
    return this.#record;
  }

  get care(): RunCare | null {
    return this.#care;
  }

  get isUnderWay(): boolean {
    return this.#record !== null && !this.#record.hasEnded;
  }

  /** Resolves once what takes care of a run has let go of it; at once where nothing does. */
  get freed(): Promise<void> {
    return this.#caring;
  }

  /** Resolves once its end was told as well. */
  async settled(): Promise<void> {
    await this.#caring;
    await this.#telling;
  }

  /** The open run of the store, but for one that has ended here, whose end may not stand there yet. @throws HostFailure */
  async openRun(): Promise<OpenRun | null> {
    // That is written while the store is read: what is read is of before, then.
    const ended = new Set(this.#ended);
    const open = await this.#tools.ledger.openRun();
    return open === null || ended.has(open.run.id) || this.hasEnded(open.run.id) ? null : open;
  }

  /** Whether it has ended here, and may stand open in the store. */
  hasEnded(id: string): boolean {
    return this.#ended.has(id);
  }

  /** Nobody else takes care of a run from here on. */
  reserve(care: RunCare): void {
    this.#care = care;
  }

  /** A run whose care is at work. */
  take(care: RunCare, work: Promise<string | null>): void {
    const { record } = care;
    const isNew = this.#record !== record;
    this.#care = care;
    this.#record = record;
    if (isNew) this.#tools.onStart(record.run);
    this.#caring = work
      .then((startedAt) => this.#finish(record, startedAt))
      .catch((cause) => {
        const message = 'what follows the end of an update failed';
        this.#tools.settings.log({ level: 'error', message, cause });
      });
  }

  follow(record: RunRecord, containerId: string, open: OpenRun): void {
    this.#tools.onFollow(record, open);
    const care = new RunCare(record, this.#tools);
    this.take(care, care.follow(containerId));
  }

  /** Another server prepares it. */
  mirror(run: Run): void {
    const record = this.recordOf(run);
    record.mirror(run);
    if (this.#record === record) return;
    this.#record = record;
    this.#tools.onStart(record.run);
  }

  /** The one that is told of already, or a new one. */
  recordOf(run: Run): RunRecord {
    const now = this.#record;
    return now?.run.id === run.id && !now.hasEnded ? now : new RunRecord(run);
  }

  /** Nothing is on: the queue goes on, unless a run is opened in the same moment. @throws HostFailure */
  async goOn(): Promise<void> {
    const { hold } = this.#tools;
    await this.settleOthers(null);
    if (hold.wanted === false) return hold.ensure(false);
    await hold.ensure(false);
    if ((await this.openRun()) !== null) await hold.ensure(true);
  }

  /** A run that never began: nobody is told of it. */
  async drop(id: string): Promise<void> {
    const { ledger } = this.#tools;
    await this.#write(id, async () => void (await ledger.change(id, () => null))).tried;
    this.#care = null;
    await this.#tools.onFree();
  }

  /** A run that another server has prepared is over, or was none, where another one is on by now. @throws HostFailure */
  async settleOthers(id: string | null): Promise<void> {
    const record = this.#record;
    if (record === null || record.hasEnded || record.run.id === id) return;
    const past = (await this.#tools.ledger.pastRuns()).find(({ run }) => run.id === record.run.id);
    if (past) record.settle(past.run);
    else record.end('cancelled', 'the update was not started: nothing was changed');
    this.#tools.onEnd(record.run);
  }

  async #finish(record: RunRecord, startedAt: string | null): Promise<void> {
    // The next server of this instance goes on from here, and needs the hold.
    if (!record.hasEnded) return;
    const { ledger, settings, warningsAtEnd, onEnd, onFree, onWritten } = this.#tools;
    const { id } = record.run;
    for (const warning of await warningsAtEnd(record.run)) record.warn(warning);
    settings.log({
      level: ['updated', 'unchanged'].includes(record.run.state) ? 'info' : 'warn',
      message: `the update has ended: ${sentenceOf(record.run)}`,
    });
    onEnd(record.run);
    const { tried, written } = this.#write(id, async () => {
      await ledger.addPast(record.run, startedAt);
      await ledger.change(id, () => null);
    });
    await tried;
    this.#care = null;
    await onFree();
    this.#telling = written.then((isWritten) => (isWritten ? onWritten() : undefined));
  }

  /** Tried until it is written, or the server closes. */
  #write(id: string, how: () => Promise<void>): { tried: Promise<void>; written: Promise<boolean> } {
    const { settings, timing, closing } = this.#tools;
    const { promise: tried, resolve } = Promise.withResolvers<void>();
    this.#ended.add(id);
    const attempt = async () => {
      await how();
      // From here on it is open where the store says so: begun anew, or of a store that was set back.
      this.#ended.delete(id);
      resolve();
      return true;
    };
    const failed = (cause: unknown) => {
      resolve();
      const message = 'the end of an update could not be written to the store: it is tried again';
      settings.log({ level: 'error', message, cause });
      return true;
    };
    return { tried, written: retry(attempt, failed, timing, closing).then((done) => done === true) };
  }
}

/** As it stands in the updater's log. */
const sentenceOf = ({ outcome, code, message, advice }: Run): string =>
  outcome === null || outcome === 'updated' || outcome === 'unchanged'
    ? message
    : formatEnd({ outcome, code, state: message, advice });
