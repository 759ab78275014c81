import { missingSettings } from '../../wire/missing-settings.ts';
import type { OfferedSetting } from '../../wire/status.ts';
import { CommandUsageError, type Context } from '../command.ts';
import { readLine } from './agree.ts';

/**
 * The values of `--set`. On a terminal, the user types those of a name alone and of settings that are missing.
 * @throws UsageError for a name alone without a terminal
 */
export async function askSettings(
  context: Context,
  settings: readonly OfferedSetting[],
): Promise<Record<string, string>> {
  const given: Record<string, string> = {};
  for (const one of context.args.list) {
    const at = one.indexOf('=');
    if (at < 0 && !context.canAsk)
      throw new CommandUsageError(`Without a terminal, use --set ${one}=VALUE instead of --set ${one}.`);
    if (at < 0) given[one] = await readLine(`${one}: `, context, true);
    else given[one.slice(0, at)] = one.slice(at + 1);
  }
  if (context.canAsk)
    for (const { name, description, secret } of missingSettings(settings, given))
      given[name] = await readLine(`${name} (${description}): `, context, secret);
  return given;
}
