import { setTimeout as sleep } from 'node:timers/promises';
import { HomeNotFound } from '../place/home-not-found.ts';
import type { RunController } from './run-controller.ts';
import type { ServerContext } from './server-context.ts';

type WatchContext = Pick<ServerContext, 'hold' | 'timing' | 'closing'> & {
  settings: Pick<ServerContext['settings'], 'log'>;
};
type Watched = Pick<RunController, 'reconcile' | 'giveUp' | 'isKnown' | 'isUnderWay' | 'hasSession'>;

/**
 * Reconciles again and again: a run that was begun by hand or at another server is found, and a run whose server is gone
 * ends. Where store or engine are silent the queue is held, for three minutes at most (docs/contract.md 8.18).
 */
export class RunWatch {
  readonly #runs: Watched;
  readonly #context: WatchContext;
  /** Since when store or engine do not answer, by the monotonic clock, and what was done about it; null while they do. */
  #silence: { since: number; warning: string; hasGivenUp: boolean } | null = null;
  #started: Promise<void> | null = null;

  constructor(runs: Watched, context: WatchContext) {
    this.#runs = runs;
    this.#context = context;
  }

  /** Resolves after the first look, with the queue held where that is to be; then goes on until the server closes. */
  start(): Promise<void> {
    // Called again, or by a server that has closed, it changes nothing.
    this.#started ??= this.#context.closing.aborted
      ? Promise.resolve()
      : this.#reconcile().then(() => void this.#goOn());
    return this.#started;
  }

  async #goOn(): Promise<void> {
    const { timing, closing } = this.#context;
    while (!closing.aborted) {
      const isClose = this.#silence !== null || (this.#runs.isUnderWay && !this.#runs.hasSession);
      const pause = isClose ? timing.watchClosely : timing.watch;
      await sleep(pause, undefined, { signal: closing, ref: false }).catch(() => {});
      if (!closing.aborted) await this.#reconcile();
    }
  }

  async #reconcile(): Promise<void> {
    try {
      await this.#runs.reconcile();
      this.#silence = null;
    } catch (error) {
      await this.#onSilence(error).catch(() => {});
    }
  }

  async #onSilence(cause: unknown): Promise<void> {
    const { hold, timing, settings } = this.#context;
    this.#silence ??= { since: performance.now(), warning: '', hasGivenUp: false };
    const silence = this.#silence;
    const { message } = cause as Error;
    if (message !== silence.warning)
      settings.log({
        level: 'warn',
        message: `cannot determine whether an update is in progress: ${message}`,
        cause,
      });
    silence.warning = message;
    if (performance.now() - silence.since < timing.silence) {
      // Where no run was known, a store that is away for a moment is no reason to hold the queue.
      const mayBeOn = !this.#runs.isKnown || this.#runs.isUnderWay || cause instanceof HomeNotFound;
      if (mayBeOn && !silence.hasGivenUp) await hold.ensure(true);
      return;
    }
    if (silence.hasGivenUp) return;
    // Where this fails, the next look tries it again.
    if (cause instanceof HomeNotFound && !cause.mayPass) await this.#runs.giveUp();
    else if (!this.#runs.hasSession) await hold.ensure(false);
    silence.hasGivenUp = true;
    settings.log({
      level: 'error',
      message: `the state of the update has been unknown for ${timing.silence / 60_000} minutes; resuming the job queue`,
      cause,
    });
  }
}
