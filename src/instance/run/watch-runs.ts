import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import type { QueueHold } from '../host/queue-hold.ts';
import { HomeNotFound } from '../place/home-not-found.ts';
import type { RunKeeper } from './run-keeper.ts';

interface WatchTools {
  keeper: RunKeeper;
  hold: QueueHold;
  settings: Pick<Settings, 'log'>;
  timing: Timing;
  closing: AbortSignal;
}

/**
 * Looks again and again: a run that was begun by hand or at another server is found, and one whose server is gone ends.
 * Where store or engine are silent the queue is held, for three minutes at most (docs/contract.md 8.18).
 */
export class RunWatch {
  readonly #tools: WatchTools;
  /** By a clock that nobody sets; null while it is known what is on. */
  #silentSince: number | null = null;
  #hasGivenUp = false;
  #told = '';
  #started: Promise<void> | null = null;

  constructor(tools: WatchTools) {
    this.#tools = tools;
  }

  /** Resolves after the first look, with the queue held where that is to be; then goes on until the server closes. */
  start(): Promise<void> {
    // Called again, or by a server that has closed, it changes nothing.
    this.#started ??= this.#tools.closing.aborted
      ? Promise.resolve()
      : this.#look().then(() => void this.#goOn());
    return this.#started;
  }

  async #goOn(): Promise<void> {
    const { timing, closing, keeper } = this.#tools;
    while (!closing.aborted) {
      const isClose = this.#silentSince !== null || (keeper.isUnderWay && !keeper.isCaring);
      const pause = isClose ? timing.watchClosely : timing.watch;
      await sleep(pause, undefined, { signal: closing, ref: false }).catch(() => {});
      if (!closing.aborted) await this.#look();
    }
  }

  async #look(): Promise<void> {
    const { keeper } = this.#tools;
    try {
      await keeper.observe();
      this.#silentSince = null;
      this.#hasGivenUp = false;
      this.#told = '';
    } catch (error) {
      await this.#hear(error).catch(() => {});
    }
  }

  async #hear(cause: unknown): Promise<void> {
    const { hold, timing, keeper, settings } = this.#tools;
    const { message } = cause as Error;
    if (message !== this.#told) {
      settings.log({ level: 'warn', message: `cannot tell whether an update is on: ${message}`, cause });
    }
    this.#told = message;
    this.#silentSince ??= performance.now();
    if (performance.now() - this.#silentSince < timing.silence) {
      // A store or an engine that was away for a moment is no reason to hold what nothing was held for.
      const mayBeOn = !keeper.isKnown || keeper.isUnderWay || cause instanceof HomeNotFound;
      if (mayBeOn && !this.#hasGivenUp) await hold.ensure(true);
      return;
    }
    if (this.#hasGivenUp) return;
    // Where this fails, the next look tries it again.
    if (cause instanceof HomeNotFound && !cause.mayPass) await keeper.giveUp();
    else if (!keeper.isCaring) await hold.ensure(false);
    this.#hasGivenUp = true;
    settings.log({
      level: 'error',
      message: `for ${timing.silence / 60_000} minutes nobody could tell whether an update is on: the queue goes on`,
      cause,
    });
  }
}
