import { clockForm, dayWords } from '../../wire/codes.ts';
import type { AutomaticChoice } from '../../wire/reader.ts';
import type { Automatic } from '../../wire/status.ts';
import { type Args, type Command, type Context, Failure, UsageError } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { names } from '../names.ts';
import { byItselfLine } from '../status-lines.ts';
import { clean, linesOf, table } from '../text.ts';

export const instanceAutomatic: Command = {
  name: 'instance automatic',
  summary: 'Has updates start by themselves, at times that suit; without options it shows what is set.',
  usage:
    '[--from TIME] [--to TIME] [--days DAYS] [--time-zone ZONE] [--min-age HOURS] [--include-majors | --exclude-majors] [--off]',
  options: [
    { name: 'from', value: 'TIME', help: 'when they may begin: 02:00' },
    { name: 'to', value: 'TIME', help: 'until when: 05:00' },
    { name: 'days', value: 'DAYS', help: 'on which: mon,tue, or all' },
    { name: 'time-zone', value: 'ZONE', help: 'whose clock that is: Europe/Berlin' },
    { name: 'min-age', value: 'HOURS', help: 'only what has been published for so long' },
    { name: 'include-majors', help: 'major versions, too' },
    { name: 'exclude-majors', help: 'no major versions' },
    { name: 'off', help: 'nothing starts by itself; every other option switches it on' },
  ],
  examples: [
    ['svc instance automatic --from 02:00 --to 05:00 --days sat,sun', 'at night, at the weekend'],
    ['svc instance automatic', 'what is set, and when the next update starts'],
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
    throw new Failure(3, `${names().name} ${status.version} cannot update by itself; a newer version can.`);
  const itself = byItselfLine(status);
  stdout.write(linesOf([...settingLines(automatic), ...(itself === null ? [] : [itself])]));
  return 0;
}

/** Null where nothing is to be set. @throws UsageError that names every mistake */
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
    !isTime(from) && `--from needs a time like 02:00, not "${from}".`,
    !isTime(to) && `--to needs a time like 05:00, not "${to}".`,
    days?.every(isDay) === false && `--days needs ${dayWords.join(',')}, or all, not "${options.days}".`,
    !(/^\d{1,4}$/.test(minAge ?? '0') && Number(minAge ?? 0) <= 8760) &&
      `--min-age needs a number of hours, not "${minAge}" (0 to 8760).`,
    majors && noMajors && '--include-majors or --exclude-majors: choose one.',
  ].filter((mistake) => typeof mistake === 'string');
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
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

/** By what the command says of its options. */
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
  minAgeHours: age,
  includeMajors: majors,
}: Automatic): string[] {
  const on = days.length === 0 ? 'every day' : days.join(', ');
  return [
    enabled ? 'Updates start by themselves.' : 'No update starts by itself.',
    ...table([
      ['when', `${from} to ${to} (${timeZone}), ${on}`],
      ['age', age === 0 ? 'any' : `published ${age} h ago or earlier`],
      ['major versions', majors ? 'yes' : 'no'],
    ]),
  ];
}
