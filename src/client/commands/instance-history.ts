import type { Run } from '../../wire/status.ts';
import type { ClientCommand, Context } from '../command.ts';
import { connect, expectAnswer } from '../connect.ts';
import { timesOf, versionsOf } from '../endings.ts';
import { startedBy } from '../status-lines.ts';
import { clean, jsonLine, linesOf, table } from '../text.ts';
import { dateTime } from '../times.ts';

export const instanceHistory: ClientCommand = {
  name: 'instance history',
  summary: 'List past updates, newest first',
  options: { json: { help: 'Print the history as one JSON document' } },
  examples: [
    ['{product} instance history', 'show the time, versions, result and user of each update'],
    ["{product} instance history --json | jq '.[0].outcome'", "print the last update's result"],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const session = connect(context);
  const { args, reader, signal, stdout } = session;
  const runs = await expectAnswer(reader.history({ signal }), session);
  const rows = clean(runs).map(cellsOf);
  const lines = rows.length === 0 ? ['There have been no updates yet.'] : table(rows, '');
  stdout.write(args.options.json ? jsonLine(runs) : linesOf(lines));
  return 0;
}

function cellsOf(run: Run): string[] {
  const isGood = run.outcome === 'updated' && run.kind === 'rollback';
  const result = isGood ? 'rolled back' : (run.outcome ?? `in progress (${run.state})`);
  const facts = [...timesOf(run), ...(run.by === null ? [] : [startedBy(run.by)])];
  return [
    dateTime(run.startedAt),
    versionsOf(run) || 'an update',
    run.code === null ? result : `${result} (${run.code})`,
    facts.join(', '),
  ];
}
