import {
  type ArgumentMessages,
  describeInvalidValue,
  parseArguments,
} from '../../../core/command-line/option-row.ts';
import { type ErrorCode, errorCodes } from '../../../core/errors/update-error.ts';
import { createProduct, findProductMistakes, type Product, svcProduct } from '../../../core/names/product.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import { targetDescription } from '../../../core/release/target.ts';
import { maxNotificationAddresses } from '../../../notify/address.ts';
import { findSimilarNames } from './explain-error-code.ts';
import {
  commandNames,
  dataKeywordForm,
  environmentVariableOf,
  optionsByCommand,
  type UpdaterCommand,
  type UpdaterOptionTable,
} from './option-table.ts';

export interface CommandLine {
  command: UpdaterCommand;
  product: Product;
  /** Keyed by option name. Only a settings file can set `data`. */
  values: OptionValues;
  /** Error code to explain; null for all codes. */
  code: ErrorCode | null;
}

export type OptionValues = ReadonlyMap<string, readonly GivenValue[]>;

/** A value, and the option, variable or line that set it, for error messages. */
export interface GivenValue {
  value: string;
  where: string;
  /** For `data`: the name of a service, a mount (`app:/library`) or a host. */
  key?: string;
}

/** Contains all mistakes of a command line, so that the user can correct them together. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('; '));
    this.mistakes = mistakes;
  }
}

const productVariable = 'SVC_UPDATER_PRODUCT';

export const missingServiceMessage = `bump requires at least one --service option, or the services setting in ${settingsFileName}`;

/**
 * Options override environment variables.
 * @throws UsageError with all mistakes
 */
export function parseCommandLine(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): CommandLine {
  const words = argv.filter((word) => ['--help', '-h', 'help', '--version'].includes(word));
  const mistakes: string[] = [];
  const product = readProduct(env[productVariable], mistakes);
  const nothing = { product, values: new Map<string, never>(), code: null };
  if (words.some((word) => word !== '--version')) return { command: 'help', ...nothing };
  if (words.length > 0) return { command: 'version', ...nothing };

  const [first = ''] = argv;
  const command = commandNames.find((word) => word === first) ?? 'update';
  if (first !== '' && first !== command && !first.startsWith('-')) {
    mistakes.push(
      `unknown command "${first}": use ${commandNames.slice(0, -1).join(', ')} or ${commandNames.at(-1)}`,
    );
  }
  if (command === 'explain') {
    const code = readCode(argv.slice(1), mistakes);
    if (mistakes.length > 0) throw new UsageError(mistakes);
    return { command, ...nothing, code };
  }
  const args = first !== '' && !first.startsWith('-') ? argv.slice(1) : argv;
  const hasVerb = command === 'restore-point' && args[0] === 'rm';
  if (command === 'restore-point' && !hasVerb)
    mistakes.push('restore-point must be followed by rm, which removes the restore point');
  const table = optionsByCommand[command];
  const typed = readFlags(hasVerb ? args.slice(1) : args, table, mistakes);
  const values = new Map([...readVariables(env, table), ...typed]);
  mistakes.push(...findUsageMistakes(command, values));
  // A missing list of services is not an error yet, because the settings file, which is read later, may contain the
  // list.
  if (mistakes.some((each) => each !== missingServiceMessage)) throw new UsageError(mistakes);
  return { ...nothing, command, values };
}

