import { setTimeout as sleep } from 'node:timers/promises';
import { EngineSocket, type Patience } from '../engine/socket.ts';
import type { Channel } from '../release/channel.ts';
import type { CancelReason, JobInTheWay, Reason, Run, Status } from '../wire/status.ts';
import type { Settings } from './contract/options.ts';
import type { StartOrder } from './contract/start-order.ts';
import { type Timing, usualTiming } from './contract/timing.ts';
import { HostFailure } from './host/ask-host.ts';
import { askJobs } from './host/ask-jobs.ts';
import { Listeners } from './host/listeners.ts';
import { QueueHold } from './host/queue-hold.ts';
import { Unavailable, type UpdateService } from './http/update-service.ts';
import { beingStarted, type Look, lostStore, Outlook, storelessOf } from './look.ts';
import { findReason } from './offer/find-reason.ts';
import { goalFor, offer, toldOffer } from './offer/offer.ts';
import { OfferBook } from './offer/offer-book.ts';
import { releasesBetween } from './offer/releases-between.ts';
import { SurroundingsCache } from './place/surroundings.ts';
import { describeForeign, isUnderWay } from './place/updater-container.ts';
import { absence } from './run/absence.ts';
import { LastRun } from './run/last-run.ts';
import { RunKeeper } from './run/run-keeper.ts';
import type { RunRecord } from './run/run-record.ts';
import { RunWatch } from './run/watch-runs.ts';
import { Ledger } from './store/ledger.ts';
import { unavailable } from './unavailable.ts';

const refreshPauseMs = 10_000;

/** The server's half of an update: it knows what may be updated to, launches the updater, and follows it. */
export class Updates implements UpdateService {
  readonly listeners: Listeners;
  readonly #settings: Settings;
  readonly #timing: Timing;
  readonly #ledger: Ledger;
  readonly #keeper: RunKeeper;
  readonly #watch: RunWatch;
  readonly #outlook: Outlook;
  readonly #place: SurroundingsCache;
  readonly #book: OfferBook;
  readonly #last: LastRun;
  readonly #closing = new AbortController();
  #bootedAt = Date.now();
  #refreshedAt = Number.NEGATIVE_INFINITY;

  /** `waits`: how long is waited for what; tests wait less. */
  constructor(settings: Settings, waits: { timing?: Partial<Timing>; patience?: Partial<Patience> } = {}) {
    const { timing = {}, patience = {} } = waits;
    const engine = new EngineSocket(settings.engine, { patience });
    const { signal: closing } = this.#closing;
    this.#settings = settings;
    this.#timing = { ...usualTiming, ...timing };
    this.listeners = new Listeners(settings.log);
    this.#ledger = new Ledger(settings, this.#timing);
    const place = new SurroundingsCache(engine, settings);
    this.#place = place;
    const hold = new QueueHold(settings, this.#timing, closing);
    const tools = { engine, settings, timing: this.#timing, ledger: this.#ledger, hold, place, closing };
    this.#keeper = new RunKeeper({
      ...tools,
      onStart: (run) => this.listeners.tell('start', run),
      onLine: (run, line) => this.listeners.tell('line', { run, line }),
      onEnd: (run) => this.listeners.tell('end', run),
      onFollow: (record, open) => record.note(absence(open, this.#bootedAt)),
      warningsAtEnd: (run) => this.#book.leftBehind(run),
    });
    this.#watch = new RunWatch({ ...tools, keeper: this.#keeper });
    this.#outlook = new Outlook(this.#keeper, settings.product);
    this.#last = new LastRun(this.#keeper, this.#ledger);
    this.#book = new OfferBook({
      ...tools,
      lastRun: () => this.#last.run(),
      onOffer: (next) => this.listeners.tell('offer', next),
    });
  }

