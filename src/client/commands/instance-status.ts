import { isForAdmins } from '../../wire/reader-shapes.ts';
import { pointOf } from '../../wire/rollback-point.ts';
import type { Status } from '../../wire/status.ts';
import type { ClientCommand, Context } from '../command.ts';
import { connect, expectAnswer } from '../connect.ts';
import { failureLine } from '../endings.ts';
import { names } from '../names.ts';
import { automaticLine, betweenLine, offerLines, refusalLines } from '../status-lines.ts';
import { clean, jsonLine, linesOf } from '../text.ts';
import { ageSince, dateTime } from '../times.ts';

export const instanceStatus: ClientCommand = {
  name: 'instance status',
  summary: 'Show the running version, the available update and whether the update can start now',
  usage: '[--json]',
  options: [{ name: 'json', help: 'Print the status as one JSON document' }],
  examples: [
    ['{product} instance status', 'show the running version and the available update'],
    ['{product} instance status --json | jq -r .version', 'print only the running version, for scripts'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const session = connect(context);
  const { args, reader, signal, stdout } = session;
  const told = await expectAnswer(reader.status({ signal }), session);
  const status = clean(told);
  const lines = isForAdmins(status)
    ? statusLines(status)
    : [`${names().name} ${status.version}`, ...(status.updating ? ['An update is in progress.'] : [])];
  stdout.write(args.options.json ? jsonLine(told) : linesOf(lines));
  return 0;
}

function statusLines(status: Status): string[] {
  const { version, channel, run: last, reason, canUpdate, buildServers, now } = status;
  const { name } = names();
  const lines = [`${name} ${version} (${channel})`, ...offerLines(status)];
  if (status.pendingStep !== null)
    lines.push(
      betweenLine(status.pendingStep, version, ageSince(status.pendingStep.since, now)),
      `To follow the update: ${name} instance follow. To cancel it: ${name} instance cancel`,
    );
  else if (canUpdate && status.next !== null) lines.push(`To update now: ${name} instance update`);
  // `offerLines` has already printed this reason.
  else if (reason !== null && reason.code !== 'up-to-date') lines.push(...refusalLines(reason, status));
  const automatic = automaticLine(status);
  if (automatic !== null && status.next !== null && reason?.code !== 'update-running') lines.push(automatic);
  const failure = last && failureLine(last, now);
  if (failure) lines.push(failure, `Details: ${name} instance follow`);
  // The restore point of an earlier run is shown by `instance rollback`.
  const point = last && pointOf([last])?.restorePoint;
  if (point)
    lines.push(
      `Restore point: ${point.version}, with the data saved at ${dateTime(point.at)}. To roll back: ${name} instance rollback`,
    );
  const servers = buildServers.map(
    ({ name, version, outdated }) => `${name} ${version}${outdated ? ' (outdated)' : ''}`,
  );
  return servers.length === 0 ? lines : [...lines, `Build servers: ${servers.join(', ')}`];
}
