import { constants } from 'node:os';
import { Cancelled } from '../../core/progress/stops.ts';
import type { Log } from './log/log.ts';

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

/** SIGINT and SIGTERM cancel a run until it begins to replace containers. After that they are only logged. */
export class Cancellation {
  readonly #controller = new AbortController();
  #stage: 'open' | 'too-late' | 'over' = 'open';
  /** Called at the first signal. */
  onSignal: () => void = () => {};
  #received: (typeof stopSignals)[number] | null = null;

  constructor(log: Log) {
    for (const name of stopSignals) {
      process.on(name, () => {
        if (this.#received === null) this.onSignal();
        this.#received ??= name;
        if (this.#stage === 'open') this.#controller.abort(new Cancelled());
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

  /** The number of the first signal, for the exit code. */
  get signalNumber(): number {
    return constants.signals[this.#received ?? 'SIGTERM'];
  }

  /** The run can no longer be cancelled. Signals are logged. */
  tooLate(): void {
    this.#stage = 'too-late';
  }

  /** The log has its last line: signals are no longer logged. */
  over(): void {
    this.#stage = 'over';
  }
}
