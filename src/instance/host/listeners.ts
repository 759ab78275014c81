import type { UpdateEvents } from '../contract/instance-updates.ts';
import type { Settings } from '../contract/options.ts';

type EventName = keyof UpdateEvents;
type Listener<E extends EventName> = (told: UpdateEvents[E]) => unknown;

/** Whoever of the host wants to hear of something; what goes wrong there is the log's alone. */
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

  /** Gives what stops it. */
  on<E extends EventName>(event: E, listener: Listener<E>): () => void {
    // A function of its own each time, so that one that is added twice is told twice, and taken out once.
    const own: Listener<E> = (told) => listener(told);
    this.#all[event].add(own);
    return () => void this.#all[event].delete(own);
  }

  tell<E extends EventName>(event: E, told: UpdateEvents[E]): void {
    for (const listener of this.#all[event]) void this.#call(event, () => listener(told));
  }

  async #call(event: EventName, call: () => unknown): Promise<void> {
    try {
      await call();
    } catch (cause) {
      this.#log({ level: 'error', message: `a listener for ${event} failed`, cause });
    }
  }
}
