import { parseArgs } from 'node:util';

/** Definition of a command-line option, used for parsing, validation, completion and help. */
export interface OptionRow {
  /** Placeholder for the value in capitals: `SECONDS`. Undefined for a switch. */
  value?: string;
  /** Whether the option may be repeated. */
  isList?: boolean;
  /** Whether the values of the option must never be shown. */
  isSecret?: boolean;
  /** Allowed values, if only certain values are allowed. */
  choices?: readonly string[] | undefined;
  /** Pattern that every value must match, and its description for users. */
  form?: readonly [form: { test(text: string): boolean }, description: string];
  /** Name of an option, earlier in the table, with which this option cannot be combined. */
  instead?: string;
  /** Help text of one or more lines. Text in braces is replaced with a name of the product. */
  help: string;
}

export type OptionTable<Row extends OptionRow = OptionRow> = Readonly<Record<string, Row>>;

/** Messages about mistakes in arguments: fragments for a log, or sentences for the client. */
export interface ArgumentMessages {
  unknown(option: string, name: string): string;
  noValue(option: string, placeholder: string): string;
  extraValue(option: string): string;
  /** Returns the message for an option that is given twice; null if a switch may be given twice. */
  twice(option: string, isSwitch: boolean): string | null;
}

/** The arguments of a command, whose values have not been validated. */
interface Arguments {
  /** Values by option name without dashes; `1` for a switch. */
  values: Map<string, string[]>;
  words: string[];
  /** Those of `words` that cannot be the value of an unknown option. */
  certainWords: string[];
  mistakes: string[];
}

export function parseArguments(
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

/** Describes the mistake in a value, as the end of a sentence; null if the value is valid. */
export function describeWrongValue(row: Omit<OptionRow, 'help'>, value: string): string | null {
  const { choices, isSecret } = row;
  const form = row.form ?? (row.value === undefined ? switchForm : null);
  if (choices?.includes(value) ?? form?.[0].test(value) ?? true) return null;
  return `must be ${choices?.join(' or ') ?? form?.[1]}${isSecret ? '' : `, not "${value}"`}`;
}

/** Returns the option with its placeholder: `--target RELEASE`. */
export const optionLabel = (name: string, { value }: OptionRow): string =>
  value === undefined ? `--${name}` : `--${name} ${value}`;
