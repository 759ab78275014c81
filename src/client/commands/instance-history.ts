import { downtimeText, outcomeText } from '../../presentation/present-result.ts';
import { automaticCaller } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';
import { millisecondsBetween } from '../../wire/times.ts';
import type { ClientCommand, CommandContext } from '../command.ts';
import { createSession, requireValue } from '../connect.ts';
import { cleanTexts, formatTable, jsonLine, linesOf } from '../text.ts';
import { clientWording, dateTime } from '../times.ts';

export const instanceHistoryCommand: ClientCommand = {
  name: 'instance history',
  summary: 'List past updates, newest first',
  options: { json: { help: 'Print the history as one JSON document' } },
  examples: [
    ['{product} instance history', 'show the time, versions, result and user of each update'],
    ["{product} instance history --json | jq '.[0].outcome'", "print the last update's result"],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const session = createSession(context);
  const { args, reader, signal, stdout } = session;
  const runs = await requireValue(reader.history({ signal }), session);
  const rows = cleanTexts(runs).map(cellsOf);
  const lines = rows.length === 0 ? ['There have been no updates yet.'] : formatTable(rows, '');
  stdout.write(args.options.json ? jsonLine(runs) : linesOf(lines));
  return 0;
}

function cellsOf(run: Run): string[] {
  const t = clientWording(run.startedAt);
  const result = run.outcome === null ? `in progress (${run.state})` : outcomeText(run, t);
  const took = millisecondsBetween(run.startedAt, run.endedAt);
  const by = run.by === automaticCaller ? 'automatically' : run.by && `by ${run.by}`;
  const facts = [took !== null && t.duration(took), downtimeText(run, t), by];
  return [
    dateTime(run.startedAt),
    t.versions(run.from, run.to),
    run.code === null ? result : `${result} (${run.code})`,
    facts.filter(Boolean).join(', '),
  ];
}
