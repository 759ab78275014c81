import { parseArgs } from 'node:util';
import { type DataWord, isDataWord, type Product, productOf, svc } from '../../progress/product.ts';
import { settingsName } from '../../progress/state-name.ts';
import { type ErrorCode, errorCodes } from '../../progress/update-error.ts';
import { parseTarget, type Target, targetForms } from '../../release/target.ts';
import type { LogFormat } from '../log/log.ts';
import { nearCodes } from './explain.ts';
import { type OptionTable, optionsOf, usualSeconds, variableOf } from './option-table.ts';

/** The options of all commands that run on an instance. */
export interface UpdateOptions {
  product: Product;
  target: Target | null;
  project: string | null;
  /** A Swarm stack instead of a compose project. */
  stack: string | null;
  /** The files of a stack, in the order of `docker stack deploy -c`. */
  files: readonly string[];
  /** Swarm only: all old app tasks are stopped before the first new one starts. */
  stopFirst: boolean;
  /** The compose directory, as a path inside the container. */
  dir: string | null;
  /** The id of the only container whose labels are trusted. Null: the labels of all containers must agree. */
  container: string | null;
  app: string;
  workers: readonly string[];
  /** The operator listed the services, so a missing one is an error. A missing default worker is not. */
  servicesNamed: boolean;
  /** Services of the app that are not updated; `*` for all. */
  exclude: readonly string[];
  versionVariable: string;
  /** Milliseconds. */
  waitTimeoutMs: number;
  pullTimeoutMs: number;
  acceptDrift: boolean;
  /** The data is saved before the new version starts. */
  restorePoint: boolean;
  /** The directory for restore points, as a path inside the container. Null: the state directory. */
  restoreDir: string | null;
  /** The entries of `data` in the settings file. */
  data: readonly DataSaid[];
  /** After a failed update, nothing is rolled back. */
  noRollback: boolean;
  /** `NAME=sha256:…` of images and of files of a release. If a name has several digests, each is accepted. */
  expect: readonly string[];
  expectFiles: readonly string[];
  /** A directory with `release.json`, as a path inside the container. */
  release: string | null;
  /** The release archive that contains the images, as a path inside the container. */
  archive: string | null;
  /** The file that lists who may sign releases, as a path inside the container. */
  trust: string | null;
  log: LogFormat;
}

/** Restores the version, files and data of the restore point. */
export interface RollbackOptions extends UpdateOptions {
  command: 'rollback';
  /** False for a dry run. */
  yes: boolean;
  /** The current data is not saved first. */
  discardCurrent: boolean;
}

/** Removes the restore point: `restore-point rm`. */
export interface RestorePointOptions extends UpdateOptions {
  command: 'restore-point';
}

export interface BumpOptions {
  command: 'bump';
  product: Product;
  /** Null: the directory of the first file, or the working directory. */
  dir: string | null;
  files: readonly string[];
  envFiles: readonly string[];
  target: Target;
  services: readonly string[];
  digest: string | null;
  dryRun: boolean;
  log: LogFormat;
}

/** A value and where it was set, for error messages. */
export interface GivenValue {
  value: string;
  where: string;
  /** In `data`: a service, a mount (`app:/library`) or a host. */
  key?: string;
}

/** Whether a restore point contains the data of a service, of a mount (`app:/library`) or of a database host outside the project. */
export interface DataSaid {
  key: string;
  word: DataWord;
  where: string;
}

/** The values of a settings file, by option. */
export type FileValues = ReadonlyMap<string, readonly GivenValue[]>;

export type Options =
  | (UpdateOptions & { command: 'update' | 'plan' | 'fetch' })
  | RollbackOptions
  | RestorePointOptions
  | BumpOptions
  | { command: 'explain'; product: Product; code: ErrorCode | null }
  | { command: 'help'; product: Product }
  | { command: 'version'; product: Product };

/** All mistakes of a command line, so that an operator can fix them together. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('; '));
    this.mistakes = mistakes;
  }
}

const commands = ['update', 'plan', 'fetch', 'rollback', 'restore-point', 'bump'] as const;
const explainWord = 'explain';

/**
 * Reads the command line, the environment and a settings file. Options override variables, and variables override the file.
 * If the file has not been read yet, `bump` may get its services from it later.
 * @throws UsageError with every mistake at once.
 */
