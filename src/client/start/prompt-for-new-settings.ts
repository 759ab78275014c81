import { listMissingSettings } from '../../wire/derived/missing-settings.ts';
import type { AddedReleaseSetting } from '../../wire/status.ts';
import { type CommandContext, CommandUsageError } from '../command-line/client-command.ts';
import { promptForInput } from './confirm-start.ts';

/**
 * Resolves with the values of new settings. On a terminal, prompts for missing settings and for values that `--set`
 * omits.
 * @throws CommandUsageError if `--set` omits a value and there is no terminal
 */
export async function promptForNewSettings(
  context: CommandContext,
  settings: readonly AddedReleaseSetting[],
) {
  const given: Record<string, string> = {};
  for (const one of context.args.list) {
    const [name = '', ...value] = one.split('=');
    if (value.length === 0 && !context.canPrompt)
      throw new CommandUsageError(`Without a terminal, use --set ${one}=VALUE instead of --set ${one}.`);
    given[name] = value.length > 0 ? value.join('=') : await promptForInput(`${name}: `, context, true);
  }
  if (context.canPrompt)
    for (const { name, description, secret } of listMissingSettings(settings, given))
      given[name] = await promptForInput(`${name} (${description}): `, context, secret);
  return given;
}
