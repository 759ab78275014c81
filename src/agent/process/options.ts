import { parseArgs } from 'node:util';
import { type DataWord, isDataWord, type Product, productOf, svc } from '../../progress/product.ts';
import { settingsName } from '../../progress/state-name.ts';
import { parseTarget, type Target, targetForms } from '../../release/target.ts';
import type { LogFormat } from '../log/log.ts';
import { type OptionTable, optionsOf, usualSeconds, variableOf } from './option-table.ts';

/** What a run at an instance is told, whichever command it is of. */
export interface UpdateOptions {
  product: Product;
  target: Target | null;
  project: string | null;
  /** A stack of a Swarm, in place of a compose project. */
  stack: string | null;
  /** Of a stack, in the order of `docker stack deploy -c`. */
  files: readonly string[];
  /** Of a stack: its app is stopped wholly before its first new task. */
  stopFirst: boolean;
  /** The compose directory as mounted. */
  dir: string | null;
  /** The id of a container of the instance, which alone is believed what its labels say; null: all tell, and must agree. */
  container: string | null;
  app: string;
  workers: readonly string[];
  /** Services the operator named: a missing one is an error, a missing default worker is fine. */
  servicesNamed: boolean;
  /** Services that belong with the app and stay behind, as the operator says; `*` for all. */
  exclude: readonly string[];
  versionVariable: string;
  /** Milliseconds. */
  waitTimeoutMs: number;
  pullTimeoutMs: number;
  acceptDrift: boolean;
  /** The data is saved before the new version starts. */
  restorePoint: boolean;
  /** Where restore points lie, as mounted; null: with what else the updater keeps. */
  restoreDir: string | null;
  /** The entries of `data` in the settings file. */
  data: readonly DataSaid[];
  /** After a failed update, nothing is rolled back. */
  noRollback: boolean;
  /** `NAME=sha256:…` of images and of files that a release ships, any of which each has to be. */
  expect: readonly string[];
  expectFiles: readonly string[];
  /** A folder with `release.json`, and who may have signed it, as mounted. */
  release: string | null;
  /** An archive, as mounted: a release in one file, from which its images come. */
  archive: string | null;
  trust: string | null;
  log: LogFormat;
}

/** Back to the version, files and data of the restore point. */
export interface RollbackOptions extends UpdateOptions {
  command: 'rollback';
  /** Otherwise it is a dry run. */
  yes: boolean;
  /** The current data is not saved first. */
  discardCurrent: boolean;
}

/** Takes the restore point away: `rm` is all there is to do with one. */
export interface RestorePointOptions extends UpdateOptions {
  command: 'restore-point';
}

export interface BumpOptions {
  command: 'bump';
  product: Product;
  /** Null: where the first file is, else the working directory. */
  dir: string | null;
  files: readonly string[];
  envFiles: readonly string[];
  target: Target;
  services: readonly string[];
  digest: string | null;
  dryRun: boolean;
  log: LogFormat;
}

/** A value and where it was said, for the sentence about a mistake in it. */
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

/** What a settings file says, by option. */
export type FileValues = ReadonlyMap<string, readonly GivenValue[]>;

export type Options =
  | (UpdateOptions & { command: 'update' | 'plan' | 'fetch' })
  | RollbackOptions
  | RestorePointOptions
  | BumpOptions
  | { command: 'help'; product: Product }
  | { command: 'version'; product: Product };

