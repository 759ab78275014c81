import { setTimeout as sleep } from 'node:timers/promises';
import { EngineSocket } from '../engine/socket.ts';
import { createFeed, type Feed } from '../feed/feed.ts';
import type { Channel } from '../release/channel.ts';
import type { Reason, Run, Status } from '../wire/status.ts';
import type { Settings } from './contract/options.ts';
import type { UpdateService } from './http/update-service.ts';
import { findReason } from './offer/find-reason.ts';
import { LagWatch } from './offer/lag.ts';
import { goalFor, type OfferFacts, offer, toldOffer } from './offer/offer.ts';
import { HomeNotFound } from './place/home.ts';
import { type Surroundings, SurroundingsCache } from './place/surroundings.ts';
import { describeForeign, isUnderWay } from './place/updater-container.ts';
import { launch } from './run/launch.ts';
import { RunKeeper } from './run/run-keeper.ts';
import { RunRecord } from './run/run-record.ts';

const refreshPauseMs = 10_000;
const bootPatienceMs = 60_000;
const bootPauseMs = 1_000;

/** The server's half of an update: it knows what may be updated to, launches the updater, and follows it. */
export class Updates implements UpdateService {
  readonly #settings: Settings;
  readonly #engine: EngineSocket;
  readonly #outlook: SurroundingsCache;
  readonly #keeper: RunKeeper;
  readonly #lag: LagWatch;
  readonly #feed: Feed | null;
  readonly #closing = new AbortController();
  /** Starts happen one after the other. */
  #lastStart: Promise<unknown> = Promise.resolve();
  /** Settles when it is known whether a run was on as this server began. */
  #resumed: Promise<void> = Promise.resolve();
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#engine = new EngineSocket(settings.socketPath);
    this.#outlook = new SurroundingsCache(this.#engine, settings);
    this.#keeper = new RunKeeper(this.#engine, settings, this.closing, () => this.#ended());
    this.#lag = new LagWatch(this.#engine, settings, () => this.#outlook.home());
    this.#feed =
      settings.feed &&
      createFeed(settings.feed, settings.log, {
        channel: () => this.#outlook.channel,
        onCheck: () => void this.#lag.look(this.#keeper.record?.run),
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
   * ended; where there is none, a hold that was left is released. The feed is read from here on.
   */
  async boot(): Promise<void> {
    const resumed = this.#resume();
    this.#resumed = resumed.catch(() => {});
    try {
      await resumed;
    } catch (error) {
      if (!(error instanceof HomeNotFound)) throw error;
      if (error.mayPass) {
        // Nobody knows yet whether a run is on: the queue is held until the engine tells.
        await this.#settings.queue.hold();
        void this.#resumeLater(Date.now() + bootPatienceMs);
      } else {
        await this.#settings.queue.release();
      }
    }
    this.#feed?.start();
  }

  /** Lets go of everything but the hold: where a run is on, the next server goes on with both. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#feed?.close();
    await Promise.allSettled([this.#lastStart, this.#keeper.settled()]);
  }

  async status({ refresh = false }: { refresh?: boolean } = {}): Promise<Status> {
    if (refresh && performance.now() - this.#refreshedAt >= refreshPauseMs) {
      this.#refreshedAt = performance.now();
      await Promise.all([this.#feed?.check(), this.#outlook.look()]);
      await this.#lag.look(this.#keeper.record?.run);
    }
    const seen = await this.#outlook.recent();
    this.#notice(seen);
    const offered = offer(await this.#known(seen.channel));
    const reason = this.#reason(seen, offered.upToDate?.message ?? null);
    return {
      version: this.version,
      channel: seen.channel,
      ...toldOffer(offered, this.version),
      canUpdate: reason === null,
      reason,
      checkedAt: this.#feed?.checkedAt?.toISOString() ?? null,
      feedError: this.#feed?.failure ?? null,
      run: this.#keeper.record?.run ?? null,
    };
  }

  start(target: string | null): Promise<{ run: Run } | { reason: Reason }> {
    const started = this.#lastStart.then(() => this.#start(target));
    this.#lastStart = started.catch(() => {});
    return started;
  }

  async setChannel(channel: Channel): Promise<Status> {
    await this.#settings.channel.write(channel);
    this.#outlook.forget();
    const status = await this.status();
    this.#feed?.lookFor(channel);
    return status;
  }

  async record(): Promise<RunRecord | null> {
    // A client that comes back for a run must not be told that there is none.
    await this.#resumed;
    if (!this.#keeper.isUnderWay) {
      // A failure of the platform's queue or channel is no matter of a run.
      await this.#outlook.recent().then(
        (seen) => this.#notice(seen),
        () => {},
      );
    }
    return this.#keeper.record;
  }

  /** Hold, then check, then launch (docs/contract.md 8.2); whatever comes to no launch releases the hold. */
  async #start(named: string | null): Promise<{ run: Run } | { reason: Reason }> {
    this.closing.throwIfAborted();
    if (!this.#keeper.isUnderWay) await this.#keeper.settled();
    const before = await this.#outlook.look();
    this.#notice(before);
    // Where no update can run, or one is on, the queue is let alone: it may be held for that one.
    const elsewhere = this.#reason({ ...before, jobs: [] }, null);
    if (elsewhere) return { reason: elsewhere };

    let isKept = false;
    await this.#settings.queue.hold();
    try {
      // The jobs are looked at only now, after the hold: a job that has not begun by now begins after the update.
      const seen = await this.#outlook.look();
      this.#notice(seen);
      const goal = goalFor(named, await this.#known(seen.channel));
      const reason = this.#reason(seen, 'upToDate' in goal ? goal.upToDate : null);
      // Another server of this instance may have been faster: then the hold belongs to its run.
      isKept = this.#keeper.isUnderWay;
      if (reason) return { reason };
      const { home } = seen;
      if (!home || 'upToDate' in goal) throw new Error('an update with neither a place nor a goal');
      const record = new RunRecord({
        id: crypto.randomUUID(),
        from: this.version,
        to: goal.to,
        startedAt: new Date().toISOString(),
      });
      this.#keeper.begin(record, (of, signal) =>
        launch(this.#engine, this.#settings, { home, target: goal.target }, { record: of, signal }),
      );
      isKept = true;
      return { run: record.run };
    } finally {
      this.#outlook.forget();
      if (!isKept) await this.#settings.queue.release();
    }
  }

  #reason(seen: Surroundings, upToDate: string | null): Reason | null {
    return findReason({
      homeless: seen.homeless,
      updater: this.#updaterThatRuns(seen),
      jobs: seen.jobs,
      upToDate,
    });
  }

  #updaterThatRuns({ updater }: Surroundings): { message: string; since: string } | null {
    const run = this.#keeper.isUnderWay ? this.#keeper.record?.run : undefined;
    if (run)
      return { message: `an update to ${run.to ?? 'the newest release'} is running`, since: run.startedAt };
    if (!updater || updater.isOurs || !isUnderWay(updater.container)) return null;
    return describeForeign(updater.container);
  }

  /** A run that somebody else has started: by hand, or by another server of this instance. */
  #notice({ updater }: Surroundings): void {
    if (!updater?.isOurs || !isUnderWay(updater.container)) return;
    // Where the host cannot hold its queue, the keeper tells the log.
    this.#keeper.adopt(updater.container).catch(() => {});
  }

