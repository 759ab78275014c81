import { type Product, svc } from '../../progress/product.ts';
import { settingsName } from '../../progress/state-name.ts';
import { parseAsked, type Target, targetForms } from '../../release/target.ts';
import type { LogFormat } from '../log/log.ts';
import { bumpFlags, initFlags, updateFlags, variables } from './flags.ts';
import { type GivenValue, readFlags } from './read-flags.ts';
import { readProduct } from './read-product.ts';

export interface UpdateOptions {
  command: 'update' | 'plan';
  product: Product;
  target: Target | null;
  project: string | null;
  /** The compose directory as mounted. */
  dir: string | null;
  /** The id of a container of the instance, which alone is believed what its labels say; null: all tell, and must agree. */
  container: string | null;
  app: string;
  workers: readonly string[];
  /** Services the operator named: a missing one is an error, a missing default worker is fine. */
  servicesNamed: boolean;
  /** Services that belong with the app and stay behind, as the operator says; `*` for all. */
  leave: readonly string[];
  versionVariable: string;
  /** Milliseconds. */
  waitTimeoutMs: number;
  pullTimeoutMs: number;
  acceptDrift: boolean;
  log: LogFormat;
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

/** What `init` looks for, as `update` has it, and writes down. */
export interface InitOptions extends Omit<UpdateOptions, 'command'> {
  command: 'init';
  dryRun: boolean;
  /** In place of a file that is there. */
  force: boolean;
}

/** What a settings file says, by option; where, for the sentence about a mistake in it. */
export type FileValues = ReadonlyMap<string, readonly GivenValue[]>;

export type Options =
  | UpdateOptions
  | InitOptions
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

/** What a run waits where nobody says how long. */
export const usualSeconds = { wait: 300, pull: 3600 };

const commands = ['update', 'plan', 'init', 'bump'] as const;

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
  const words = argv.filter(
    (word) => word === '--help' || word === '-h' || word === '--version' || word === 'help',
  );
  const mistakes: string[] = [];
  const product = readProduct(env, mistakes) ?? svc;
  if (words.some((word) => word !== '--version')) return { command: 'help', product };
  if (words.length > 0) return { command: 'version', product };

  const [first = ''] = argv;
  const command = commands.find((word) => word === first) ?? 'update';
  if (first !== '' && first !== command && !first.startsWith('-')) {
    mistakes.push(`unknown command "${first}": use update, plan, init or bump`);
  }
  const flags = flagsOf[command];
  const said = readFlags(first !== '' && !first.startsWith('-') ? argv.slice(1) : argv, flags, mistakes);
  for (const [flag, variable] of Object.entries(variables)) {
    const value = env[variable];
    if (!value || said.has(flag) || !(flag in flags)) continue;
    const values = flags[flag] === 'list' ? value.split(',').map((name) => name.trim()) : [value];
    said.set(
      flag,
      values.map((text) => ({ value: text, where: variable })),
    );
  }

  const services = (said.get('service') ?? []).map(({ value }) => value);
  for (const [flag, values] of file ?? []) {
    if (said.has(flag) || !(flag in flags)) continue;
    // A service that is named here and now is not left.
    const left = values.filter(({ value }) => flag !== 'leave' || !services.includes(value));
    if (left.length > 0) said.set(flag, [...left]);
  }

