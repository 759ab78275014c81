import type { ClientCommand, CommandContext } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createRequestFailedError, createSession } from '../connection/create-session.ts';
import { followTimeoutOption, followTimeoutSecondsOf } from '../follow/follow-run-to-result.ts';
import { followUpgradePath } from '../follow/follow-upgrade-path.ts';
import { formatJsonLine } from '../output/text.ts';

export const instanceFollowCommand: ClientCommand = {
  name: 'instance follow',
  summary: "Follow the update in progress, or show the last update's result",
  options: { timeout: followTimeoutOption, json: { help: 'Print one JSON event per line' } },
  examples: [
    ['{product} instance follow', 'follow the update and exit with its exit code'],
    ['{product} instance follow --json | jq .event', 'print the type of each event'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const timeout = followTimeoutSecondsOf(context.args);
  const json = context.args.options.json === true;
  const session = createSession(context);
  const { reader, signal, stdout, stderr } = session;
  const answer = await reader.fetchRun({ signal });
  if (answer.kind === 'ok') return followUpgradePath(session, { run: answer.value, timeout, json });
  if (answer.kind === 'problem' && answer.problem.status === 404) {
    if (json) stdout.write(formatJsonLine(answer.problem));
    (json ? stderr : stdout).write('There have been no updates yet.\n');
    return 0;
  }
  const failure = createRequestFailedError(answer, session);
  // A missing response may be due to the downtime of an update.
  if (answer.kind === 'none' && !signal.aborted)
    failure.message += `\n${getProductNames().name} is briefly unavailable during an update. Try again in a few seconds.`;
  throw failure;
}