  get version(): string {
    return this.#settings.version;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Looks for a run that is on: the one that has just replaced the server, mostly. The queue is held until that has
   * ended; where there is none, a hold that was left ends. The feed is read from here on.
   */
  async boot(): Promise<void> {
    this.#bootedAt = Date.now();
    await this.#watch.start();
    await this.#book.start();
  }

  /** Lets go of everything but the hold of a run that goes on: the next server takes that over. */
  async close(): Promise<void> {
    const noted = this.#keeper.noteStop();
    this.#closing.abort();
    this.#book.close();
    // A host that does not answer must not keep the server from ending.
    const over = sleep(this.#timing.host, undefined, { ref: false });
    await Promise.race([Promise.allSettled([noted, this.#keeper.settled()]), over]);
  }

  async status({ refresh = false, notes = false } = {}): Promise<Status> {
    if (refresh && performance.now() - this.#refreshedAt >= refreshPauseMs) {
      this.#refreshedAt = performance.now();
      this.#place.forgetHome();
      await Promise.all([this.#book.check(), this.#outlook.now()]);
    }
    const [look, jobs, buildServers] = await Promise.all([
      this.#outlook.recent(),
      this.#jobs(),
      this.#book.buildServers(this.version),
    ]);
    const run = await this.#last.run();
    const known = await this.#book.facts(run);
    const offered = offer(known);
    const reason = this.#reason(look, jobs, offered.upToDate?.message ?? null);
    return {
      version: this.version,
      channel: known.channel,
      ...toldOffer(offered, this.version),
      canUpdate: reason === null,
      reason,
      checkedAt: known.checkedAt?.toISOString() ?? null,
      feedError: this.#book.failure,
      preparation: this.#settings.preparation,
      buildServers,
      manual: [...(look.home?.manual ?? look.homeless?.manual ?? [])],
      run,
      now: new Date().toISOString(),
      ...(notes && { releases: releasesBetween(offered, known) }),
    };
  }

  async isUpdating(): Promise<boolean> {
    await this.#outlook.recent();
    return this.#keeper.isUnderWay;
  }

  async start(order: StartOrder): Promise<{ run: Run } | { reason: Reason }> {
    this.#refuseWhenClosing();
    const unknown = await this.#untilKnown();
    if (unknown) return { reason: unknown };
    // Of a run that has just ended the end is still being written.
    if (!this.#keeper.isUnderWay) await this.#keeper.freed;
    const look = await this.#outlook.now();
    const elsewhere = this.#reason(look, [], null);
    if (elsewhere) return { reason: elsewhere };
    const goal = goalFor(order.target, await this.#book.facts(await this.#last.run()));
    const { home } = look;
    if ('upToDate' in goal || home === null) {
      const jobs = order.force ? [] : await this.#jobs();
      const message = 'upToDate' in goal ? goal.upToDate : 'there is no place for an update';
      return { reason: this.#reason(look, jobs, message) ?? { code: 'up-to-date', message } };
    }
    this.#refuseWhenClosing();
    try {
      const begun = await this.#keeper.begin({ order, goal, home });
      if (begun !== 'taken') return begun;
      const now = await this.#outlook.now();
      return { reason: this.#reason(now, [], null) ?? beingStarted };
    } catch (error) {
      if (error instanceof HostFailure && error.asked.startsWith('store.'))
        return { reason: storelessOf(this.#settings.product) };
      throw unavailable(error);
    }
  }

  async cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }> {
    this.#refuseWhenClosing();
    await this.#outlook.now();
    try {
      return await this.#keeper.cancel(by);
    } catch (error) {
      throw unavailable(error);
    }
  }

  async setChannel(channel: Channel): Promise<Status> {
    const refuse = (error: unknown) => Promise.reject(unavailable(error));
    await this.#book.setChannel(channel).catch(refuse);
    return this.status();
  }

  async record(): Promise<RunRecord | null> {
    // A client that comes back for a run must not be told that there is none.
    if ((await this.#untilKnown()) && !this.#keeper.isUnderWay) throw new Unavailable(notKnown);
    if (!this.#keeper.isCaring) await this.#outlook.recent();
    return this.#last.record();
  }

  async history(): Promise<Run[]> {
    return this.#last.history().catch((error) => {
      throw unavailable(error);
    });
  }

  /** Why it is not known whether a run was on as this server began; null where it is. */
  async #untilKnown(): Promise<Reason | null> {
    const { known, watchClosely } = this.#timing;
    const late = sleep(known, true, { ref: false });
    while (!this.#keeper.isKnown) {
      const looked = this.#outlook.now().then(() => sleep(watchClosely, false, { ref: false }));
      if (!(await Promise.race([looked, late]))) continue;
      return this.#ledger.hasAnswered
        ? { code: 'no-engine', message: notKnown }
        : storelessOf(this.#settings.product);
    }
    return null;
  }

  #reason(look: Look, jobs: readonly JobInTheWay[], upToDate: string | null): Reason | null {
    const { homeless, foreign } = look;
    const storeless = look.storeless ?? lostStore(look.home, this.#settings.store.directory);
    const updater = this.#updaterThatRuns(look);
    return findReason({ homeless, storeless, updater, foreign, jobs, upToDate });
  }

  #updaterThatRuns({ updater }: Look): { message: string; since: string } | null {
    const run = this.#keeper.isUnderWay ? this.#keeper.record?.run : undefined;
    if (run) {
      const by = run.by === null ? '' : `, started by ${run.by}`;
      return {
        message: `an update to ${run.to ?? 'the newest release'} is running${by}`,
        since: run.startedAt,
      };
    }
    if (!updater || updater.isOurs || !isUnderWay(updater.container)) return null;
    return describeForeign(updater.container);
  }

  async #jobs(): Promise<JobInTheWay[]> {
    try {
      return await askJobs(this.#settings, this.#timing);
    } catch (error) {
      throw unavailable(error);
    }
  }

  #refuseWhenClosing(): void {
    if (this.closing.aborted) throw new Unavailable('the server is closing');
  }
}

const notKnown = 'it is not known yet whether an update is on';
