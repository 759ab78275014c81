import { channels } from '../../core/release/channel.ts';
import type { ClientCommand, Context } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { offerLines } from '../status-lines.ts';
import { clean, linesOf } from '../text.ts';

export const instanceChannel: ClientCommand = {
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

async function run(context: Context): Promise<number> {
  const session = connect(context);
  const { args, reader, signal, stdout } = session;
  const [channel = ''] = args.words;
  const status = clean(await statusForAdmins(reader.setChannel(channel, { signal }), session));
  const line = `Release channel: ${status.channel}. Running version: ${status.version}`;
  stdout.write(linesOf([line, ...offerLines(status)]));
  return 0;
}
