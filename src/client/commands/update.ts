import { channels } from '../../release/channel.ts';
import type { Command } from '../command.ts';
import { updateClient } from '../self-update/update-client.ts';

/** Updates this client. */
export const update: Command = {
  name: 'update',
  summary: 'Updates svc itself.',
  usage: '[--channel CHANNEL]',
  options: [
    {
      name: 'channel',
      value: 'CHANNEL',
      choices: channels,
      help: 'channel of the releases; default stable',
    },
  ],
  examples: [
    ['svc update', 'replaces this svc by the newest stable release'],
    ['svc update --channel canary', 'replaces it by the newest canary build'],
  ],

  async run(context) {
    const channel = channels.find((name) => name === context.args.options.channel) ?? 'stable';
    await updateClient(channel, context);
    return 0;
  },
};