/** Every mistake of a command line, so that all are mended in one go. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('; '));
    this.mistakes = mistakes;
  }
}

const commands = ['update', 'plan', 'fetch', 'rollback', 'restore-point', 'bump'] as const;

/**
 * Reads a command line, the environment and a settings file; each wins over what follows it. Without a file, services that
 * `bump` needs may be in one: then it has none.
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
  const command = commands.find((word) => word === first) ?? 'update';
  if (first !== '' && first !== command && !first.startsWith('-')) {
    mistakes.push(`unknown command "${first}": use update, plan, fetch, rollback, restore-point or bump`);
  }
  const table: OptionTable = optionsOf[command];
  const args = first !== '' && !first.startsWith('-') ? argv.slice(1) : argv;
  const hasVerb = command === 'restore-point' && args[0] === 'rm';
  if (command === 'restore-point' && !hasVerb)
    mistakes.push('restore-point needs the word rm, which takes it away');
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
    // A service that is named here and now is not left.
    const left = values.filter(({ value }) => name !== 'exclude' || !services.includes(value));
    if (left.length > 0) said.set(name, left);
  }

  /** What was given, held against what it has to be. */
  const all = (name: string): string[] => {
    const [form, shouldBe] = table[name]?.form ?? [];
    return (said.get(name) ?? []).map(({ value, where }) => {
      if (form?.test(value) === false) mistakes.push(`${where} is "${value}": it should be ${shouldBe}`);
      return value;
    });
  };
  const one = (name: string): string | null => all(name)[0] ?? null;
  const isOn = (name: string): boolean => one(name) === '1';
  const target = (name: string): Target | null => parseTarget(one(name) ?? '');
  const milliseconds = (name: string, byDefault: number): number => 1000 * Number(one(name) ?? byDefault);
  /** Says what is missing; the value never gets out, as mistakes are thrown. */
  const required = (name: string, sentence: string): never => {
    if (!said.has(name)) mistakes.push(sentence);
    return undefined as never;
  };

  /** Only a file says it, and only an update asks for it. */
  const data = (): DataSaid[] =>
    (file?.get('data') ?? []).flatMap(({ value: word, where, key = '' }) => {
      if (isDataWord(word)) return [{ key, word, where }];
      mistakes.push(`${where} is "${word}": it should be save or none`);
      return [];
    });

  const log = (one('log') ?? 'line') as LogFormat;
  const named = said.has('service') ? all('service') : null;
  if (new Set(named).size < (named ?? []).length)
    mistakes.push(`${said.get('service')?.[0]?.where} names a service twice`);
  // The first is the app, the others are workers.
  const [app = 'app', ...workers] = named ?? product.services;
  // A settings file that has not been read yet may still name the services.
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
          target: target('to') ?? required('to', `bump needs --to RELEASE: ${targetForms}`),
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
      `${said.get('stack')?.[0]?.where} and ${said.get('project')?.[0]?.where}: an instance is one or the other`,
    );
  for (const [one, ...others] of [
    ['release', 'trust'],
    ['trust', 'release', 'archive'],
    ['archive', 'trust', 'expect'],
  ] as const)
    if (said.has(one) && !others.some((other) => said.has(other)))
      mistakes.push(`${said.get(one)?.[0]?.where} says nothing without --${others.join(' or --')}`);
  if (said.has('archive') && said.has('expect') && !said.has('trust') && !said.has('target'))
    mistakes.push(
      `${said.get('archive')?.[0]?.where} needs --target, or --trust, which tells of its release`,
    );
  if (said.has('archive') && said.has('release'))
    mistakes.push(`${said.get('archive')?.[0]?.where} has a release.json of its own: leave --release out`);
  for (const { value, where } of said.get('exclude') ?? []) {
    const other = said.get('service')?.find((each) => each.value === value);
    if (other) mistakes.push(`${value} is named by ${other.where} and by ${where}`);
  }
  if (mistakes.length > 0) throw new UsageError(mistakes);
  return options;
}

export const needsService = `bump needs --service, once or more, or services in ${settingsName}`;

const productVariable = 'SVC_UPDATER_PRODUCT';

/** Every option of a command line with what was said, 1 for a switch; mistakes are added to the list. */
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
    else if (!isSwitch && !token.value) mistakes.push(`${where} needs a value`);
    else if (!isSwitch && !row.isList && said.has(token.name)) mistakes.push(`${where} is given twice`);
    else said.set(token.name, [...(said.get(token.name) ?? []), { value: token.value ?? '1', where }]);
  }
  return said;
}

/** The product of this name, or of this record as JSON; svc where it says none, or is wrong, which the mistakes then say. */
function readProduct(text: string | undefined, mistakes: string[]): Product {
  const given = text?.trim();
  if (!given) return svc;
  try {
    return productOf(given.startsWith('{') ? JSON.parse(given) : { name: given });
  } catch (error) {
    const why = error instanceof TypeError ? error.message : 'it is neither a name nor a record as JSON';
    mistakes.push(`${productVariable} is wrong: ${why.replace(/^wrong product: /, '')}`);
    return svc;
  }
}
