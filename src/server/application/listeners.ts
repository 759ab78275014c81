import { EventEmitter } from 'node:events';
import type { UpdateEvents } from '../contract/instance-updates.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';

/** Event listeners of the application. Their errors are only logged. */
export class UpdateEventListeners {
  readonly #log: ValidatedInstanceOptions['log'];
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  constructor(log: ValidatedInstanceOptions['log']) {
    this.#log = log;
  }

  /** Returns a function that removes the listener. */
  on<E extends keyof UpdateEvents>(event: E, listener: (payload: UpdateEvents[E]) => unknown): () => void {
    // Create a new function for each call: if a listener was added twice, removing one of the two must not remove the
    // other.
    const own = async (payload: UpdateEvents[E]) => {
      try {
        await listener(payload);
      } catch (cause) {
        this.#log({ level: 'error', message: `a listener for the event ${event} failed`, cause });
      }
    };
    this.#emitter.on(event, own);
    return () => void this.#emitter.off(event, own);
  }

  emit<E extends keyof UpdateEvents>(event: E, payload: UpdateEvents[E]): void {
    this.#emitter.emit(event, payload);
  }
}