  const read = new Reader(said, mistakes);
  const log = (read.matching('log', /^(line|json)$/, 'line or json') ?? 'line') as LogFormat;
  const named = read.services();
  // The first is the app, the others are workers.
  const [app = 'app', ...workers] = named ?? product.services;
  const options: Options =
    command === 'bump'
      ? {
          log,
          command,
          product,
          dir: read.text('dir'),
          files: read.list('file'),
          envFiles: read.list('env-file'),
          target: read.target('to') ?? read.required('to', `bump needs --to RELEASE: ${targetForms}`),
          services: named ?? (isOpen(file, mistakes) ? [] : read.required('service', needsService)),
          digest: read.matching('digest', /^sha256:[0-9a-f]{64}$/, 'sha256: and 64 hex digits'),
          dryRun: said.has('dry-run'),
        }
      : {
          log,
          ...(command === 'init'
            ? { command, dryRun: said.has('dry-run'), force: said.has('force') }
            : { command }),
          product,
          target: read.target('target'),
          project: read.matching('project', /^[a-z0-9][a-z0-9_-]*$/, 'a compose project name'),
          dir: read.matching('dir', /^\//, 'an absolute path'),
          container: read.matching('container', /^[0-9a-f]{64}$/, "a container's whole id, 64 hex digits"),
          app,
          workers,
          versionVariable:
            read.matching('version-var', /^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable') ??
            product.versionVariable,
          servicesNamed: named !== null,
          leave: read.leave(),
          waitTimeoutMs: read.seconds('wait-timeout', usualSeconds.wait),
          pullTimeoutMs: read.seconds('pull-timeout', usualSeconds.pull),
          acceptDrift: read.switched('accept-drift'),
        };
  if (mistakes.length > 0) throw new UsageError(mistakes);
  return options;
}

const flagsOf = { update: updateFlags, plan: updateFlags, init: initFlags, bump: bumpFlags };

export const needsService = `bump needs --service, once or more, or services in ${settingsName}`;

/** Whether a settings file that nobody has read yet may still say what is missing. */
const isOpen = (file: FileValues | null, mistakes: readonly string[]): boolean =>
  file === null && mistakes.length === 0;

class Reader {
  readonly #said: Map<string, GivenValue[]>;
  readonly #mistakes: string[];

  constructor(said: Map<string, GivenValue[]>, mistakes: string[]) {
    this.#said = said;
    this.#mistakes = mistakes;
  }

  text(flag: string): string | null {
    return this.#said.get(flag)?.[0]?.value ?? null;
  }

  list(flag: string): string[] {
    return (this.#said.get(flag) ?? []).map(({ value }) => value);
  }

  matching(flag: string, form: RegExp, shouldBe: string): string | null {
    const said = this.#said.get(flag)?.[0];
    if (!said) return null;
    if (!form.test(said.value))
      this.#mistakes.push(`${said.where} is "${said.value}": it should be ${shouldBe}`);
    return said.value;
  }

  /** Given as a flag, or by an environment variable that is 1. */
  switched(flag: string): boolean {
    const said = this.#said.get(flag)?.[0];
    if (!said || said.where.startsWith('--')) return said !== undefined;
    return this.matching(flag, /^[01]$/, '1, or 0 for off') === '1';
  }

  seconds(flag: string, byDefault: number): number {
    const text = this.matching(flag, /^[1-9]\d{0,5}$/, 'a whole number of seconds, from 1 to 999999');
    return 1000 * Number(text ?? byDefault);
  }

  target(flag: string): Target | null {
    const said = this.#said.get(flag)?.[0];
    if (!said) return null;
    const target = parseAsked(said.value);
    if (!target) this.#mistakes.push(`${said.where} is "${said.value}": it should be ${targetForms}`);
    return target;
  }

  services(): string[] | null {
    const said = this.#said.get('service');
    if (!said) return null;
    for (const { value, where } of said) {
      if (!/^[A-Za-z0-9._][A-Za-z0-9._-]*$/.test(value))
        this.#mistakes.push(`${where} is "${value}": it should be a service's name`);
    }
    const names = said.map(({ value }) => value);
    if (new Set(names).size < names.length) this.#mistakes.push(`${said[0]?.where} names a service twice`);
    return names;
  }

  leave(): string[] {
    const said = this.#said.get('leave') ?? [];
    for (const { value, where } of said) {
      if (!/^(?:[A-Za-z0-9._][A-Za-z0-9._-]*|\*)$/.test(value))
        this.#mistakes.push(`${where} is "${value}": it should be a service's name, or *`);
      const named = this.#said.get('service')?.find((each) => each.value === value);
      if (named) this.#mistakes.push(`${value} is named by ${named.where} and by ${where}`);
    }
    return said.map(({ value }) => value);
  }

  /** Says what is missing; the value never gets out, as parseOptions throws. */
  required(flag: string, sentence: string): never {
    if (!this.#said.has(flag)) this.#mistakes.push(sentence);
    return undefined as never;
  }
}
