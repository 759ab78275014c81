import { channelOf } from '../../release/channel.ts';
import { isMajorChange } from '../../release/order.ts';
import type { Status } from '../../wire/status.ts';
import { type Context, UsageError } from '../command.ts';
import { interrupted } from '../connect.ts';
import { jobLines, jobsAre } from '../status-lines.ts';
import { linesOf, sentence } from '../text.ts';

/**
 * Asks for consent to what cannot be undone: a major version, jobs that are cut short.
 * @throws UsageError where nobody can answer, and `--yes` was not given
 */
export async function agree(
  context: Context,
  status: Status,
  { target, force }: { target: string; force: boolean },
): Promise<boolean> {
  if (context.args.options.yes) return true;
  const { jobs = [] } = status.reason ?? {};
  if (force && !context.canAsk)
    throw new UsageError('--force cuts jobs short. Nobody can be asked here: add --yes');
  if (force && jobs.length > 0) {
    context.stderr.write(linesOf([`${jobsAre(jobs)} cut short:`, ...jobLines(jobs, status.now)]));
    if (!(await askYesNo('Go on?', context))) return false;
  }
  if (!isMajor(status, target)) return true;
  const prepare = status.preparation === null ? 'Take a database dump first.' : sentence(status.preparation);
  const version = `${target} is a major version; migrations only run forward.`;
  return askYesNo(`${version} ${prepare} Go on?`, context);
}

function isMajor({ version, next }: Status, target: string): boolean {
  if (next?.version === target || (target === 'canary' && next !== null)) return next.major;
  return channelOf(version) !== null && channelOf(target) !== null && isMajorChange(version, target);
}

/** No is what anything else than yes means. */
async function askYesNo(question: string, { canAsk, stdin, stderr, signal }: Context): Promise<boolean> {
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
