import { isForAdmins } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import type { Command, Context } from '../command.ts';
import { connect, proper } from '../connect.ts';
import { badEnd } from '../endings.ts';
import { names } from '../names.ts';
import { offerLines } from '../offer-lines.ts';
import { refusalLines } from '../refusal.ts';
import { jsonLine, shownAll } from '../shown.ts';
import { ago } from '../times.ts';

export const command = (): Command => ({
  name: 'instance status',
  summary: 'Shows what runs, what is newer, and whether an update can start now.',
  usage: '[--json]',
  options: [{ name: 'json', help: 'print the status as one JSON document' }],
  examples: [
    { line: `${names().name} instance status`, does: 'what runs and what is newer' },
    {
      line: `${names().name} instance status --json | jq -r .version`,
      does: 'the version alone, for scripts',
    },
  ],
  run,
});

async function run(context: Context): Promise<number> {
  const connection = connect(context);
  const told = await proper(connection.reader.status({ signal: context.signal }), connection, context);
  if (context.args.options.json) {
    context.stdout.write(jsonLine(told));
    return 0;
  }
  const status = shownAll(told);
  const lines = isForAdmins(status)
    ? statusLines(status)
    : [`${names().name} ${status.version}`, ...(status.updating ? ['An update is on.'] : [])];
  context.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return 0;
}

function statusLines(status: Status): string[] {
  const { version, channel, run: last, reason, canUpdate, buildServers, now } = status;
  const bad = last === null ? null : badEnd(last);
  const when = ago(last?.endedAt, now);
  // Where nothing is newer, that has been said already.
  const hindrance = reason === null || reason.code === 'up-to-date' ? [] : refusalLines(reason, status);
  const servers = buildServers.map(
    ({ name, version, behind }) => `${name} ${version}${behind ? ' (behind)' : ''}`,
  );
  return [
    `${names().name} ${version}, ${channel}`,
    ...offerLines(status),
    ...(canUpdate && status.next !== null
      ? [`It can be updated now: ${names().name} instance update`]
      : hindrance),
    ...(bad === null
      ? []
      : [
          `Last time${when === '' ? '' : `, ${when}`}: ${bad}`,
          `More of it: ${names().name} instance follow`,
        ]),
    ...(servers.length === 0 ? [] : [`Build servers: ${servers.join(', ')}`]),
  ];
}
