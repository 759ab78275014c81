import { constants } from 'node:os';
import type { Log } from '../log/log.ts';

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

/** SIGINT and SIGTERM end a run until it has something to finish; from then on they are only acknowledged. */
export class Cancellation {
  readonly #controller = new AbortController();
  #stage: 'open' | 'too-late' | 'over' = 'open';
  /** Told of the first signal. */
  onSignal: () => void = () => {};
  #received: (typeof stopSignals)[number] | null = null;

  constructor(log: Log) {
    for (const name of stopSignals) {
      process.on(name, () => {
        if (this.#received === null) this.onSignal();
        this.#received ??= name;
        if (this.#stage === 'open') this.#controller.abort();
        if (this.#stage === 'too-late') {
          log.warn(`${name}: too late to cancel, the update goes on to its end`);
        }
      });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Of the first signal that came, for the exit code. */
  get signalNumber(): number {
    return constants.signals[this.#received ?? 'SIGTERM'];
  }

  /** From here on the run goes to its end, and a signal is told so. */
  tooLate(): void {
    this.#stage = 'too-late';
  }

  /** The log has its last line: a signal says nothing more. */
  over(): void {
    this.#stage = 'over';
  }
}