export function parseOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  file: FileValues | null = null,
): Options {
  const words = argv.filter((word) => ['--help', '-h', 'help', '--version'].includes(word));
  const mistakes: string[] = [];
  const product = readProduct(env[productVariable], mistakes);
  if (words.some((word) => word !== '--version')) return { command: 'help', product };
  if (words.length > 0) return { command: 'version', product };

  const [first = ''] = argv;
  if (first === explainWord) {
    const code = readCode(argv.slice(1), mistakes);
    if (mistakes.length > 0) throw new UsageError(mistakes);
    return { command: 'explain', product, code };
  }
  const command = commands.find((word) => word === first) ?? 'update';
  if (first !== '' && first !== command && !first.startsWith('-')) {
    mistakes.push(`unknown command "${first}": use ${commands.join(', ')} or ${explainWord}`);
  }
  const table: OptionTable = optionsOf[command];
  const args = first !== '' && !first.startsWith('-') ? argv.slice(1) : argv;
  const hasVerb = command === 'restore-point' && args[0] === 'rm';
  if (command === 'restore-point' && !hasVerb)
    mistakes.push('restore-point must be followed by rm, which removes the restore point');
  const said = readFlags(hasVerb ? args.slice(1) : args, table, mistakes);
  for (const [name, { isList, isTyped }] of Object.entries(table)) {
    const where = isTyped ? null : variableOf(name);
    const text = where === null ? undefined : env[where];
    if (where === null || !text || said.has(name)) continue;
    const values = isList ? text.split(',').map((each) => each.trim()) : [text];
    said.set(
      name,
      values.map((value) => ({ value, where })),
    );
  }

  const services = (said.get('service') ?? []).map(({ value }) => value);
  for (const [name, values] of file ?? []) {
    if (said.has(name) || !(name in table)) continue;
    // A service on the command line is updated even if the file excludes it.
    const kept = values.filter(({ value }) => name !== 'exclude' || !services.includes(value));
    if (kept.length > 0) said.set(name, kept);
  }

  /** The values of an option, checked against its form. */
  const all = (name: string): string[] => {
    const [form, description] = table[name]?.form ?? [];
    return (said.get(name) ?? []).map(({ value, where }) => {
      if (form?.test(value) === false) mistakes.push(`${where} must be ${description}, not "${value}"`);
      return value;
    });
  };
  const one = (name: string): string | null => all(name)[0] ?? null;
  const isOn = (name: string): boolean => one(name) === '1';
  const target = (name: string): Target | null => parseTarget(one(name) ?? '');
  const milliseconds = (name: string, byDefault: number): number => 1000 * Number(one(name) ?? byDefault);
  /** Reports a missing option. Its value is never used, because mistakes are thrown. */
  const required = (name: string, sentence: string): never => {
    if (!said.has(name)) mistakes.push(sentence);
    return undefined as never;
  };

  /** Only a settings file has this setting, and only an update uses it. */
  const data = (): DataSaid[] =>
    (file?.get('data') ?? []).flatMap(({ value: word, where, key = '' }) => {
      if (isDataWord(word)) return [{ key, word, where }];
      mistakes.push(`${where} must be "save" or "none", not "${word}"`);
      return [];
    });

  const log = (one('log') ?? 'line') as LogFormat;
  const named = said.has('service') ? all('service') : null;
  if (new Set(named).size < (named ?? []).length)
    mistakes.push(`${said.get('service')?.[0]?.where} lists a service twice`);
  // The first is the app, the others are workers.
  const [app = 'app', ...workers] = named ?? product.services;
  // The settings file may still list the services if it has not been read yet.
  const isOpen = () => file === null && mistakes.length === 0;
  const options: Options =
    command === 'bump'
      ? {
          log,
          command,
          product,
          dir: one('dir'),
          files: all('file'),
          envFiles: all('env-file'),
          target: target('to') ?? required('to', `bump requires --to RELEASE: ${targetForms}`),
          services: named ?? (isOpen() ? [] : required('service', needsService)),
          digest: one('digest'),
          dryRun: isOn('dry-run'),
        }
      : {
          log,
          ...(command === 'rollback'
            ? { command, yes: isOn('yes'), discardCurrent: isOn('discard-current') }
            : { command }),
          product,
          target: target('target'),
          project: one('project'),
          stack: one('stack'),
          files: all('file'),
          stopFirst: isOn('stop-first'),
          dir: one('dir'),
          container: one('container'),
          app,
          workers,
          versionVariable: one('version-var') ?? product.versionVariable,
          servicesNamed: named !== null,
          exclude: all('exclude'),
          waitTimeoutMs: milliseconds('wait-timeout', usualSeconds.wait),
          pullTimeoutMs: milliseconds('pull-timeout', usualSeconds.pull),
          acceptDrift: isOn('accept-drift'),
          restorePoint: isOn('restore-point'),
          restoreDir: one('restore-dir'),
          data: data(),
          noRollback: isOn('no-rollback'),
          expect: all('expect'),
          expectFiles: all('expect-file'),
          release: one('release'),
          archive: one('archive'),
          trust: one('trust'),
        };
  if (said.has('stack') && said.has('project'))
    mistakes.push(
      `${said.get('stack')?.[0]?.where} and ${said.get('project')?.[0]?.where} cannot be used together`,
    );
  for (const [one, ...others] of [
    ['release', 'trust'],
    ['trust', 'release', 'archive'],
    ['archive', 'trust', 'expect'],
  ] as const)
    if (said.has(one) && !others.some((other) => said.has(other)))
      mistakes.push(`${said.get(one)?.[0]?.where} requires --${others.join(' or --')}`);
  if (said.has('archive') && said.has('expect') && !said.has('trust') && !said.has('target'))
    mistakes.push(
      `${said.get('archive')?.[0]?.where} requires --target or --trust: the version of an unsigned archive is not trusted`,
    );
  if (said.has('archive') && said.has('release'))
    mistakes.push(
      `${said.get('archive')?.[0]?.where} cannot be used with --release, because the archive contains a release.json`,
    );
  for (const { value, where } of said.get('exclude') ?? []) {
    const other = said.get('service')?.find((each) => each.value === value);
    if (other)
      mistakes.push(`${value} cannot be updated (${other.where}) and excluded (${where}) at the same time`);
  }
  if (mistakes.length > 0) throw new UsageError(mistakes);
  return options;
}

