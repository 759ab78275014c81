import type { ReadOptions } from './inspect/choose-workers.ts';
import type { BackOptions } from './process/options.ts';
import type { RunContext } from './process/run-context.ts';

/** Shows the way back to the restore point, or goes it. Gives the exit code. */
export async function back(
  _context: RunContext & { options: BackOptions },
  _read: ReadOptions,
): Promise<number> {
  throw new Error('back is not there yet');
}
