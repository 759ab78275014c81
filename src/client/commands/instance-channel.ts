import { channels } from '../../release/channel.ts';
import type { Command, Context } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { names } from '../names.ts';
import { offerLines } from '../status-lines.ts';
import { clean, linesOf } from '../text.ts';

export const instanceChannel: Command = {
  name: 'instance channel',
  summary: 'Sets what is offered: stable releases, or every canary build.',
  usage: '<stable|canary>',
  options: [],
  arguments: [{ name: 'CHANNEL', choices: channels }],
  examples: [
    ['svc instance channel canary', 'be offered every build'],
    ['svc instance channel stable', 'from the next stable release on; it never goes back'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const session = connect(context);
  const { args, reader, signal, stdout } = session;
  const [channel = ''] = args.words;
  const status = clean(await statusForAdmins(reader.setChannel(channel, { signal }), session));
  const line = `The channel is ${status.channel}. ${names().name} ${status.version} runs.`;
  stdout.write(linesOf([line, ...offerLines(status)]));
  return 0;
}
