import { formatDowntime, formatOutcome } from '../../presentation/present-result.ts';
import { automaticCaller } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';
import { countMillisecondsBetween } from '../../wire/texts/times.ts';
import type { ClientCommand, CommandContext } from '../command-line/client-command.ts';
import { createSession, requireResponseValue } from '../connection/create-session.ts';
import { createClientTextsAndFormats, formatDateTime } from '../output/client-texts-and-formats.ts';
import { escapeResponseTexts, formatJsonLine, formatTable, joinLines } from '../output/text.ts';

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
  const runs = await requireResponseValue(reader.fetchPastRuns({ signal }), session);
  const rows = escapeResponseTexts(runs).map(cellsOf);
  const lines = rows.length === 0 ? ['There have been no updates yet.'] : formatTable(rows, '');
  stdout.write(args.options.json ? formatJsonLine(runs) : joinLines(lines));
  return 0;
}

function cellsOf(run: Run): string[] {
  const t = createClientTextsAndFormats(run.startedAt);
  const result = run.outcome === null ? `in progress (${run.state})` : formatOutcome(run, t);
  const took = countMillisecondsBetween(run.startedAt, run.endedAt);
  const by = run.by === automaticCaller ? 'automatically' : run.by && `by ${run.by}`;
  const facts = [took !== null && t.duration(took), formatDowntime(run, t), by];
  return [
    formatDateTime(run.startedAt),
    t.versions(run.from, run.to),
    run.code === null ? result : `${result} (${run.code})`,
    facts.filter(Boolean).join(', '),
  ];
}
