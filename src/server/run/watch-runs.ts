import type { RepeatedCheck } from '../host/keep-looking.ts';
import { HomeNotFound } from '../place/home-not-found.ts';
import type { RunController } from './run-controller.ts';
import type { ServerContext } from './server-context.ts';

/**
 * Reconciles again and again: a run that was begun by hand or at another server is found, and a run whose server is gone
 * ends. Where store or engine are silent the queue is held, for three minutes at most (docs/contract.md 8.18).
 */
export class RunWatch implements RepeatedCheck {
  readonly #runs: RunController;
  readonly #context: ServerContext;
  /** Since when store or engine do not answer, by the monotonic clock, and what was done about it; null while they do. */
  #silence: { since: number; warning: string; hasGivenUp: boolean } | null = null;

  constructor(runs: RunController, context: ServerContext) {
    this.#runs = runs;
    this.#context = context;
  }

  get pause(): number {
    const { timing } = this.#context;
    const isClose = this.#silence !== null || (this.#runs.isUnderWay && !this.#runs.hasSession);
    return isClose ? timing.watchClosely : timing.watch;
  }

  async look(): Promise<void> {
    await this.#runs.reconcile();
    this.#silence = null;
  }

  async onFailure(cause: Error): Promise<void> {
    const { hold, timing, settings } = this.#context;
    this.#silence ??= { since: performance.now(), warning: '', hasGivenUp: false };
    const silence = this.#silence;
    const { message } = cause;
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