  async #known(channel: Channel): Promise<OfferFacts> {
    const lag = await this.#lag.after(this.#keeper.record?.run);
    return {
      version: this.version,
      channel,
      releases: this.#feed?.releases ?? null,
      checkedAt: this.#feed?.checkedAt ?? null,
      lag,
      step: this.#keeper.record?.refusedStep ?? null,
    };
  }

  async #resume(): Promise<void> {
    const { home, homeless, updater } = await this.#outlook.look();
    if (homeless) throw homeless;
    // A container that was made and never started is nobody's run.
    const isRun =
      updater?.isOurs && (updater.container.status !== 'created' || isUnderWay(updater.container));
    if (!isRun) return this.#settings.queue.release();
    // A run that had ended before this server started was reported by the server before it.
    const startedAt = Date.parse(home?.startedAt ?? '');
    await this.#keeper.adopt(updater.container, ({ endedAt }) => Date.parse(endedAt ?? '') < startedAt);
  }

  async #resumeLater(until: number): Promise<void> {
    const { log, queue } = this.#settings;
    for (;;) {
      await sleep(bootPauseMs, undefined, { ref: false });
      if (this.closing.aborted) return;
      try {
        return await this.#resume();
      } catch (cause) {
        if (Date.now() < until && cause instanceof HomeNotFound && cause.mayPass) continue;
        log({ level: 'warn', message: 'cannot tell whether an update is running: the queue goes on', cause });
        return await queue.release();
      }
    }
  }

  /** Before the hold is released: another run may need it by now. */
  async #ended(): Promise<void> {
    this.#outlook.forget();
    await this.#outlook.look().then(
      (seen) => this.#notice(seen),
      // A failure here is not told: the next question fails the same way, and its asker is told.
      () => {},
    );
  }
}
