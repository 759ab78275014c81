import { AsyncLocalStorage } from 'node:async_hooks';
import { callApplication } from '../../application/call-application.ts';
import { retryWithBackoff } from '../../application/retry-with-backoff.ts';
import type { PastRun } from '../../store/stored-entries.ts';
import type { ServerContext } from '../server-context.ts';
import type { ServerLiveness } from './server-liveness.ts';

const mostAttempts = 3;
/** Thrown to trigger another attempt after `onEnd` has failed. */
class RunNotReportedError extends Error {}

type NotifierContext = Pick<ServerContext, 'ledger' | 'timing' | 'closing'> & {
  settings: Pick<ServerContext['settings'], 'onEnd' | 'log'>;
};

/**
 * Calls `onEnd` for each finished run, at most three times per run (docs/contract.md 8.20). Each attempt is stored
 * before the call, and its success is stored afterwards. If this server dies, another server can try again.
 */
export class ResultNotifier {
  readonly #context: NotifierContext;
  readonly #boots: Pick<ServerLiveness, 'own' | 'stateOf'>;
  /** Ids and end times of the runs for which `onEnd` has succeeded in this server process. */
  readonly #taken = new Set<string>();
  readonly #inside = new AsyncLocalStorage<true>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: NotifierContext, serverLiveness: Pick<ServerLiveness, 'own' | 'stateOf'>) {
    this.#context = context;
    this.#boots = serverLiveness;
  }

  /** Whether `onEnd` called the current code. Such code must not wait for the end of `onEnd`. */
  get isInsideOnEnd(): boolean {
    return this.#inside.getStore() === true;
  }

  /** Calls `onEnd` for all runs that have not been reported yet, one by one, oldest first. Never rejects. */
  async notifyAll(): Promise<void> {
    this.#last = this.#last.then(() => this.#notifyAll()).catch(() => {});
    await this.#last;
  }

  async #notifyAll(): Promise<void> {
    const { ledger, timing, closing, settings } = this.#context;
    const attempt = async () => {
      const past = (await ledger.readPastRuns()).filter(
        ({ told, attempts }) => !told && attempts < mostAttempts,
      );
      let isDone = true;
      for (const one of past.reverse()) if (!(await this.#notify(one))) isDone = false;
      if (!isDone) throw new RunNotReportedError();
    };
    const failed = (cause: unknown) => {
      const message = 'cannot report the end of an update yet; retrying';
      if (!(cause instanceof RunNotReportedError)) settings.log({ level: 'warn', message, cause });
      return true;
    };
    await retryWithBackoff(attempt, failed, timing, closing);
  }

  /** Calls `onEnd` for one run. Returns false if another attempt is necessary. */
  async #notify({ run: { id, endedAt }, attempts, teller }: PastRun): Promise<boolean> {
    const { ledger, settings, timing } = this.#context;
    const end = `${id} ${endedAt}`;
    // If `onEnd` has succeeded but the store failed afterwards, only the write to the store is retried.
    if (!this.#taken.has(end)) {
      if (teller !== null && (await this.#boots.stateOf(teller)) === 'lives') return true;
      const claimed = await ledger.changePastRun(id, (now) =>
        // Another server may have started or completed this attempt.
        now.told || now.attempts !== attempts
          ? null
          : { ...now, attempts: attempts + 1, teller: this.#boots.own },
      );
      if (claimed === null) return true;
      const call = () => this.#inside.run(true, () => settings.onEnd(claimed.run));
      try {
        await callApplication('onEnd', call, timing.onEnd);
      } catch (cause) {
        const isOver = claimed.attempts >= mostAttempts;
        const message = isOver
          ? 'onEnd failed too often and will not be called again for this update'
          : 'onEnd failed and will be called again';
        settings.log({ level: 'error', message, cause });
        return isOver;
      }
      this.#taken.add(end);
    }
    await ledger.changePastRun(id, (now) => ({ ...now, told: true }));
    return true;
  }
}
