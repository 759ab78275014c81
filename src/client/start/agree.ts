import { channelOf } from '../../release/channel.ts';
import { isMajorChange } from '../../release/order.ts';
import type { Status } from '../../wire/status.ts';
import { type Context, UsageError } from '../command.ts';
import { interrupted } from '../connect.ts';
import { beforeUpdate, jobLines, jobsAre } from '../status-lines.ts';
import { linesOf } from '../text.ts';

/**
 * Asks for consent to what cannot be undone: a major version, jobs that are cut short.
 * @throws UsageError where nobody can answer, and `--yes` was not given
 */
export async function agree(
  context: Context,
  status: Status,
  { steps, force }: { steps: readonly string[]; force: boolean },
): Promise<boolean> {
  if (context.args.options.yes) return true;
  if (force && !context.canAsk)
    throw new UsageError('--force cuts jobs short. Nobody can be asked here: add --yes');
  if (force && !(await cutShort(context, status))) return false;
  const majors = steps.filter((to, at) => isMajor(status, to, steps[at - 1]));
  if (majors.length === 0) return true;
  const are = majors.length === 1 ? 'is a major version' : 'are major versions';
  const version = `${majors.join(', ')} ${are}; migrations only run forward.`;
  return askYesNo([version, beforeUpdate(status), 'Go on?'].filter(Boolean).join(' '), context);
}

/** Whether jobs may be cut short, where there are any. */
export async function cutShort(context: Context, { reason, now }: Status): Promise<boolean> {
  const { jobs = [] } = reason ?? {};
  if (jobs.length === 0) return true;
  context.stderr.write(linesOf([`${jobsAre(jobs)} cut short:`, ...jobLines(jobs, now)]));
  return askYesNo('Go on?', context);
}

function isMajor({ version, next }: Status, to: string, from = version): boolean {
  if (next?.version === to || (to === 'canary' && next !== null)) return next.major;
  return channelOf(from) !== null && channelOf(to) !== null && isMajorChange(from, to);
}

/** No is what anything else than yes means. */
export async function askYesNo(question: string, context: Context): Promise<boolean> {
  if (!context.canAsk) throw new UsageError(`${question} Nobody can be asked here: add --yes`);
  return /^\s*y(?:es)?\s*$/i.test(await readLine(`${question} [y/N] `, context));
}

/** What is typed behind the question; empty where nothing comes. */
export async function readLine(question: string, { stdin, stderr, signal }: Context): Promise<string> {
  const { createInterface } = await import('node:readline');
  stderr.write(question);
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
  return answer;
}
