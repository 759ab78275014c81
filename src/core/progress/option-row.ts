import { parseArgs } from 'node:util';

/** An option of a command line, defined once: how it is read, checked, completed and explained. */
export interface OptionRow {
  /** The placeholder of its value, in capitals: `SECONDS`. Left out for a switch. */
  value?: string;
  /** The option may be repeated. */
  isList?: boolean;
  /** Its values are never shown. */
  isSecret?: boolean;
  /** The allowed values, if they are fixed. */
  choices?: readonly string[] | undefined;
  /** What every value must match, and its description for people. */
  form?: readonly [form: { test(text: string): boolean }, description: string];
  /** An earlier option that it cannot be combined with. */
  instead?: string;
  /** One or more lines. Braces stand for a name of the product. */
  help: string;
}

export type OptionTable<Row extends OptionRow = OptionRow> = Readonly<Record<string, Row>>;

/** The message for each mistake: a fragment in a log, a sentence in the client. */
export interface ArgumentMessages {
  unknown(option: string, name: string): string;
  noValue(option: string, placeholder: string): string;
  extraValue(option: string): string;
  /** Null: a switch may be repeated. */
  twice(option: string, isSwitch: boolean): string | null;
}

/** The arguments of a command. The values are not checked yet. */
interface Arguments {
  /** By name without dashes; `1` for a switch. */
  values: Map<string, string[]>;
  words: string[];
  /** Words that cannot be the value of an unknown option. */
  certainWords: string[];
  mistakes: string[];
}

export function readArguments(
  args: readonly string[],
  table: OptionTable,
  messages: ArgumentMessages,
): Arguments {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const read: Arguments = { values: new Map(), words: [], certainWords: [], mistakes: [] };
  let isAfterUnknown = false;
  for (const token of tokens) {
    if (token.kind === 'positional') read.words.push(token.value);
    if (token.kind === 'positional' && !isAfterUnknown) read.certainWords.push(token.value);
    isAfterUnknown = false;
    if (token.kind !== 'option') continue;
    const { name, rawName: option, value = '' } = token;
    const row = option === `--${name}` && Object.hasOwn(table, name) ? table[name] : undefined;
    const isSwitch = row?.value === undefined;
    const known = read.values.get(name) ?? [];
    const twice = row?.isList || known.length === 0 ? null : messages.twice(option, isSwitch);
    if (row === undefined) {
      isAfterUnknown = true;
      read.mistakes.push(messages.unknown(option, name));
    } else if (twice !== null) read.mistakes.push(twice);
    else if (isSwitch && token.value !== undefined) read.mistakes.push(messages.extraValue(option));
    else if (!isSwitch && (value === '' || (!token.inlineValue && /^-./.test(value))))
      read.mistakes.push(messages.noValue(option, row.value ?? ''));
    else read.values.set(name, [...known, isSwitch ? '1' : value]);
  }
  return read;
}

const switchForm = [/^[01]$/, '1 (on) or 0 (off)'] as const;

/** What is wrong with a value, as the end of a sentence; null if nothing is. */
export function describeWrongValue(row: Omit<OptionRow, 'help'>, value: string): string | null {
  const { choices, isSecret } = row;
  const form = row.form ?? (row.value === undefined ? switchForm : null);
  if (choices?.includes(value) ?? form?.[0].test(value) ?? true) return null;
  return `must be ${choices?.join(' or ') ?? form?.[1]}${isSecret ? '' : `, not "${value}"`}`;
}

/** `--target RELEASE`. */
export const optionLabel = (name: string, { value }: OptionRow): string =>
  value === undefined ? `--${name}` : `--${name} ${value}`;
