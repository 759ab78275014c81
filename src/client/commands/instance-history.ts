import type { Run } from '../../wire/status.ts';
import type { Command, Context } from '../command.ts';
import { connect, proper } from '../connect.ts';
import { wayOf } from '../endings.ts';
import { names } from '../names.ts';
import { jsonLine, shownAll, table } from '../shown.ts';
import { between, dateTime, duration, seconds } from '../times.ts';

export const command = (): Command => ({
  name: 'instance history',
  summary: 'Lists the last updates, newest first.',
  usage: '[--json]',
  options: [{ name: 'json', help: 'print them as one JSON document' }],
  examples: [
    {
      line: `${names().name} instance history`,
      does: 'when, from what to what, how it ended, who started it',
    },
    { line: `${names().name} instance history --json | jq '.[0].outcome'`, does: 'how the last one ended' },
  ],
  run,
});

async function run(context: Context): Promise<number> {
  const connection = connect(context);
  const runs = await proper(connection.reader.history({ signal: context.signal }), connection, context);
  if (context.args.options.json) context.stdout.write(jsonLine(runs));
  else {
    const lines =
      runs.length === 0 ? ['There has been no update yet.'] : table(shownAll(runs).map(cellsOf), '');
    context.stdout.write(lines.map((line) => `${line}\n`).join(''));
  }
  return 0;
}

function cellsOf(run: Run): string[] {
  const took = between(run.startedAt, run.endedAt);
  const facts = [
    ...(took === null ? [] : [duration(took)]),
    ...(run.away === null ? [] : [`away for ${seconds(run.away)}`]),
    ...(run.by === null ? [] : [`by ${run.by}`]),
  ];
  const end = run.outcome ?? `on (${run.state})`;
  return [
    dateTime(run.startedAt),
    wayOf(run),
    run.code === null ? end : `${end} (${run.code})`,
    facts.join(', '),
  ];
}
