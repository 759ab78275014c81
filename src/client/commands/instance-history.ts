import { downtimeText, outcomeText } from '../../presentation/present-result.ts';
import { byItself } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';
import { between } from '../../wire/times.ts';
import type { ClientCommand, Context } from '../command.ts';
import { connect, expectAnswer } from '../connect.ts';
import { clean, jsonLine, linesOf, table } from '../text.ts';
import { clientWording, dateTime } from '../times.ts';

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
  const t = clientWording(run.startedAt);
  const result = run.outcome === null ? `in progress (${run.state})` : outcomeText(run, t);
  const took = between(run.startedAt, run.endedAt);
  const by = run.by === byItself ? 'automatically' : run.by && `by ${run.by}`;
  const facts = [took !== null && t.duration(took), downtimeText(run, t), by];
  return [
    dateTime(run.startedAt),
    t.versions(run.from, run.to),
    run.code === null ? result : `${result} (${run.code})`,
    facts.filter(Boolean).join(', '),
  ];
}