export const needsService = `bump requires at least one --service option, or the services setting in ${settingsName}`;

const productVariable = 'SVC_UPDATER_PRODUCT';

/** Every option of a command line with its values, 1 for a switch. Mistakes are added to the list. */
function readFlags(
  args: readonly string[],
  table: OptionTable,
  mistakes: string[],
): Map<string, GivenValue[]> {
  const said = new Map<string, GivenValue[]>();
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => {
      const type = value === undefined ? ('boolean' as const) : ('string' as const);
      return [name, { type, multiple: true }];
    }),
  );
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') mistakes.push(`unexpected argument "${token.value}"`);
    if (token.kind !== 'option') continue;
    const row = table[token.name];
    const isSwitch = row?.value === undefined;
    const where = `--${token.name}`;
    if (row === undefined || !token.rawName.startsWith('--'))
      mistakes.push(`unknown option ${token.rawName}`);
    else if (isSwitch && token.value !== undefined) mistakes.push(`${where} takes no value`);
    else if (!isSwitch && !token.value) mistakes.push(`${where} requires a value`);
    else if (!isSwitch && !row.isList && said.has(token.name)) mistakes.push(`${where} is given twice`);
    else said.set(token.name, [...(said.get(token.name) ?? []), { value: token.value ?? '1', where }]);
  }
  return said;
}

/** The product of this name or JSON object. Gives svc if the text is empty or invalid, and reports what is invalid. */
function readProduct(text: string | undefined, mistakes: string[]): Product {
  const given = text?.trim();
  if (!given) return svc;
  try {
    return productOf(given.startsWith('{') ? JSON.parse(given) : { name: given });
  } catch (error) {
    const why = error instanceof TypeError ? error.message : 'the value must be a name or a JSON object';
    mistakes.push(`${productVariable} is invalid: ${why.replace(/^invalid product: /, '')}`);
    return svc;
  }
}

/** The code that `explain` explains, null for all codes. An unknown code is a mistake that lists similar codes. */
function readCode(words: readonly string[], mistakes: string[]): ErrorCode | null {
  const [word = null, ...others] = words;
  for (const each of words.filter((each) => each.startsWith('-'))) mistakes.push(`unknown option ${each}`);
  for (const each of others.filter((each) => !each.startsWith('-')))
    mistakes.push(`unexpected argument "${each}"`);
  const code = errorCodes.find((each) => each === word) ?? null;
  if (word === null || code !== null || word.startsWith('-')) return code;
  const near = nearCodes(word);
  const hint =
    near.length > 0 ? `similar codes are ${near.join(', ')}` : 'run explain without a code to list all codes';
  mistakes.push(`unknown code "${word}": ${hint}`);
  return null;
}
