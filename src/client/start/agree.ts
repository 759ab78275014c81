import { channelOf } from '../../release/channel.ts';
import { isMajorChange } from '../../release/order.ts';
import type { Status } from '../../wire/status.ts';
import { askYesNo } from '../ask.ts';
import { type Context, UsageError } from '../command.ts';
import { jobLines } from '../refusal.ts';
import { count, sentence } from '../shown.ts';

/**
 * Whether whoever sits there wants what cannot be undone: a major version, jobs that are cut short.
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
    const are = jobs.length === 1 ? 'is' : 'are';
    context.stderr.write(
      `${[`${count(jobs.length, 'job')} ${are} cut short:`, ...jobLines(jobs, status.now)].join('\n')}\n`,
    );
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
