import { constants } from 'node:os';
import { CancelledError } from '../../core/cancellation/cancelled.ts';
import type { Log } from './log/run-log.ts';

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

/** Cancels a run on SIGINT or SIGTERM. Once the run starts to replace containers, signals are only logged. */
export class Cancellation {
  readonly #controller = new AbortController();
  #stage: 'open' | 'too-late' | 'over' = 'open';
  onFirstSignal: () => void = () => {};
  #received: (typeof stopSignals)[number] | null = null;

  constructor(log: Log) {
    for (const name of stopSignals) {
      process.on(name, () => {
        if (this.#received === null) this.onFirstSignal();
        this.#received ??= name;
        if (this.#stage === 'open') this.#controller.abort(new CancelledError());
        if (this.#stage === 'too-late') {
          log.warn(
            `${name} was received too late: containers are already being replaced, so the update continues`,
          );
        }
      });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Number of the first signal, for the exit code. */
  get signalNumber(): number {
    return constants.signals[this.#received ?? 'SIGTERM'];
  }

  /** Disables cancellation: after this call, signals are only logged. */
  disable(): void {
    this.#stage = 'too-late';
  }

  /** Stops logging signals, so that no line follows the last line of the log. */
  stopLogging(): void {
    this.#stage = 'over';
  }
}
