import type { RepeatedCheck } from '../../application/repeat-check.ts';
import { noQueue } from '../../contract/validate-options.ts';
import { DeploymentNotFoundError } from '../../deployment/deployment-not-found-error.ts';
import type { ServerContext } from '../server-context.ts';
import type { RunController } from './run-controller.ts';

/**
 * Reconciles repeatedly. Finds runs that were started manually or by another server, and ends runs whose server has
 * stopped. If the store or engine does not respond, the queue is paused for at most three minutes (docs/contract.md
 * 8.18).
 */
export class RunReconciler implements RepeatedCheck {
  readonly #runs: RunController;
  readonly #context: ServerContext;
  /** Current failure of the store or engine; null if both respond. `since` is a monotonic time in ms. */
  #silence: { since: number; warning: string; hasGivenUp: boolean } | null = null;

  constructor(runs: RunController, context: ServerContext) {
    this.#runs = runs;
    this.#context = context;
  }

  get pauseMs(): number {
    const { timing } = this.#context;
    const isClose = this.#silence !== null || (this.#runs.isUnderWay && !this.#runs.hasSession);
    return isClose ? timing.watchClosely : timing.watch;
  }

  async check(): Promise<void> {
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
      // Whether a run may be in progress. If not, a short failure of the store is no reason to pause the queue.
      const mayBeOn =
        !this.#runs.isKnown || this.#runs.isUnderWay || cause instanceof DeploymentNotFoundError;
      if (mayBeOn && !silence.hasGivenUp) await hold.ensureState(true);
      return;
    }
    if (silence.hasGivenUp) return;
    if (cause instanceof DeploymentNotFoundError && !cause.mayPass) await this.#runs.endOpenRunAsCrashed();
    else if (!this.#runs.hasSession) await hold.ensureState(false);
    silence.hasGivenUp = true;
    const effect = settings.queue === noQueue ? '' : '; resuming the job queue';
    settings.log({
      level: 'error',
      message: `the state of the update has been unknown for ${timing.silence / 60_000} minutes${effect}`,
      cause,
    });
  }
}
