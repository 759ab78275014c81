import { isForAdmins } from '../../wire/reader-shapes.ts';
import { pointOf } from '../../wire/rollback-point.ts';
import type { Status } from '../../wire/status.ts';
import type { Command, Context } from '../command.ts';
import { connect, expectAnswer } from '../connect.ts';
import { badEnd } from '../endings.ts';
import { names } from '../names.ts';
import { betweenLine, byItselfLine, offerLines, refusalLines } from '../status-lines.ts';
import { clean, jsonLine, linesOf } from '../text.ts';
import { ageOf, dateTime } from '../times.ts';

export const instanceStatus: Command = {
  name: 'instance status',
  summary: 'Shows what runs, what is newer, and whether an update can start now.',
  usage: '[--json]',
  options: [{ name: 'json', help: 'print the status as one JSON document' }],
  examples: [
    ['svc instance status', 'what runs and what is newer'],
    ['svc instance status --json | jq -r .version', 'the version alone, for scripts'],
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
    : [`${names().name} ${status.version}`, ...(status.updating ? ['An update is on.'] : [])];
  stdout.write(args.options.json ? jsonLine(told) : linesOf(lines));
  return 0;
}

function statusLines(status: Status): string[] {
  const { version, channel, run: last, reason, canUpdate, buildServers, now } = status;
  const { name } = names();
  const lines = [`${name} ${version}, ${channel}`, ...offerLines(status)];
  if (status.pendingStep !== null)
    lines.push(
      betweenLine(status.pendingStep, version, ageOf(status.pendingStep.since, now)),
      `Follow it: ${name} instance follow. Stop it: ${name} instance cancel`,
    );
  else if (canUpdate && status.next !== null) lines.push(`It can be updated now: ${name} instance update`);
  // Where nothing is newer, that has been said already.
  else if (reason !== null && reason.code !== 'up-to-date') lines.push(...refusalLines(reason, status));
  const itself = byItselfLine(status);
  if (itself !== null && status.next !== null && reason?.code !== 'update-running') lines.push(itself);
  const bad = last === null ? null : badEnd(last);
  if (bad !== null) {
    const when = ageOf(last?.endedAt, now);
    lines.push(
      `Last time${when === '' ? '' : `, ${when} ago`}: ${bad}`,
      `More of it: ${name} instance follow`,
    );
  }
  // The command itself tells of the restore point of an earlier run.
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
