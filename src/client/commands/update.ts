import { channels } from '../../release/channel.ts';
import { type Command, UsageError } from '../command.ts';
import { names } from '../names.ts';
import { ownProgram, programAt } from '../self-update/program.ts';
import { updateProgram } from '../self-update/update-program.ts';

/** Brings this client, or another program of one file, up to date. */
export const command = (): Command => ({
  name: 'update',
  summary: `Updates ${names().name} itself, or the program that is named.`,
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
    { line: `${names().name} update`, does: `replaces this ${names().name} by the newest stable release` },
    {
      line: `${names().name} update --program /usr/local/bin/${names().name}-worker -- systemctl --user restart ${names().name}-worker`,
      does: 'replaces the build server’s program and restarts it',
    },
  ],

  async run(context) {
    const { options, commandLine } = context.args;
    const { program } = options;
    const channel = channels.find((name) => name === options.channel) ?? 'stable';
    if (typeof program === 'string' && commandLine.length === 0)
      throw new UsageError(
        '--program needs a command behind --, which tells whether the new file does its work',
      );
    if (typeof program !== 'string' && commandLine.length > 0)
      throw new UsageError('a command behind -- belongs to --program FILE');
    const named =
      typeof program === 'string' ? await programAt(program, commandLine, context.env) : ownProgram();
    await updateProgram(named, channel, context);
    return 0;
  },
});
