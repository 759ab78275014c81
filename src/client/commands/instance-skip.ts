import {
  type ClientCommand,
  type CommandContext,
  CommandUsageError,
} from '../command-line/client-command.ts';
import { createSession, requireAdminStatus } from '../connection/create-session.ts';
import { formatAvailableUpdate } from '../output/status-lines.ts';
import { escapeResponseTexts, joinLines } from '../output/text.ts';

export const instanceSkipCommand: ClientCommand = {
  name: 'instance skip',
  summary: 'Skip the latest release until a newer one is published',
  usage: '<VERSION | --undo>',
  options: { undo: { help: 'Offer the skipped release again' } },
  arguments: [{ name: 'VERSION', isOptional: true }],
  examples: [
    ['{product} instance skip v1.5.0', 'do not offer v1.5.0 again'],
    ['{product} instance skip --undo', 'offer the skipped release again'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const [version] = context.args.words;
  if ((version === undefined) !== (context.args.options.undo === true))
    throw new CommandUsageError('Specify either the offered version or --undo.');
  const session = createSession(context);
  const { reader, signal, stdout } = session;
  const status = escapeResponseTexts(
    await requireAdminStatus(reader.skipRelease(version ?? null, { signal }), session),
  );
  stdout.write(joinLines(formatAvailableUpdate(status)));
  return 0;
}
