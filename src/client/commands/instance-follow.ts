import type { Refused } from '../../wire/reader-answer.ts';
import { type Command, type Context, Failure } from '../command.ts';
import type { Config } from '../config.ts';
import { connect, improper, interrupted } from '../connect.ts';
import { followUpdate, tellPast } from '../follow/follow-update.ts';
import { timeoutOf, timeoutOption } from '../follow/timeout.ts';
import { names } from '../names.ts';
import { jsonLine } from '../shown.ts';

export const command = (): Command => ({
  name: 'instance follow',
  summary: 'Follows the update that is on; without one it tells how the last one ended.',
  usage: '[--timeout SECONDS] [--json]',
  options: [timeoutOption, { name: 'json', help: 'print one event a line, as JSON' }],
  examples: [
    {
      line: `${names().name} instance follow`,
      does: 'from where it is to its end; exits as the update does',
    },
    { line: `${names().name} instance follow --json | jq .event`, does: 'each event, for programs' },
  ],
  run,
});

async function run(context: Context): Promise<number> {
  const timeout = timeoutOf(context.args);
  const json = context.args.options.json === true;
  const connection = connect(context);
  const answer = await connection.reader.progress({ signal: context.signal });
  if (answer.kind === 'problem' && answer.problem.status === 404) {
    if (json) context.stdout.write(jsonLine(answer.problem));
    (json ? context.stderr : context.stdout).write('There has been no update yet.\n');
    return 0;
  }
  if (answer.kind !== 'ok')
    throw context.signal.aborted ? interrupted() : notFollowed(answer, connection.config);
  const { value: last } = answer;
  return last.outcome === null
    ? followUpdate(context, connection, { run: last, timeout, json })
    : tellPast(context, connection, last, json);
}

/** Who has left with Ctrl-C comes back with this at a moment when there is nobody. */
function notFollowed(refused: Refused, config: Config): Failure {
  const { exitCode, message } = improper(refused, config);
  if (refused.kind !== 'none') return new Failure(exitCode, message);
  return new Failure(
    exitCode,
    `${message}\nWhile an update replaces ${names().name} it is away: try again in a moment.`,
  );
}
