import { parseArgs } from 'node:util';

/** Definition of a command-line option, used for parsing, validation, completion and help. */
export interface OptionRow {
  /** Placeholder for the value, in capitals (`SECONDS`); undefined for a switch. */
  value?: string;
  /** Whether the option may be repeated. */
  isList?: boolean;
  /** Whether the values must never be shown. */
  isSecret?: boolean;
  /** Allowed values; undefined if there is no fixed list. */
  choices?: readonly string[] | undefined;
  /** Pattern that every value must match, and its description for users. */
  form?: readonly [form: { test(text: string): boolean }, description: string];
  /** Option earlier in the table that must not be combined with this one. */
  instead?: string;
  /** One or more lines. Text in braces is replaced with a product name. */
  help: string;
}

export type OptionTable<Row extends OptionRow = OptionRow> = Readonly<Record<string, Row>>;

/** Messages about mistakes in arguments. They are fragments in the updater's log and whole sentences in the client. */
export interface ArgumentMessages {
  unknown(option: string, name: string): string;
  noValue(option: string, placeholder: string): string;
  extraValue(option: string): string;
  /** Returns the message for a repeated option; null if a switch may be repeated. */
  repeated(option: string, isSwitch: boolean): string | null;
}

/** Parsed arguments. Their values have not been validated yet. */
interface Arguments {
  /** Values, keyed by option name without dashes. A switch has the value `1`. */
  values: Map<string, string[]>;
  words: string[];
  /** Positional arguments, except those that may be the value of an unknown option. */
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
    const twice = row?.isList || known.length === 0 ? null : messages.repeated(option, isSwitch);
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

/** Returns the end of a sentence, such as `must be a or b`. Returns null if the value is valid. */
export function describeInvalidValue(row: Omit<OptionRow, 'help'>, value: string): string | null {
  const { choices, isSecret } = row;
  const form = row.form ?? (row.value === undefined ? switchForm : null);
  if (choices?.includes(value) ?? form?.[0].test(value) ?? true) return null;
  return `must be ${choices?.join(' or ') ?? form?.[1]}${isSecret ? '' : `, not "${value}"`}`;
}

/** Returns the option with its placeholder: `--target RELEASE`. */
export const formatOptionUsage = (name: string, { value }: OptionRow): string =>
  value === undefined ? `--${name}` : `--${name} ${value}`;
