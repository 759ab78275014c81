import { setTimeout as sleep } from 'node:timers/promises';
import { type Channel, targetFor } from '../core/release/channel.ts';
import { EngineFault } from '../engine/http/fault.ts';
import { EngineSocket, type Patience } from '../engine/socket.ts';
import { byItself } from '../wire/codes.ts';
import { pointOf, secondsToSave } from '../wire/rollback-point.ts';
import type { BlockingJob, CancelReason, Reason, RollbackOffer, Run, Status } from '../wire/status.ts';
import type { AutomaticChoice } from './contract/automatic.ts';
import type { RollbackStart, StartOrder } from './contract/instance-updates.ts';
import type { Settings } from './contract/options.ts';
import { type Timing, usualTiming } from './contract/timing.ts';
import { HostFailure } from './host/ask-host.ts';
import { askJobs } from './host/ask-jobs.ts';
import { Listeners } from './host/listeners.ts';
import { QueueHold } from './host/queue-hold.ts';
import { Unavailable, type UpdateService } from './http/update-service.ts';
import { noStoreReason, type Observation, ObservationCache } from './observation.ts';
import { askBuildServers } from './offer/build-servers.ts';
import { findReason } from './offer/find-reason.ts';
import {
  type Destination,
  destinationOf,
  firstStepTo,
  offer,
  offeredOf,
  offerFields,
  releasesBetween,
  verifiedDestination,
} from './offer/offer.ts';
import { OfferCatalog } from './offer/offer-catalog.ts';
import { secondsToUpdate } from './offer/seconds-to-update.ts';
import { SurroundingsCache } from './place/surroundings.ts';
import { describeForeign, isUnderWay } from './place/updater-container.ts';
import { Prefetcher } from './run/prefetcher.ts';
import type { RunPlan } from './run/prepare-run.ts';
import { RollbackOffers } from './run/rollback-offers.ts';
import { RunController } from './run/run-controller.ts';
import { RunHistory } from './run/run-history.ts';
import type { RunRecord } from './run/run-record.ts';
import type { ServerContext } from './run/server-context.ts';
import { RunWatch } from './run/watch-runs.ts';
import { AutomaticUpdates } from './schedule/automatic-updates.ts';
import { decide } from './schedule/decide.ts';
import { PathUpdates } from './schedule/path-updates.ts';
import { Ledger } from './store/ledger.ts';

const refreshPauseMs = 10_000;

/** The server side of updates: finds releases, launches the updater and follows it. */
export class Updates implements UpdateService {
  readonly #closing = new AbortController();
  readonly closing = this.#closing.signal;
  readonly version: string;
  readonly listeners: Listeners;
  readonly #context: ServerContext;
  readonly #runs: RunController;
  readonly #watch: RunWatch;
  readonly #history: RunHistory;
  readonly #observations: ObservationCache;
  readonly #catalog: OfferCatalog;
  readonly #rollbacks: RollbackOffers;
  readonly #prefetcher: Prefetcher;
  readonly #automatic: AutomaticUpdates;
  readonly #paths: PathUpdates;
  #isBooted = false;
  #refreshedAt = Number.NEGATIVE_INFINITY;

