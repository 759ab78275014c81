import type { Engine } from '../engine/engine.ts';
import type { Log } from './log.ts';

type Stop = 'SIGINT' | 'SIGTERM';
export const signalNumbers: Record<Stop, number> = { SIGINT: 2, SIGTERM: 15 };

/** SIGINT and SIGTERM end a run until it has something to finish; from then on they are only acknowledged. */
export class Cancellation {
  readonly #controller = new AbortController();
  #tooLate = false;
  /** The first signal that came. */
  received: Stop | null = null;

  constructor(log: Log) {
    for (const name of Object.keys(signalNumbers) as Stop[]) {
      process.on(name, () => {
        this.received ??= name;
        if (this.#tooLate) log.warn(`${name}: too late to cancel, the update goes on to its end`);
        else this.#controller.abort();
      });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From here on the run goes to its end. */
  close(engine: Engine): void {
    this.#tooLate = true;
    engine.signal = undefined;
  }
}
