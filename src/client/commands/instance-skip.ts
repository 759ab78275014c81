import { type Command, type Context, UsageError } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { offerLines } from '../status-lines.ts';
import { clean, linesOf } from '../text.ts';

export const instanceSkip: Command = {
  name: 'instance skip',
  summary: 'Has nothing said of the newest release, until there is a newer one.',
  usage: '<VERSION | --undo>',
  options: [{ name: 'undo', help: 'have it offered again' }],
  arguments: [{ name: 'VERSION', isOptional: true }],
  examples: [
    ['svc instance skip v1.5.0', 'not this one'],
    ['svc instance skip --undo', 'it is offered again'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const [version] = context.args.words;
  if ((version === undefined) !== (context.args.options.undo === true))
    throw new UsageError('Either the version that is offered, or --undo.');
  const session = connect(context);
  const { reader, signal, stdout } = session;
  const status = clean(await statusForAdmins(reader.skip(version ?? null, { signal }), session));
  stdout.write(linesOf(offerLines(status)));
  return 0;
}