/** Finds values with the wrong form, missing options, and options that exclude each other. */
export function findUsageMistakes(command: UpdaterCommand, values: OptionValues): string[] {
  const mistakes: string[] = [];
  const rows: UpdaterOptionTable = {
    ...optionsByCommand[command],
    data: { form: dataKeywordForm, help: '' },
  };
  for (const [name, row] of Object.entries(rows))
    for (const { value, where } of values.get(name) ?? []) {
      const mistake = describeInvalidValue(row, value);
      if (mistake !== null) mistakes.push(`${where} ${mistake}`);
    }
  const notify = values.get('notify') ?? [];
  if (notify.length > maxNotificationAddresses)
    mistakes.push(`${notify[0]?.where} lists more than ${maxNotificationAddresses} addresses`);
  const placeOf = (name: string) => values.get(name)?.[0]?.where;
  const services = values.get('service') ?? [];
  if (new Set(services.map(({ value }) => value)).size < services.length)
    mistakes.push(`${placeOf('service')} lists a service twice`);
  if (command === 'bump' && !values.has('to'))
    mistakes.push(`bump requires --to RELEASE: ${targetDescription}`);
  if (command === 'bump' && !values.has('service')) mistakes.push(missingServiceMessage);
  if (values.has('stack') && values.has('project'))
    mistakes.push(`${placeOf('stack')} and ${placeOf('project')} cannot be used together`);
  for (const [one, ...others] of [
    ['release', 'trust'],
    ['trust', 'release', 'archive', 'channel-file'],
    ['archive', 'trust', 'expect'],
  ] as const)
    if (values.has(one) && !others.some((other) => values.has(other)))
      mistakes.push(`${placeOf(one)} requires --${others.join(' or --')}`);
  if (values.has('archive') && values.has('expect') && !values.has('trust') && !values.has('target'))
    mistakes.push(
      `${placeOf('archive')} requires --target or --trust: the version of an unsigned archive is not trusted`,
    );
  if (values.has('archive') && values.has('release'))
    mistakes.push(
      `${placeOf('archive')} cannot be used with --release, because the archive contains a release.json`,
    );
  for (const { value, where } of values.get('exclude') ?? []) {
    const other = services.find((each) => each.value === value);
    if (other)
      mistakes.push(`${value} cannot be updated (${other.where}) and excluded (${where}) at the same time`);
  }
  return mistakes;
}

function readVariables(
  env: Readonly<Record<string, string | undefined>>,
  table: UpdaterOptionTable,
): Map<string, GivenValue[]> {
  const values = new Map<string, GivenValue[]>();
  for (const [name, { isList, isTyped }] of Object.entries(table)) {
    const where = isTyped ? null : environmentVariableOf(name);
    const text = where === null ? undefined : env[where];
    if (where === null || !text) continue;
    const parts = isList ? text.split(',').map((each) => each.trim()) : [text];
    values.set(
      name,
      parts.map((value) => ({ value, where })),
    );
  }
  return values;
}

/** Returns the values of the options, and adds errors to `mistakes`. */
function readFlags(args: readonly string[], table: UpdaterOptionTable, mistakes: string[]): OptionValues {
  const messages: ArgumentMessages = {
    unknown: (option, name) => {
      const [near] = findSimilarNames(name, Object.keys(table));
      return `unknown option ${option}${near === undefined ? '' : ` (did you mean --${near}?)`}`;
    },
    noValue: (option) => `${option} requires a value`,
    extraValue: (option) => `${option} takes no value`,
    repeated: (option, isSwitch) => (isSwitch ? null : `${option} is given twice`),
  };
  const read = parseArguments(args, table, messages);
  mistakes.push(...read.mistakes, ...read.certainWords.map((word) => `unexpected argument "${word}"`));
  return new Map(
    [...read.values].map(([name, values]) => [name, values.map((value) => ({ value, where: `--${name}` }))]),
  );
}

/**
 * The text is a name or a JSON object. If it is empty or invalid, returns the product svc; errors are added to
 * `mistakes`.
 */
function readProduct(text: string | undefined, mistakes: string[]): Product {
  const given = text?.trim();
  if (!given) return svcProduct;
  try {
    const options = given.startsWith('{') ? JSON.parse(given) : { name: given };
    const wrong = findProductMistakes(options);
    if (wrong.length === 0) return createProduct(options);
    mistakes.push(`${productVariable} is invalid: ${wrong.join('; ')}`);
  } catch {
    mistakes.push(`${productVariable} is invalid: the value must be a name or a JSON object`);
  }
  return svcProduct;
}

/**
 * Returns the argument of `explain`; null, for all codes, if there is no argument. For an unknown code, adds an error
 * that lists similar codes to `mistakes`.
 */
function readCode(words: readonly string[], mistakes: string[]): ErrorCode | null {
  const [word = '-'] = words;
  readFlags(word.startsWith('-') ? words : words.slice(1), {}, mistakes);
  const code = errorCodes.find((each) => each === word) ?? null;
  if (code !== null || word.startsWith('-')) return code;
  const near = findSimilarNames(word, errorCodes);
  const hint =
    near.length > 0 ? `similar codes are ${near.join(', ')}` : 'run explain without a code to list all codes';
  mistakes.push(`unknown code "${word}": ${hint}`);
  return null;
}
