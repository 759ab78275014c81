import type { JobQueue, Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { askHost, HostFailure } from './ask-host.ts';
import { retry } from './retry.ts';

/**
 * Has the queue held or going on, as it is wanted: one call at a time, and again until one succeeds. A call that
 * answers after its deadline may have undone a later one, so what is wanted is called for once more.
 */
export class QueueHold {
  readonly #queue: JobQueue;
  readonly #log: Settings['log'];
  readonly #timing: Timing;
  readonly #signal: AbortSignal;
  #wanted: boolean | null = null;
  /** Counts what is wanted; what is older is over. */
  #turn = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(
    { queue, log }: Pick<Settings, 'queue' | 'log'>,
    timing: Timing,
    /** After it nothing is tried again. */
    signal: AbortSignal,
  ) {
    this.#queue = queue;
    this.#log = log;
    this.#timing = timing;
    this.#signal = signal;
  }

  /** Null before anything was. */
  get wanted(): boolean | null {
    return this.#wanted;
  }

  /** Calls for it, unless that was called for last. Never rejects: what fails is tried again. */
  async ensure(held: boolean): Promise<void> {
    if (this.#wanted === held) return this.#last;
    await this.call(held).catch(() => {});
  }

  /**
   * Calls for it in any case. What fails is tried again behind.
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
      const message = held ? 'the queue cannot be held' : 'the queue is still held';
      this.#log({ level: 'error', message: `${message}: it is tried again`, cause });
      return true;
    };
    retry(attempt, failed, this.#timing, this.#signal).catch(() => {});
    return promise;
  }

  async #try(held: boolean, turn: number): Promise<void> {
    if (turn !== this.#turn) throw new HostFailure('queue.hold', 'was overtaken by what came after it');
    const late = () => {
      if (turn !== this.#turn && this.#wanted !== null) this.call(this.#wanted).catch(() => {});
    };
    const { host } = this.#timing;
    if (held) await askHost('queue.hold', () => this.#queue.hold(), host, late);
    else await askHost('queue.resume', () => this.#queue.resume(), host, late);
  }
}
