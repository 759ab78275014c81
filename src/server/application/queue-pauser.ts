import type { ServerTiming } from '../contract/timing.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import { ApplicationError, callApplication } from './call-application.ts';
import { retryWithBackoff } from './retry-with-backoff.ts';

/** Pauses or resumes the queue. Calls run one after another, and are retried until they succeed. */
export class QueuePauser {
  readonly #settings: Pick<ValidatedInstanceOptions, 'queue' | 'log'>;
  readonly #timing: ServerTiming;
  readonly #closing: AbortSignal;
  #wanted: boolean | null = null;
  /** Number of the latest call. Earlier calls are obsolete. */
  #turn = 0;
  #last: Promise<void> = Promise.resolve();

  /** @param closing - aborted when the server closes, which ends all retries */
  constructor(
    settings: Pick<ValidatedInstanceOptions, 'queue' | 'log'>,
    timing: ServerTiming,
    closing: AbortSignal,
  ) {
    this.#settings = settings;
    this.#timing = timing;
    this.#closing = closing;
  }

  /** Whether the queue should be paused; null before the first call. */
  get shouldBePaused(): boolean | null {
    return this.#wanted;
  }

  /** Requests a state, unless the last call requested the same state. Never rejects; failures are retried. */
  async ensureState(held: boolean): Promise<void> {
    if (this.#wanted === held) return this.#last;
    await this.requestState(held).catch(() => {});
  }

  /**
   * Requests a state, even if the last call requested the same state. Failures are retried in the background.
   * @throws ApplicationError if the first attempt fails
   */
  requestState(held: boolean): Promise<void> {
    this.#wanted = held;
    const turn = ++this.#turn;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const attempt = () => {
      const tried = this.#last.then(() => this.#try(held, turn));
      this.#last = tried.catch(() => {});
      return tried.then(resolve);
    };
    const failed = (cause: unknown) => {
      reject(cause);
      if (turn !== this.#turn) return false;
      const message = held
        ? 'failed to pause the job queue; retrying'
        : 'failed to resume the job queue; retrying';
      this.#settings.log({ level: 'error', message, cause });
      return true;
    };
    retryWithBackoff(attempt, failed, this.#timing, this.#closing).catch(() => {});
    return promise;
  }

  async #try(held: boolean, turn: number): Promise<void> {
    if (turn !== this.#turn)
      throw new ApplicationError('queue.hold', 'a call of queue.hold() was superseded by a later call');
    const late = () => {
      // The late call may have undone a later call, so request the wanted state again.
      if (turn !== this.#turn && this.#wanted !== null) this.requestState(this.#wanted).catch(() => {});
    };
    const { queue } = this.#settings;
    const { host } = this.#timing;
    if (held) await callApplication('queue.hold', () => queue.hold(), host, late);
    else await callApplication('queue.resume', () => queue.resume(), host, late);
  }
}
