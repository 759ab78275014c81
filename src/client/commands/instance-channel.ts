import { channels } from '../../release/channel.ts';
import type { Command, Context } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { names } from '../names.ts';
import { offerLines } from '../offer-lines.ts';
import { shownAll } from '../shown.ts';

export const command = (): Command => ({
  name: 'instance channel',
  summary: 'Sets what is offered: stable releases, or every canary build.',
  usage: '<stable|canary>',
  options: [],
  arguments: [{ name: 'CHANNEL', choices: channels }],
  examples: [
    { line: `${names().name} instance channel canary`, does: 'be offered every build' },
    {
      line: `${names().name} instance channel stable`,
      does: 'from the next stable release on; it never goes back',
    },
  ],
  run,
});

async function run(context: Context): Promise<number> {
  const connection = connect(context);
  const [channel = ''] = context.args.words;
  const asked = connection.reader.setChannel(channel, { signal: context.signal });
  const status = shownAll(await statusForAdmins(asked, connection, context));
  const lines = [
    `The channel is ${status.channel}. ${names().name} ${status.version} runs.`,
    ...offerLines(status),
  ];
  context.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return 0;
}