  /** @param waits timeouts and intervals for tests */
  constructor(settings: Settings, waits: { timing?: Partial<Timing>; patience?: Partial<Patience> } = {}) {
    const timing = { ...usualTiming, ...waits.timing };
    const engine = new EngineSocket(settings.engine, { patience: waits.patience ?? {} });
    const { closing } = this;
    const listeners = new Listeners(settings.log);
    const ledger = new Ledger(settings, timing);
    const place = new SurroundingsCache(engine, settings);
    const hold = new QueueHold(settings, timing, closing);
    this.version = settings.version;
    this.listeners = listeners;
    this.#context = { engine, settings, timing, ledger, hold, listeners, place, closing };
    this.#rollbacks = new RollbackOffers(this.#context);
    this.#runs = new RunController(this.#context);
    this.#watch = new RunWatch(this.#runs, this.#context);
    this.#history = new RunHistory(this.#runs, ledger);
    this.#observations = new ObservationCache(this.#runs, settings);
    this.#catalog = new OfferCatalog(this.#context, () => this.#lastRun());
    this.#prefetcher = new Prefetcher(this.#context, {
      offered: async () => {
        const [last = null] = await this.#history.all();
        const known = await this.#catalog.facts(last);
        const { next, updateAvailable } = offerFields(offer(known), known);
        if (next === null || !updateAvailable) return null;
        const way = verifiedDestination({ target: targetFor(next.version), to: next.version }, known);
        return 'reason' in way ? null : { ...way, checkedAt: known.checkedAt?.getTime() ?? 0 };
      },
      isBusy: () => this.#runs.isUnderWay,
    });
    this.#automatic = new AutomaticUpdates(this.#context, {
      facts: async () => {
        const past = await this.#history.all();
        const known = await this.#catalog.facts(past[0] ?? null);
        const offered = offer(known);
        return { next: offeredOf(offered, offerFields(offered, known)), past };
      },
      open: () => (this.#runs.isUnderWay ? (this.#runs.record?.run ?? null) : null),
      isOnPath: async () => this.#paths.after((await this.#history.all())[0]) !== null,
      start: (version, isStill) => this.#startItself({ to: version, by: byItself }, isStill),
      cancel: () => this.cancel(byItself),
    });
    this.#paths = new PathUpdates(this.#context, {
      last: async () => (await this.#history.all())[0] ?? null,
      start: ({ id, upgradePath: path, by }, to) =>
        this.#startItself({ to, path, by: by ?? settings.product.name }, async () => {
          const last = (await this.#history.all())[0];
          return last?.id === id && this.#paths.after(last)?.to === to;
        }),
    });
  }

  /**
   * Looks for a run in progress, usually the one that has just replaced the server. The queue is held until the run has
   * finished. Without a run, an earlier hold is released. Then the feed is read regularly.
   */
  async boot(): Promise<void> {
    this.#runs.bootedAt = Date.now();
    const isFirst = !this.#isBooted;
    this.#isBooted = true;
    await this.#watch.start();
    await this.#catalog.start();
    if (!isFirst) return;
    void this.#prefetcher.start();
    void this.#automatic.start();
    void this.#paths.start();
  }

  /** Stops everything except the hold of a running update, which the next server takes over. */
  async close(): Promise<void> {
    const noted = this.#runs.noteStop();
    this.#closing.abort();
    this.#catalog.close();
    // A host application that does not respond must not delay the shutdown.
    const over = sleep(this.#context.timing.host, undefined, { ref: false });
    await Promise.race([Promise.allSettled([noted, this.#runs.settled()]), over]);
  }

  async status({ refresh = false, notes = false } = {}): Promise<Status> {
    if (refresh && performance.now() - this.#refreshedAt >= refreshPauseMs) {
      this.#refreshedAt = performance.now();
      this.#context.place.forgetHome();
      await Promise.all([this.#catalog.check(), this.#observations.refresh()]);
    }
    const { settings, timing } = this.#context;
    const [observation, jobs, buildServers] = await Promise.all([
      this.#observations.recent(),
      this.#jobs(),
      askBuildServers(settings, timing, this.version),
    ]);
    const { last: run, all: past } = await this.#history.read();
    const known = await this.#catalog.facts(run);
    const offered = offer(known);
    const fields = offerFields(offered, known);
    const prefetch = this.#prefetcher.of(fields.next?.version);
    const isReady = prefetch?.state === 'downloaded';
    const automatic = await this.#automatic.settings();
    const decision = decide({
      settings: automatic,
      next: offeredOf(offered, fields),
      past,
      now: Date.now(),
    });
    const reason = this.#reason(observation, jobs, offered.upToDate?.message ?? null);
    return {
      version: this.version,
      channel: known.channel,
      ...fields,
      next: fields.next && {
        ...fields.next,
        downloaded: prefetch && isReady,
        estimatedSeconds: secondsToUpdate(past, { isReady }),
      },
      prefetch,
      automatic: {
        ...automatic,
        ...decision,
        nextAt: decision.nextAt === null ? null : new Date(decision.nextAt).toISOString(),
      },
      pendingStep: this.#paths.after(past[0]),
      canUpdate: reason === null,
      reason,
      checkedAt: known.checkedAt?.toISOString() ?? null,
      feedError: this.#catalog.failure,
      preparation: settings.preparation,
      restorePoint: settings.restorePoint ? { downtimeSeconds: secondsToSave(past) } : null,
      buildServers,
      manual: [...((observation.home ?? observation.noHome)?.manual ?? [])],
      run,
      now: new Date().toISOString(),
      ...(notes && { releases: releasesBetween(offered, known) }),
    };
  }

  async isUpdating(): Promise<boolean> {
    await this.#observations.recent();
    return this.#runs.isUnderWay;
  }

  start(order: StartOrder): Promise<{ run: Run } | { reason: Reason }> {
    return this.#begin('update', order, async () => {
      const known = await this.#catalog.facts(await this.#lastRun());
      return verifiedDestination((order.allSteps ? firstStepTo : destinationOf)(order.target, known), known);
    });
  }

  /** Starts an update when no job is running, if `isStill` returns true after all other checks. */
  #startItself(
    { to, path, by }: { to: string; path?: readonly string[]; by: string },
    isStill: () => Promise<boolean>,
  ): Promise<{ run: Run } | { reason: Reason }> {
    return this.#begin('update', { when: 'idle', force: false, by }, async () => {
      const known = await this.#catalog.facts(await this.#lastRun());
      const destination = destinationOf(targetFor(to), known);
      if (!(await isStill())) return { reason: overtaken };
      return verifiedDestination(
        'upToDate' in destination ? destination : { ...destination, to, path },
        known,
      );
    });
  }

  async rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }> {
    this.#refuseWhenClosing();
    const unknown = await this.#untilKnown();
    if (unknown) return { reason: unknown };
    const observation = await this.#observations.refresh();
    const reason = this.#reason(observation, [], null);
    if (reason) return { reason };
    const past = pointOf(await this.history());
    if (past === null || observation.home === null) return { reason: noPoint };
    const answer = await this.#rollbacks.ask(past, observation.home).catch(unavailable);
    this.#refuseWhenClosing();
    return answer ?? { reason: noPoint };
  }

  rollback({ confirm, ...order }: RollbackStart): Promise<{ run: Run } | { reason: Reason }> {
    return this.#begin('rollback', order, async () => {
      const past = pointOf(await this.history());
      if (past === null) return { reason: noPoint };
      const { version } = past.restorePoint;
      const message = `the restore point is for ${version}, not for ${confirm}`;
      if (version !== confirm) return { reason: { code: 'no-restore-point', message } };
      this.#rollbacks.forget();
      return { target: version, to: version };
    });
  }

  /** @param find returns the target */
  async #begin(
    kind: RunPlan['kind'],
    order: RunPlan['order'],
    find: () => Promise<Destination | { reason: Reason }>,
  ): Promise<{ run: Run } | { reason: Reason }> {
    this.#refuseWhenClosing();
    const unknown = await this.#untilKnown();
    if (unknown) return { reason: unknown };
    // The end of a run that has just finished may still be being written.
    if (!this.#runs.isUnderWay) await this.#runs.freed;
    const observation = await this.#observations.refresh();
    const elsewhere = this.#reason(observation, [], null);
    if (elsewhere) return { reason: elsewhere };
    const destination = await find();
    const { home } = observation;
    if ('reason' in destination || home === null) {
      const jobs = order.force ? [] : await this.#jobs();
      const why = 'reason' in destination ? destination.reason : noPlace;
      return { reason: this.#reason(observation, jobs, null) ?? why };
    }
    this.#refuseWhenClosing();
    try {
      const begun = await this.#runs.begin({ ...destination, kind, order, home });
      if (begun !== 'taken') return begun;
      const now = await this.#observations.refresh();
      return { reason: this.#reason(now, [], null) ?? beingStarted };
    } catch (error) {
      if (error instanceof HostFailure && error.asked.startsWith('store.'))
        return { reason: noStoreReason(this.#context.settings.product) };
      return unavailable(error);
    }
  }

  async cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }> {
    this.#refuseWhenClosing();
    await this.#observations.refresh();
    if (!this.#runs.isUnderWay) {
      const [last] = await this.history();
      if (last && this.#paths.after(last)) return { run: await this.#paths.leave(last).catch(unavailable) };
    }
    return this.#runs.cancel(by).catch(unavailable);
  }

  async setChannel(channel: Channel): Promise<Status> {
    await this.#catalog.setChannel(channel).catch(unavailable);
    return this.status();
  }

  async skip(version: string | null): Promise<Status | null> {
    const isTaken = await this.#catalog.skip(version, await this.#lastRun()).catch(unavailable);
    return isTaken ? this.status() : null;
  }

  async setAutomatic(choice: AutomaticChoice): Promise<Status> {
    await this.#automatic.set(choice).catch(unavailable);
    return this.status();
  }

  async record(): Promise<RunRecord | null> {
    // A client that reconnects for a run must not get 404.
    if ((await this.#untilKnown()) && !this.#runs.isUnderWay) throw new Unavailable(notKnown);
    if (!this.#runs.hasSession) await this.#observations.recent();
    return this.#history.last();
  }

  async history(): Promise<Run[]> {
    return this.#history.all().catch(unavailable);
  }

  async #lastRun(): Promise<Run | null> {
    return (await this.#history.last())?.run ?? null;
  }

  /** Why the server could not find out yet whether a run is in progress; null if it could. */
  async #untilKnown(): Promise<Reason | null> {
    const { known, watchClosely } = this.#context.timing;
    const late = sleep(known, true, { ref: false });
    while (!this.#runs.isKnown) {
      const looked = this.#observations.refresh().then(() => sleep(watchClosely, false, { ref: false }));
      if (!(await Promise.race([looked, late]))) continue;
      return this.#context.ledger.hasAnswered
        ? { code: 'no-engine', message: notKnown }
        : noStoreReason(this.#context.settings.product);
    }
    return null;
  }

  #reason(observation: Observation, jobs: readonly BlockingJob[], upToDate: string | null): Reason | null {
    return findReason({ ...observation, updater: this.#updaterThatRuns(observation), jobs, upToDate });
  }

  #updaterThatRuns({ updater }: Observation): { message: string; since: string } | null {
    const run = this.#runs.isUnderWay ? this.#runs.record?.run : undefined;
    if (run) {
      const by = run.by === null ? '' : `, started by ${run.by}`;
      return {
        message: `${run.kind === 'rollback' ? 'a rollback' : 'an update'} to ${run.to ?? 'the newest release'} is running${by}`,
        since: run.startedAt,
      };
    }
    if (!updater || updater.isOurs || !isUnderWay(updater.container)) return null;
    return describeForeign(updater.container);
  }

  async #jobs(): Promise<BlockingJob[]> {
    return askJobs(this.#context.settings, this.#context.timing).catch(unavailable);
  }

  #refuseWhenClosing(): void {
    if (this.closing.aborted) throw new Unavailable('the server is shutting down');
  }
}

const overtaken: Reason = {
  code: 'up-to-date',
  message: 'the update has already been started, or it is no longer due',
};
const noPlace: Reason = { code: 'up-to-date', message: 'the compose project of this server was not found' };
const noPoint: Reason = { code: 'no-restore-point', message: 'the last update did not save a restore point' };
const beingStarted: Reason = { code: 'update-running', message: 'another update is being started' };
const notKnown = 'the server is still checking whether an update is in progress';

/** Converts failures of the host application or engine to Unavailable, so that clients try again. */
function unavailable(error: unknown): never {
  if (!(error instanceof HostFailure) && !(error instanceof EngineFault)) throw error;
  throw new Unavailable('The server cannot process the request right now.', { cause: error });
}
