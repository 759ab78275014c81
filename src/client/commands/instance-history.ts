import type { Run } from '../../wire/status.ts';
import type { Command, Context } from '../command.ts';
import { connect, expectAnswer } from '../connect.ts';
import { timesOf, wayOf } from '../endings.ts';
import { startedBy } from '../status-lines.ts';
import { clean, jsonLine, linesOf, table } from '../text.ts';
import { dateTime } from '../times.ts';

export const instanceHistory: Command = {
  name: 'instance history',
  summary: 'Lists the last updates, newest first.',
  usage: '[--json]',
  options: [{ name: 'json', help: 'print them as one JSON document' }],
  examples: [
    ['svc instance history', 'when, from what to what, how it ended, who started it'],
    ["svc instance history --json | jq '.[0].outcome'", 'how the last one ended'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const session = connect(context);
  const { args, reader, signal, stdout } = session;
  const runs = await expectAnswer(reader.history({ signal }), session);
  const rows = clean(runs).map(cellsOf);
  const lines = rows.length === 0 ? ['There has been no update yet.'] : table(rows, '');
  stdout.write(args.options.json ? jsonLine(runs) : linesOf(lines));
  return 0;
}

function cellsOf(run: Run): string[] {
  const isGood = run.outcome === 'updated' && run.kind === 'rollback';
  const end = isGood ? 'rolled back' : (run.outcome ?? `on (${run.state})`);
  const facts = [...timesOf(run), ...(run.by === null ? [] : [startedBy(run.by)])];
  return [
    dateTime(run.startedAt),
    wayOf(run) || 'an update',
    run.code === null ? end : `${end} (${run.code})`,
    facts.join(', '),
  ];
}
