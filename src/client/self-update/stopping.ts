import { constants } from 'node:os';
import type { Context } from '../command.ts';

const signals = ['SIGTERM', 'SIGHUP'] as const;

/** Whoever wants an update to stop: at the terminal, or as the system or a lost connection does. */
export interface Stopping {
  signal: AbortSignal;
  /** That the process ends with; of Ctrl-C where nobody has asked otherwise. */
  exitCode(): number;
  /** The process ends by those signals again. */
  end(): void;
}

/** Until `end`, no signal but SIGKILL ends the process while it has something to put back. */
export function watchStopping(context: Pick<Context, 'signal'>): Stopping {
  const asked = new AbortController();
  let exitCode = 128 + constants.signals.SIGINT;
  const stop = (_: NodeJS.Signals, number: number) => {
    if (!context.signal.aborted && !asked.signal.aborted) exitCode = 128 + number;
    asked.abort();
  };
  for (const name of signals) process.on(name, stop);
  return {
    signal: AbortSignal.any([context.signal, asked.signal]),
    exitCode: () => exitCode,
    end() {
      for (const name of signals) process.off(name, stop);
    },
  };
}
