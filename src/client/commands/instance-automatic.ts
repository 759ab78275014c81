import { english } from '../../presentation/english.ts';
import { automaticText } from '../../presentation/present-status.ts';
import { clockForm, dayWords } from '../../wire/codes.ts';
import type { AutomaticChoice } from '../../wire/reader.ts';
import type { Automatic } from '../../wire/status.ts';
import { type Args, type ClientCommand, CommandUsageError, type Context, Failure } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { names } from '../names.ts';
import { clean, linesOf, table } from '../text.ts';
import { clientWording } from '../times.ts';

export const instanceAutomatic: ClientCommand = {
  name: 'instance automatic',
  summary: 'Configure automatic updates, or show their settings if no option is given',
  usage:
    '[--from TIME] [--to TIME] [--days DAYS] [--time-zone ZONE] [--min-age HOURS] [--include-majors | --exclude-majors] [--off]',
  options: [
    { name: 'from', value: 'TIME', help: 'Start of the time window, e.g. 02:00' },
    { name: 'to', value: 'TIME', help: 'End of the time window, e.g. 05:00' },
    {
      name: 'days',
      value: 'DAYS',
      help: 'Days on which updates may start, e.g. mon,tue, or "all" for every day',
    },
    { name: 'time-zone', value: 'ZONE', help: 'Time zone of the window, e.g. Europe/Berlin' },
    { name: 'min-age', value: 'HOURS', help: 'Install only releases published at least HOURS hours ago' },
    { name: 'include-majors', help: 'Also install major versions' },
    { name: 'exclude-majors', help: 'Do not install major versions' },
    { name: 'off', help: 'Turn automatic updates off; any other option turns them on' },
  ],
  examples: [
    [
      '{product} instance automatic --from 02:00 --to 05:00 --days sat,sun',
      'install updates on weekend nights only',
    ],
    ['{product} instance automatic', 'show the settings and the start time of the next update'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const choice = choiceOf(context.args);
  const session = connect(context);
  const { reader, signal, stdout } = session;
  let status = clean(await statusForAdmins(reader.status({ signal }), session));
  if (status.automatic !== null && choice !== null)
    status = clean(await statusForAdmins(reader.setAutomatic(choice, { signal }), session));
  const { automatic } = status;
  if (automatic === null)
    throw new Failure(
      3,
      `${names().name} ${status.version} does not support automatic updates. Update it first.`,
    );
  const next = automatic.enabled ? automaticText(automatic, clientWording(status.now)) : '';
  stdout.write(linesOf([...settingLines(automatic), ...(next === '' ? [] : [next])]));
  return 0;
}

/** Null without options. @throws UsageError that lists all mistakes */
function choiceOf({ options }: Args): AutomaticChoice | null {
  const {
    from,
    to,
    'min-age': minAge,
    'include-majors': majors,
    'exclude-majors': noMajors,
    'time-zone': timeZone,
  } = options as TypedOptions;
  const days = options.days === 'all' ? [] : (options as TypedOptions).days?.split(',');
  const isTime = (text = '00:00') => clockForm.test(text);
  const isDay = (text: string) => dayWords.some((day) => day === text);
  const mistakes = [
    !isTime(from) && `--from must be a time such as 02:00, not "${from}".`,
    !isTime(to) && `--to must be a time such as 05:00, not "${to}".`,
    days?.every(isDay) === false &&
      `--days must be "all" or a list of days (${dayWords.join(',')}), not "${options.days}".`,
    !(/^\d{1,4}$/.test(minAge ?? '0') && Number(minAge ?? 0) <= 8760) &&
      `--min-age must be a number of hours from 0 to 8760, not "${minAge}".`,
    majors && noMajors && '--include-majors and --exclude-majors cannot be combined.',
  ].filter((mistake) => typeof mistake === 'string');
  if (mistakes.length > 0) throw new CommandUsageError(mistakes.join('\n'));
  if (Object.keys(options).length === 0) return null;
  return {
    enabled: !options.off,
    ...(from && { from }),
    ...(to && { to }),
    ...(timeZone && { timeZone }),
    ...(days && { days: days as Automatic['days'] }),
    ...(minAge && { minAgeHours: Number(minAge) }),
    ...((majors || noMajors) && { includeMajors: majors === true }),
  };
}

/** The options as the command declares them. */
type TypedOptions = Partial<
  Record<'from' | 'to' | 'days' | 'time-zone' | 'min-age', string> &
    Record<'include-majors' | 'exclude-majors', true>
>;

function settingLines({
  enabled,
  from,
  to,
  timeZone,
  days,
  minAgeHours,
  includeMajors,
}: Automatic): string[] {
  const on = days.length === 0 ? 'every day' : days.join(', ');
  return [
    enabled ? 'Automatic updates are on.' : english.automaticOff,
    ...table([
      ['time window', `${from} to ${to} (${timeZone}), ${on}`],
      ['minimum age', minAgeHours === 0 ? 'none' : `${minAgeHours} h after publication`],
      ['major versions', includeMajors ? 'included' : 'excluded'],
    ]),
  ];
}
