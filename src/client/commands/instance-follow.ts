import type { Command, Context } from '../command.ts';
import { connect, failureOf } from '../connect.ts';
import { followPath } from '../follow/follow-path.ts';
import { timeoutOf, timeoutOption } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { jsonLine } from '../text.ts';

export const instanceFollow: Command = {
  name: 'instance follow',
  summary: 'Follows the update that is on; without one it tells how the last one ended.',
  usage: '[--timeout SECONDS] [--json]',
  options: [timeoutOption, { name: 'json', help: 'print one event a line, as JSON' }],
  examples: [
    ['svc instance follow', 'from where it is to its end; exits as the update does'],
    ['svc instance follow --json | jq .event', 'each event, for programs'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const timeout = timeoutOf(context.args);
  const json = context.args.options.json === true;
  const session = connect(context);
  const { reader, signal, stdout, stderr } = session;
  const answer = await reader.progress({ signal });
  if (answer.kind === 'ok') return followPath(session, { run: answer.value, timeout, json });
  if (answer.kind === 'problem' && answer.problem.status === 404) {
    if (json) stdout.write(jsonLine(answer.problem));
    (json ? stderr : stdout).write('There has been no update yet.\n');
    return 0;
  }
  const failure = failureOf(answer, session);
  // Following may be taken up again in the moment in which svc is being replaced.
  if (answer.kind === 'none' && !signal.aborted)
    failure.message += `\nWhile an update replaces ${names().name} it is away: try again in a moment.`;
  throw failure;
}
