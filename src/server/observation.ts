import { isWithin } from '../core/files/host-paths.ts';
import type { Product } from '../core/progress/product.ts';
import type { Reason } from '../wire/status.ts';
import type { Settings } from './contract/options.ts';
import { HostFailure } from './host/ask-host.ts';
import type { Home } from './place/home.ts';
import { HomeNotFound } from './place/home-not-found.ts';
import type { Surroundings } from './place/surroundings.ts';
import type { RunController } from './run/run-controller.ts';

/** The state of store and engine, as far as known. */
export interface Observation extends Surroundings {
  /** Null if the store responds and is persistent. */
  noStore: Reason | null;
}

const freshMs = 1_000;
const staleMs = 10_000;

/** Caches the observed state. It is refreshed at most once a second. */
export class ObservationCache {
  readonly #runs: RunController;
  readonly #settings: Settings;
  #last: { at: number; observation: Observation } | null = null;
  #refreshing: Promise<Observation> | null = null;

  constructor(runs: RunController, settings: Settings) {
    this.#runs = runs;
    this.#settings = settings;
  }

  /** Refreshes the state now. */
  async refresh(): Promise<Observation> {
    const observation = await this.#observe();
    this.#last = { at: performance.now(), observation };
    return observation;
  }

  /** Cached for one second. For up to ten seconds, the old state is returned during a refresh. */
  async recent(): Promise<Observation> {
    const last = this.#last;
    const age = last === null ? Number.POSITIVE_INFINITY : performance.now() - last.at;
    if (last !== null && age < freshMs) return last.observation;
    this.#refreshing ??= this.refresh().finally(() => {
      this.#refreshing = null;
    });
    return last === null || age > staleMs ? this.#refreshing : last.observation;
  }

  async #observe(): Promise<Observation> {
    const { store, product } = this.#settings;
    const nothing = { home: null, noHome: null, updater: null, foreign: null, noStore: null };
    try {
      const seen = await this.#runs.reconcile();
      return { ...seen, noStore: lostStore(seen.home, store.directory) };
    } catch (error) {
      if (error instanceof HomeNotFound) return { ...nothing, noHome: error };
      if (error instanceof HostFailure) return { ...nothing, noStore: noStoreReason(product) };
      throw error;
    }
  }
}

/** Why the store would be lost with the server's container; null if it is persistent. */
export function lostStore(home: Home | null, directory: string | undefined): Reason | null {
  if (home === null || directory === undefined) return null;
  if (home.mounted.some((destination) => isWithin(directory, destination))) return null;
  return {
    code: 'store-unavailable',
    message: `the store directory ${directory} is not on a mount of the server's container and would be lost when the container is replaced`,
  };
}

export const noStoreReason = ({ name }: Pick<Product, 'name'>): Reason => ({
  code: 'store-unavailable',
  message: `the store that holds the state of ${name} does not respond`,
});
