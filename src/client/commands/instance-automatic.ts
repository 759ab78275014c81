import { englishTexts } from '../../presentation/english.ts';
import { formatAutomaticUpdateSettings } from '../../presentation/present-automatic.ts';
import type { AutomaticUpdatesRequestBody } from '../../wire/api-client/update-api-client.ts';
import { clockTimePattern, dayNames } from '../../wire/codes.ts';
import type { Automatic } from '../../wire/status.ts';
import {
  type ClientCommand,
  type CommandArguments,
  type CommandContext,
  CommandFailedError,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createSession, requireAdminStatus } from '../connection/create-session.ts';
import { createClientTextsAndFormats } from '../output/client-texts-and-formats.ts';
import { escapeResponseTexts, formatTable, joinLines } from '../output/text.ts';

export const instanceAutomaticCommand: ClientCommand = {
  name: 'instance automatic',
  summary: 'Configure automatic updates, or show their settings if no option is given',
  options: {
    from: {
      value: 'TIME',
      form: [clockTimePattern, 'a time such as 02:00'],
      help: 'Start of the time window, e.g. 02:00',
    },
    to: {
      value: 'TIME',
      form: [clockTimePattern, 'a time such as 05:00'],
      help: 'End of the time window, e.g. 05:00',
    },
    days: {
      value: 'DAYS',
      form: [{ test: (text) => daysIn(text) !== null }, `"all" or a list of days (${dayNames.join(',')})`],
      help: 'Days on which updates may start, e.g. mon,tue, or "all" for every day',
    },
    'time-zone': { value: 'ZONE', help: 'Time zone of the window, e.g. Europe/Berlin' },
    'min-age': {
      value: 'HOURS',
      form: [
        { test: (text) => /^\d{1,4}$/.test(text) && Number(text) <= 8760 },
        'a number of hours from 0 to 8760',
      ],
      help: 'Install only releases published at least HOURS hours ago',
    },
    'include-majors': { help: 'Also install major versions' },
    'exclude-majors': { instead: 'include-majors', help: 'Do not install major versions' },
    rehearse: { help: 'Rehearse each release on a copy of the data; do not install a release that fails' },
    'no-rehearse': { instead: 'rehearse', help: 'Do not rehearse releases before they are installed' },
    off: { help: 'Turn automatic updates off; every other option of this command turns them on' },
  },
  examples: [
    [
      '{product} instance automatic --from 02:00 --to 05:00 --days sat,sun',
      'install updates on weekend nights only',
    ],
    ['{product} instance automatic', 'show the settings and the start time of the next update'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const choice = choiceOf(context.args);
  const session = createSession(context);
  const { reader, signal, stdout } = session;
  let status = escapeResponseTexts(await requireAdminStatus(reader.fetchStatus({ signal }), session));
  if (status.automatic !== null && choice !== null)
    status = escapeResponseTexts(await requireAdminStatus(reader.setAutomatic(choice, { signal }), session));
  const { automatic } = status;
  if (automatic === null)
    throw new CommandFailedError(
      3,
      `${getProductNames().name} ${status.version} does not support automatic updates. Update it manually first.`,
    );
  const next = automatic.enabled
    ? formatAutomaticUpdateSettings(automatic, createClientTextsAndFormats(status.now))
    : '';
  stdout.write(joinLines([...settingLines(automatic), ...(next === '' ? [] : [next])]));
  return 0;
}

/** Parses a list of weekdays. Returns an empty list for `all`, and null if a name is unknown. */
function daysIn(text: string): Automatic['days'] | null {
  const days = text === 'all' ? [] : text.split(',');
  const known = days.flatMap((word) => dayNames.find((day) => day === word) ?? []);
  return known.length === days.length ? known : null;
}

/** Builds the requested settings from the options. Returns null if there are no options. */
function choiceOf({ options }: CommandArguments): AutomaticUpdatesRequestBody | null {
  if (Object.keys(options).length === 0) return null;
  const { from, to, days, 'min-age': minAge, 'time-zone': timeZone } = options;
  const majors = options['include-majors'] ?? (options['exclude-majors'] && false);
  const rehearse = options.rehearse ?? (options['no-rehearse'] && false);
  return {
    enabled: !options.off,
    ...(from && { from: String(from) }),
    ...(to && { to: String(to) }),
    ...(timeZone && { timeZone: String(timeZone) }),
    ...(days && { days: daysIn(String(days)) ?? [] }),
    ...(minAge && { minAgeHours: Number(minAge) }),
    ...(majors !== undefined && { includeMajors: majors === true }),
    ...(rehearse !== undefined && { rehearse: rehearse === true }),
  };
}

function settingLines({
  enabled,
  from,
  to,
  timeZone,
  days,
  minAgeHours,
  includeMajors,
  rehearse,
}: Automatic): string[] {
  const on = days.length === 0 ? 'every day' : days.join(', ');
  return [
    enabled ? 'Automatic updates are on.' : englishTexts.automaticOff,
    ...formatTable([
      ['time window', `${from} to ${to} (${timeZone}), ${on}`],
      ['minimum age', minAgeHours === 0 ? 'none' : `${minAgeHours} h after publication`],
      ['major versions', includeMajors ? 'included' : 'excluded'],
      ['rehearsal', rehearse ? 'before each update' : 'off'],
    ]),
  ];
}
