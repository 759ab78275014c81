import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { askHost, HostFailure } from './ask-host.ts';
import { retry } from './retry.ts';

/**
 * Has the queue held or going on, as it is wanted: one call at a time, and again until one succeeds. A call that
 * answers after its deadline may have undone a later one, so what is wanted is called for once more.
 */
export class QueueHold {
  readonly #settings: Pick<Settings, 'queue' | 'log'>;
  readonly #timing: Timing;
  readonly #closing: AbortSignal;
  #wanted: boolean | null = null;
  /** Counts the calls: what an older one wanted is over. */
  #turn = 0;
  #last: Promise<void> = Promise.resolve();

  /** `closing`: nothing is tried again after it. */
  constructor(settings: Pick<Settings, 'queue' | 'log'>, timing: Timing, closing: AbortSignal) {
    this.#settings = settings;
    this.#timing = timing;
    this.#closing = closing;
  }

  /** Null before the first call. */
  get wanted(): boolean | null {
    return this.#wanted;
  }

  /** Calls, unless the last call wanted the same. Never rejects: what fails is tried again. */
  async ensure(held: boolean): Promise<void> {
    if (this.#wanted === held) return this.#last;
    await this.call(held).catch(() => {});
  }

  /**
   * Calls in any case. What fails is tried again in the background.
   * @throws HostFailure where the first try failed
   */
  call(held: boolean): Promise<void> {
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
        ? 'failed to hold the job queue; retrying'
        : 'failed to resume the job queue; retrying';
      this.#settings.log({ level: 'error', message, cause });
      return true;
    };
    retry(attempt, failed, this.#timing, this.#closing).catch(() => {});
    return promise;
  }

  async #try(held: boolean, turn: number): Promise<void> {
    if (turn !== this.#turn) throw new HostFailure('queue.hold', 'was superseded by a later call');
    const late = () => {
      if (turn !== this.#turn && this.#wanted !== null) this.call(this.#wanted).catch(() => {});
    };
    const { queue } = this.#settings;
    const { host } = this.#timing;
    if (held) await askHost('queue.hold', () => queue.hold(), host, late);
    else await askHost('queue.resume', () => queue.resume(), host, late);
  }
}
