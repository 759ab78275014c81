import { channels } from '../../core/release/channel.ts';
import type { ClientCommand } from '../command-line/client-command.ts';
import { updateClient } from '../self-update/update-client.ts';

/** Updates the client itself, not the instance. */
export const clientUpdateCommand: ClientCommand = {
  name: 'update',
  summary: 'Update the {product} client itself',
  options: {
    channel: { value: 'CHANNEL', choices: channels, help: 'Release channel (default: stable)' },
  },
  examples: [
    ['{product} update', 'replace this client with the latest stable release'],
    ['{product} update --channel canary', 'replace this client with the latest canary build'],
  ],

  async run(context) {
    const channel = channels.find((name) => name === context.args.options.channel) ?? 'stable';
    await updateClient(channel, context);
    return 0;
  },
};
