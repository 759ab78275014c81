import { channels } from '../../release/channel.ts';
import { type Command, UsageError } from '../command.ts';
import { ownProgram, programAt } from '../self-update/program.ts';
import { updateProgram } from '../self-update/update-program.ts';

/** Brings this client, or another program of one file, up to date. */
export const update: Command = {
  name: 'update',
  summary: 'Updates svc itself, or the program that is named.',
  usage: '[--channel CHANNEL] [--program FILE -- COMMAND…]',
  options: [
    {
      name: 'channel',
      value: 'CHANNEL',
      choices: channels,
      help: 'where releases come from; default stable',
    },
    {
      name: 'program',
      value: 'FILE',
      help: 'a program of one file, such as a build server’s; COMMAND has to exit 0 within a minute, else the old file comes back',
    },
  ],
  takesCommandLine: true,
  outlivesOutput: true,
  examples: [
    ['svc update', 'replaces this svc by the newest stable release'],
    [
      'svc update --program /usr/local/bin/svc-worker -- systemctl --user restart svc-worker',
      'replaces the build server’s program and restarts it',
    ],
  ],

  async run(context) {
    const { options, commandLine } = context.args;
    const file = typeof options.program === 'string' ? options.program : null;
    const channel = channels.find((name) => name === options.channel) ?? 'stable';
    if (file !== null && commandLine.length === 0)
      throw new UsageError(
        '--program needs a command behind --, which tells whether the new file does its work',
      );
    if (file === null && commandLine.length > 0)
      throw new UsageError('a command behind -- belongs to --program FILE');
    const program = file === null ? ownProgram() : await programAt(file, commandLine, context.env);
    await updateProgram(program, channel, context);
    return 0;
  },
};
