import { promptForLine } from '../../core/command-line/prompt-for-line.ts';
import { channelOf } from '../../core/release/channel.ts';
import { isMajorVersionChange } from '../../core/release/compare-versions.ts';
import { englishTexts } from '../../presentation/english.ts';
import type { Status } from '../../wire/status.ts';
import { type CommandContext, CommandUsageError } from '../command-line/client-command.ts';
import { createInterruptedError } from '../connection/create-session.ts';
import { formatJobLines } from '../output/status-lines.ts';
import { formatCountedNoun, formatServerMessage, joinLines } from '../output/text.ts';

/**
 * Prompts for confirmation if jobs will be stopped or a major version will be installed.
 * @throws CommandUsageError if a prompt is necessary, but there is no terminal and no `--yes`
 */
export async function confirmStart(
  context: CommandContext,
  status: Status,
  { steps, force }: { steps: readonly string[]; force: boolean },
): Promise<boolean> {
  if (context.args.options.yes) return true;
  if (force && !context.canPrompt)
    throw new CommandUsageError('--force stops running jobs. Without a terminal, confirm with --yes.');
  if (force && !(await confirmStoppingJobs(context, status))) return false;
  const majors = steps.filter((to, at) => isMajor(status, to, steps[at - 1]));
  if (majors.length === 0) return true;
  const are = majors.length === 1 ? 'is a major version' : 'are major versions';
  const version = `${majors.join(', ')} ${are}. Migrations cannot be undone.`;
  const { preparation, restorePoint } = status;
  const before =
    preparation === null
      ? restorePoint === null && englishTexts.backUpFirst
      : formatServerMessage(preparation);
  return promptYesNo([version, before, 'Continue?'].filter(Boolean).join(' '), context);
}

/** Resolves with true, without a prompt, if no jobs are running. */
export async function confirmStoppingJobs(
  context: CommandContext,
  { reason, now }: Status,
): Promise<boolean> {
  const { jobs = [] } = reason ?? {};
  if (jobs.length === 0) return true;
  context.stderr.write(
    joinLines([`${formatCountedNoun(jobs.length, 'job')} will be stopped:`, ...formatJobLines(jobs, now)]),
  );
  return promptYesNo('Continue?', context);
}

function isMajor({ version, next }: Status, to: string, from = version): boolean {
  if (next?.version === to || (to === 'canary' && next !== null)) return next.major;
  return channelOf(from) !== null && channelOf(to) !== null && isMajorVersionChange(from, to);
}

/** Any input other than `y` or `yes` counts as the answer "no". */
export async function promptYesNo(question: string, context: CommandContext): Promise<boolean> {
  if (!context.canPrompt) throw new CommandUsageError(`${question} Without a terminal, confirm with --yes.`);
  return /^\s*y(?:es)?\s*$/i.test(await promptForInput(`${question} [y/N] `, context));
}

/** Resolves with an empty string at the end of the input. A secret is not shown while the user types it. */
export async function promptForInput(
  question: string,
  context: CommandContext,
  isSecret = false,
): Promise<string> {
  const response = await promptForLine(question, context, isSecret);
  if (context.signal.aborted) throw createInterruptedError();
  return response;
}
