import { type ClientCommand, CommandUsageError, type Context } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { offerLines } from '../status-lines.ts';
import { clean, linesOf } from '../text.ts';

export const instanceSkip: ClientCommand = {
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

async function run(context: Context): Promise<number> {
  const [version] = context.args.words;
  if ((version === undefined) !== (context.args.options.undo === true))
    throw new CommandUsageError('Specify either the offered version or --undo.');
  const session = connect(context);
  const { reader, signal, stdout } = session;
  const status = clean(await statusForAdmins(reader.skip(version ?? null, { signal }), session));
  stdout.write(linesOf(offerLines(status)));
  return 0;
}
