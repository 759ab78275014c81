import type { Engine } from '../../engine/cli/engine.ts';
import type { Log } from '../log/log.ts';

type Stop = 'SIGINT' | 'SIGTERM';
const signalNumbers: Record<Stop, number> = { SIGINT: 2, SIGTERM: 15 };

/** SIGINT and SIGTERM end a run until it has something to finish; from then on they are only acknowledged. */
export class Cancellation {
  readonly #controller = new AbortController();
  #tooLate = false;
  /** Told of the first signal. */
  onSignal: () => void = () => {};
  /** The first signal that came. */
  received: Stop | null = null;

  constructor(log: Log) {
    for (const name of Object.keys(signalNumbers) as Stop[]) {
      process.on(name, () => {
        if (this.received === null) this.onSignal();
        this.received ??= name;
        // The log has its last line.
        if (log.phase === 'done') return;
        if (this.#tooLate) log.warn(`${name}: too late to cancel, the update goes on to its end`);
        else this.#controller.abort();
      });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Of the signal that came, for the exit code. */
  get signalNumber(): number {
    return signalNumbers[this.received ?? 'SIGTERM'];
  }

  /** Puts something back, which a signal must not leave half done. */
  async shield(engine: Engine, work: () => Promise<unknown>): Promise<void> {
    const { signal } = engine;
    engine.signal = undefined;
    try {
      await work();
    } finally {
      // Also where the work fails: what follows it, another pull say, must be cancellable again.
      engine.signal = signal;
    }
  }

  /** From here on the run goes to its end. */
  close(engine: Engine): void {
    this.#tooLate = true;
    engine.signal = undefined;
  }
}
