import { channels } from '../../core/release/channel.ts';
import type { ClientCommand, CommandContext } from '../command-line/client-command.ts';
import { createSession, requireAdminStatus } from '../connection/create-session.ts';
import { formatAvailableUpdate } from '../output/status-lines.ts';
import { escapeResponseTexts, joinLines } from '../output/text.ts';

export const instanceChannelCommand: ClientCommand = {
  name: 'instance channel',
  summary: 'Set the release channel: stable releases only, or every canary build',
  options: {},
  arguments: [{ name: 'CHANNEL', choices: channels }],
  examples: [
    ['{product} instance channel canary', 'receive every build'],
    ['{product} instance channel stable', 'switch to stable releases without downgrading'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const session = createSession(context);
  const { args, reader, signal, stdout } = session;
  const [channel = ''] = args.words;
  const status = escapeResponseTexts(
    await requireAdminStatus(reader.setChannel(channel, { signal }), session),
  );
  const line = `Release channel: ${status.channel}. Running version: ${status.version}`;
  stdout.write(joinLines([line, ...formatAvailableUpdate(status)]));
  return 0;
}
