import type { UpdateEvents } from '../contract/instance-updates.ts';
import type { Settings } from '../contract/options.ts';

type EventName = keyof UpdateEvents;
type Listener<E extends EventName> = (payload: UpdateEvents[E]) => unknown;

/** Event listeners of the host application. Their errors are only logged. */
export class Listeners {
  readonly #log: Settings['log'];
  readonly #all: { [E in EventName]: Set<Listener<E>> } = {
    offer: new Set(),
    start: new Set(),
    line: new Set(),
    end: new Set(),
  };

  constructor(log: Settings['log']) {
    this.#log = log;
  }

  /** Returns a function that removes the listener. */
  on<E extends EventName>(event: E, listener: Listener<E>): () => void {
    // A new function for each call, so that a listener can be added twice and removed once.
    const own: Listener<E> = (payload) => listener(payload);
    this.#all[event].add(own);
    return () => void this.#all[event].delete(own);
  }

  emit<E extends EventName>(event: E, payload: UpdateEvents[E]): void {
    for (const listener of this.#all[event]) void this.#call(event, () => listener(payload));
  }

  async #call(event: EventName, call: () => unknown): Promise<void> {
    try {
      await call();
    } catch (cause) {
      this.#log({ level: 'error', message: `a listener for the event ${event} failed`, cause });
    }
  }
}
