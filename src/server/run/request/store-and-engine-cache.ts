import { setTimeout as sleep } from 'node:timers/promises';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import type { Product } from '../../../core/names/product.ts';
import type { BlockingJob, Reason } from '../../../wire/status.ts';
import { ApplicationError } from '../../application/call-application.ts';
import type { DeploymentState } from '../../deployment/deployment-cache.ts';
import { DeploymentNotFoundError } from '../../deployment/deployment-not-found-error.ts';
import type { Deployment } from '../../deployment/read-deployment.ts';
import { describeUnrelatedContainer, isUpdaterActive } from '../../deployment/updater-container.ts';
import { findBlockingReason } from '../../reasons/find-blocking-reason.ts';
import { createRunInProgressReason } from '../../reasons/run-reasons.ts';
import type { ServerContext } from '../server-context.ts';
import type { RunController } from '../track/run-controller.ts';

/** Observed state of the store and the engine. */
export interface StoreAndEngineState extends DeploymentState {
  /** Reason why the store cannot be used; null if the store responds and is persistent. */
  noStore: Reason | null;
}

const freshMs = 1_000;
const staleMs = 10_000;

/** Caches the state of the store and the engine. `getRecent` refreshes it at most once a second. */
export class StoreAndEngineCache {
  readonly #runs: RunController;
  readonly #context: ServerContext;
  #last: { at: number; observation: StoreAndEngineState } | null = null;
  #refreshing: Promise<StoreAndEngineState> | null = null;

  constructor(runs: RunController, context: ServerContext) {
    this.#runs = runs;
    this.#context = context;
  }

  /** Updates the cached state, even if it is recent. */
  async refresh(): Promise<StoreAndEngineState> {
    const observation = await this.#observe();
    this.#last = { at: performance.now(), observation };
    return observation;
  }

  /**
   * Returns the cached state. If it is older than one second, it is refreshed in the background. If it is older than
   * ten seconds, the call waits for the refresh.
   */
  async getRecent(): Promise<StoreAndEngineState> {
    const last = this.#last;
    const age = last === null ? Number.POSITIVE_INFINITY : performance.now() - last.at;
    if (last !== null && age < freshMs) return last.observation;
    this.#refreshing ??= this.refresh().finally(() => {
      this.#refreshing = null;
    });
    return last === null || age > staleMs ? this.#refreshing : last.observation;
  }

  /**
   * Waits until it is known whether a run is in progress, then returns null. If the wait times out, returns a reason.
   */
  async waitUntilKnown(): Promise<Reason | null> {
    const { ledger, settings, timing } = this.#context;
    const late = sleep(timing.known, true, { ref: false });
    while (!this.#runs.isKnown) {
      const looked = this.refresh().then(() => sleep(timing.watchClosely, false, { ref: false }));
      if (await Promise.race([looked, late]))
        return ledger.hasResponded
          ? { code: 'no-engine', message: stillCheckingMessage }
          : createStoreFailureReason(settings.product);
    }
    return null;
  }

  /** Returns the first reason why an update cannot start; null if it can start. */
  findReasonAgainst(
    observation: StoreAndEngineState,
    jobs: readonly BlockingJob[] = [],
    upToDate: string | null = null,
  ): Reason | null {
    return findBlockingReason({ ...observation, updater: this.#runningUpdater(observation), jobs, upToDate });
  }

  #runningUpdater({ updater }: StoreAndEngineState): { message: string; since: string } | null {
    const { record } = this.#runs;
    if (record !== null && !record.hasEnded) return createRunInProgressReason(record.run);
    if (!updater || updater.isOurs || !isUpdaterActive(updater.container)) return null;
    return describeUnrelatedContainer(updater.container);
  }

  async #observe(): Promise<StoreAndEngineState> {
    const { store, product } = this.#context.settings;
    const nothing = { home: null, noHome: null, updater: null, foreign: null, noStore: null };
    try {
      const seen = await this.#runs.reconcile();
      return { ...seen, noStore: findUnmountedStoreReason(seen.home, store.directory) };
    } catch (error) {
      if (error instanceof DeploymentNotFoundError) return { ...nothing, noHome: error };
      if (error instanceof ApplicationError)
        return { ...nothing, noStore: createStoreFailureReason(product) };
      throw error;
    }
  }
}

export const stillCheckingMessage = 'the server is still checking whether an update is in progress';

/** Returns why a replacement of the server's container would delete the store; null if the store is persistent. */
export function findUnmountedStoreReason(
  deployment: Deployment | null,
  directory: string | undefined,
): Reason | null {
  if (deployment === null || directory === undefined) return null;
  if (deployment.mounted.some((destination) => isWithin(directory, destination))) return null;
  return {
    code: 'store-unavailable',
    message: `the store directory ${directory} is not on a mount of the server's container and would be lost when the container is replaced`,
  };
}

export const createStoreFailureReason = ({ name }: Pick<Product, 'name'>): Reason => ({
  code: 'store-unavailable',
  message: `the store that holds the state of ${name} does not respond`,
});
