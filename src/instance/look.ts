import { isWithin } from '../files/host-paths.ts';
import { type Product, svc } from '../progress/product.ts';
import type { Reason } from '../wire/status.ts';
import { HostFailure } from './host/ask-host.ts';
import type { Home } from './place/home.ts';
import { HomeNotFound } from './place/home-not-found.ts';
import type { Surroundings } from './place/surroundings.ts';
import type { RunKeeper } from './run/run-keeper.ts';

/** What store and engine tell, as far as they do. */
export interface Look extends Surroundings {
  /** Null where the store answers. */
  storeless: Reason | null;
}

const freshMs = 1_000;
const staleMs = 10_000;

/** Looks at store and engine for whoever asks, not more often than once a second. */
export class Outlook {
  readonly #keeper: RunKeeper;
  readonly #product: Product;
  #last: { at: number; look: Look } | null = null;
  #looking: Promise<Look> | null = null;

  constructor(keeper: RunKeeper, product: Product = svc) {
    this.#keeper = keeper;
    this.#product = product;
  }

  /** Looks now, and sees nothing from before. */
  async now(): Promise<Look> {
    const look = await this.#ask();
    this.#last = { at: performance.now(), look };
    return look;
  }

  /** From memory for a second; up to ten nobody waits for the look that is due. */
  async recent(): Promise<Look> {
    const last = this.#last;
    const age = last === null ? Number.POSITIVE_INFINITY : performance.now() - last.at;
    if (last !== null && age < freshMs) return last.look;
    this.#looking ??= this.now().finally(() => {
      this.#looking = null;
    });
    return last === null || age > staleMs ? this.#looking : last.look;
  }

  async #ask(): Promise<Look> {
    const nothing = { home: null, homeless: null, updater: null, foreign: null, storeless: null };
    try {
      return { ...(await this.#keeper.observe()), storeless: null };
    } catch (error) {
      if (error instanceof HomeNotFound) return { ...nothing, homeless: error };
      if (error instanceof HostFailure) return { ...nothing, storeless: storelessOf(this.#product) };
      throw error;
    }
  }
}

/** Why the store would be lost with the server's container; null where it is not. */
export function lostStore(home: Home | null, directory: string | undefined): Reason | null {
  if (home === null || directory === undefined) return null;
  if (home.mounted.some((destination) => isWithin(directory, destination))) return null;
  return {
    code: 'store-unavailable',
    message: `the store ${directory} is on no mount of the server's container, and would be lost with it`,
  };
}

export const storelessOf = ({ name }: Pick<Product, 'name'>): Reason => ({
  code: 'store-unavailable',
  message: `the place where ${name} keeps its state does not answer`,
});

export const beingStarted: Reason = { code: 'update-running', message: 'another update is being started' };
