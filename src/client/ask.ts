import { type Context, UsageError } from './command.ts';
import { interrupted } from './connect.ts';

/**
 * Asks a question that is answered with yes or no; no is what anything else than yes means.
 * @throws UsageError where nobody can answer
 */
export async function askYesNo(
  question: string,
  { canAsk, stdin, stderr, signal }: Context,
): Promise<boolean> {
  if (!canAsk) throw new UsageError(`${question} Nobody can be asked here: add --yes`);
  const { createInterface } = await import('node:readline');
  stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: stdin });
  const answer = await new Promise<string>((resolve) => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(''));
    signal.addEventListener('abort', () => resolve(''), { once: true });
    if (signal.aborted) resolve('');
  });
  lines.close();
  if (signal.aborted) {
    stderr.write('\n');
    throw interrupted();
  }
  return /^\s*y(?:es)?\s*$/i.test(answer);
}
