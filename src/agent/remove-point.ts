import type { ReadOptions } from './inspect/choose-workers.ts';
import type { RunContext } from './process/run-context.ts';

/** Takes the restore point away. Gives the exit code. */
export async function removePoint(_context: RunContext, _read: ReadOptions): Promise<number> {
  throw new Error('restore-point is not there yet');
}
