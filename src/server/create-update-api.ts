import { setTimeout as sleep } from 'node:timers/promises';
import { EngineApi } from '../engine/engine-api.ts';
import type { EngineTimeouts } from '../engine/engine-calls.ts';
import { UpdateEventListeners } from './application/listeners.ts';
import { QueuePauser } from './application/queue-pauser.ts';
import { repeatCheck } from './application/repeat-check.ts';
import { AvailableUpdateFinder } from './available-update/available-update-finder.ts';
import { buildStatus } from './build-status.ts';
import { defaultServerTiming, type ServerTiming } from './contract/timing.ts';
import type { ValidatedInstanceOptions } from './contract/validate-options.ts';
import { DeploymentCache } from './deployment/deployment-cache.ts';
import { Prefetcher } from './prefetch/prefetcher.ts';
import { Rehearser } from './rehearsal/rehearser.ts';
import { createDiagnosticReport } from './run/additional-updater/diagnostic-report.ts';
import { RunStarter } from './run/request/run-starter.ts';
import { StoreAndEngineCache, stillCheckingMessage } from './run/request/store-and-engine-cache.ts';
import { RunController } from './run/track/run-controller.ts';
import { RunHistory } from './run/track/run-history.ts';
import { RunReconciler } from './run/track/run-reconciler.ts';
import { rethrowAsUnavailable, UnavailableError, type UpdateApi } from './run/update-api.ts';
import { AutomaticUpdateScheduler } from './schedule/automatic-update-scheduler.ts';
import { NotificationSender } from './schedule/notification-sender.ts';
import { UpgradePathRunner } from './schedule/upgrade-path-runner.ts';
import { StateStore } from './store/state-store.ts';

/** Service behind all endpoints. It finds releases, launches the updater and follows its runs. */
export interface StartableUpdateApi extends UpdateApi {
  listeners: UpdateEventListeners;
  /**
   * Finds out whether a run is in progress, usually the update that replaced this server. The queue stays paused until
   * that run ends. Then starts to read the feed at intervals.
   */
  boot(): Promise<void>;
  /** Stops all work. During an update, the queue stays paused for the next server. */
  close(): Promise<void>;
}

const refreshPauseMs = 10_000;

/** @param waits - shorter timeouts and intervals, for tests */
export function createUpdateApi(
  settings: ValidatedInstanceOptions,
  waits: { timing?: Partial<ServerTiming>; patience?: Partial<EngineTimeouts> } = {},
): StartableUpdateApi {
  const closing = new AbortController();
  const timing = { ...defaultServerTiming, ...waits.timing };
  const engine = new EngineApi(settings.engine, { timeouts: waits.patience ?? {} });
  const context = {
    settings,
    timing,
    engine,
    closing: closing.signal,
    ledger: new StateStore(settings, timing),
    hold: new QueuePauser(settings, timing, closing.signal),
    listeners: new UpdateEventListeners(settings.log),
    place: new DeploymentCache(engine, settings),
  };
  const runs = new RunController(context);
  const history = new RunHistory(runs, context.ledger);
  const observations = new StoreAndEngineCache(runs, context);
  const offers = new AvailableUpdateFinder(context, async () => (await history.last())?.run ?? null);
  const parts = { ...context, runs, history, observations, offers };
  const watch = new RunReconciler(runs, context);
  const starter = new RunStarter(parts);
  const prefetcher = new Prefetcher(parts);
  const rehearser = new Rehearser(parts, starter);
  const automatic = new AutomaticUpdateScheduler(parts, starter, rehearser);
  const paths = new UpgradePathRunner(parts, starter);
  const notices = new NotificationSender(parts, rehearser);
  let watching: Promise<void> | null = null;
  let report: ReturnType<typeof createDiagnosticReport> | null = null;
  let refreshedAt = Number.NEGATIVE_INFINITY;

  const status: UpdateApi['status'] = async ({ refresh = false, notes = false } = {}) => {
    if (refresh && performance.now() - refreshedAt >= refreshPauseMs) {
      refreshedAt = performance.now();
      context.place.forgetDeployment();
      await Promise.all([offers.check(), observations.refresh()]);
    }
    return buildStatus({ ...parts, prefetcher, rehearser, automatic, paths }, notes);
  };

  return {
    version: settings.version,
    listeners: context.listeners,
    closing: closing.signal,
    async boot() {
      runs.bootedAt = Date.now();
      const isFirst = watching === null;
      watching ??= repeatCheck(watch, context);
      await watching;
      await offers.start();
      if (isFirst)
        for (const check of [prefetcher, rehearser, automatic, paths, notices])
          void repeatCheck(check, context);
    },
    async close() {
      const noted = runs.noteStop();
      closing.abort();
      offers.close();
      // An application that does not respond must not delay the shutdown.
      const over = sleep(timing.host, undefined, { ref: false });
      await Promise.race([Promise.allSettled([noted, runs.waitUntilSettled(), notices.close()]), over]);
    },
    status,
    async isUpdating() {
      await observations.getRecent();
      return runs.isUnderWay;
    },
    start: (order) => starter.update(order),
    rehearse: (order) => rehearser.start(order),
    cancelRehearsal: () => rehearser.cancel(),
    rollbackOffer: () => starter.rollbackOffer(),
    rollback: (order) => starter.rollback(order),
    createReport() {
      report ??= createDiagnosticReport(context)
        .catch((cause) => {
          throw new UnavailableError('the report cannot be created', { cause });
        })
        .finally(() => {
          report = null;
        });
      return report;
    },
    async cancel(by) {
      starter.requireNotClosing();
      await observations.refresh();
      if (!runs.isUnderWay) {
        const [last] = await history.all().catch(rethrowAsUnavailable);
        if (last && paths.after(last)) return { run: await paths.stopPath(last).catch(rethrowAsUnavailable) };
      }
      return runs.cancel(by).catch(rethrowAsUnavailable);
    },
    async setChannel(channel) {
      await offers.setChannel(channel).catch(rethrowAsUnavailable);
      return status();
    },
    skip: async (version) => ((await offers.skip(version).catch(rethrowAsUnavailable)) ? status() : null),
    async setAutomatic(choice) {
      await automatic.changeSettings(choice).catch(rethrowAsUnavailable);
      return status();
    },
    async findRunRecord() {
      // While it is unknown whether a run is in progress, a reconnecting client must not get 404 (no run).
      if ((await observations.waitUntilKnown()) && !runs.isUnderWay)
        throw new UnavailableError(stillCheckingMessage);
      if (!runs.hasSession) await observations.getRecent();
      return history.last();
    },
    history: () => history.all().catch(rethrowAsUnavailable),
  };
}
