import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StartedProject } from '../../core/progress/compose-command.ts';
import type { CommandResult } from './command.ts';
import type { Engine } from './engine.ts';
import { lacksModelPlugin, rejectionOf } from './rejection.ts';

/** What makes compose see the project the way the host does. Absolute host paths throughout. */
export interface ComposeProject extends StartedProject {
  /** An env file has a COMPOSE_COMPATIBILITY, which only what runs may decide. */
  asksForNames?: boolean;
}

export interface ModelMount {
  type: string;
  source?: string;
  target: string;
  read_only?: boolean;
  volume?: { subpath?: string };
}

interface ModelHook {
  /** Of a `pre_start` hook that does not run from the service's. */
  image?: string;
  command?: unknown;
  environment?: Record<string, string | null> | null;
}

export interface ModelService {
  image?: string;
  build?: unknown;
  platform?: string;
  pull_policy?: string;
  profiles?: string[] | null;
  labels?: Record<string, string> | null;
  environment?: Record<string, string | null> | null;
  env_file?: { path: string; required?: boolean }[] | null;
  /** A program on the host runs the service, and sets variables of its dependents. */
  provider?: unknown;
  depends_on?: Record<string, { condition?: string; restart?: boolean; required?: boolean }> | null;
  container_name?: string;
  scale?: number;
  deploy?: { replicas?: number } | null;
  /** Since compose 5.3: commands that run from the service's image before a container of it starts. */
  pre_start?: readonly ModelHook[] | null;
  post_start?: readonly ModelHook[] | null;
  pre_stop?: readonly ModelHook[] | null;
  network_mode?: string;
  pid?: string;
  ipc?: string;
  networks?: Record<string, unknown> | null;
  ports?: { target?: number; published?: string; host_ip?: string; protocol?: string }[] | null;
  volumes?: ModelMount[] | null;
  /** `other`, `other:ro`, `container:name`. */
  volumes_from?: string[] | null;
  tmpfs?: string | string[] | null;
  configs?: { source: string; target?: string }[] | null;
  /** Language models that it uses. */
  models?: Record<string, unknown> | null;
  secrets?: { source: string; target?: string }[] | null;
}

/** Compose's own resolved model, as `docker compose config --format json` prints it. */
export interface Model {
  name: string;
  services: Record<string, ModelService>;
  networks?: Record<string, { name?: string; external?: boolean } | null>;
  volumes?: Record<string, { name?: string; external?: boolean; driver_opts?: object } | null>;
  /** `environment` names the variable that the content comes from. */
  configs?: Record<string, { file?: string; content?: string; environment?: string } | null>;
  secrets?: Record<string, { file?: string; content?: string; environment?: string } | null>;
}

interface ConfigOptions {
  /** Files that stand in for the project's own while an edit is proven. */
  files?: readonly string[];
  envFiles?: readonly string[];
  /** Reject files that use a service, network or volume that no file defines, as `up` does. */
  isStrict?: boolean;
}

interface ImagePull {
  deadlineMs: number;
  onStderrLine: (line: string) => void;
  /** No image is asked for before the one before it is here. */
  oneByOne: boolean;
}

/** How many containers each service gets, by its name. */
type Scale = ReadonlyMap<string, number>;

interface UpOptions {
  start: boolean;
  forceRecreate?: boolean;
  /** Files over those of the project. */
  override?: readonly string[];
  /** Off by default: it may be asked again only where nothing changes by it. */
  repeatable?: boolean;
  deadlineMs: number;
}

/** Engines whose compose is older than 2.35, as a host may have it; from 5.0 on it can go without env files. */
const olderCompose = new WeakSet<Engine>();

export class Compose {
  readonly project: ComposeProject;
  readonly #engine: Engine;

  constructor(engine: Engine, project: ComposeProject) {
    this.#engine = engine;
    this.project = project;
  }

  /** The same project, by another view of the engine. */
  by(engine: Engine): Compose {
    return new Compose(engine, this.project);
  }

  /** The same project with everything under another root. */
  under(root: string): Compose {
    const { directory, files, envFiles, ...same } = this.project;
    const moved = (path: string) => `${root}${path}`;
    return new Compose(this.#engine, {
      ...same,
      directory: moved(directory),
      files: files.map(moved),
      envFiles: envFiles.map(moved),
    });
  }

  /** All services, whatever their profiles. Throws compose-invalid with compose's own words. */
  async config(options: ConfigOptions = {}): Promise<Model> {
    // The model holds the values of env files: never print it.
    let result = await this.#config(options);
    if (result.exitCode !== 0 && !olderCompose.has(this.#engine)) {
      // An env file that compose cannot read may be of a service that the run leaves alone.
      const without = await this.#config(options, '--no-env-resolution');
      if (without.exitCode === 0) result = without;
      else if (/unknown flag: --no-env-resolution/.test(without.stderr)) olderCompose.add(this.#engine);
    }
    if (result.exitCode !== 0) throw rejectionOf(result);
    return JSON.parse(result.stdout);
  }

  /** `docker compose pull`, with the images of `override` in place of those in the files. */
  pull(
    services: readonly string[],
    override: string,
    { oneByOne, ...options }: ImagePull,
  ): Promise<CommandResult> {
    const files = [...this.project.files, override];
    const what = ['--policy', 'always', '--', ...services];
    return this.#engine.call([...this.#flags({ files, oneByOne }), '--progress', 'json', 'pull', ...what], {
      ...options,
      repeatable: false,
      ...this.#where(),
    });
  }

  /**
   * Never `-y`, never `--remove-orphans`: nothing but the named service may change. Said in so many words, as
   * COMPOSE_REMOVE_ORPHANS may stand in the project's `.env`. Several services only where nothing changes by it: what is
   * replaced has an order.
   */
  async up(scale: Scale, options: UpOptions): Promise<CommandResult> {
    const result = await this.#up(scale, options);
    if (!lacksModelPlugin(result)) return result;
    // Compose also asks for the plugin if only a dependency uses models, which is left alone.
    const { services } = await this.config();
    const users = Object.keys(services).filter((name) => services[name]?.models);
    if (users.some((name) => scale.has(name))) return result;
    const directory = await mkdtemp(join(tmpdir(), 'svc-updater-models-'));
    const override = [...(options.override ?? []), join(directory, 'override.yaml')];
    const resets = users.map((name) => `${JSON.stringify(name)}: {"models": !reset []}`);
    await writeFile(override.at(-1) ?? '', `{"models": !reset {}, "services": {${resets.join(', ')}}}`);
    const again = this.#up(scale, { ...options, override });
    return again.finally(() => rm(directory, { recursive: true, force: true }));
  }

  #up(scale: Scale, options: UpOptions): Promise<CommandResult> {
    const files = [...this.project.files, ...(options.override ?? [])];
    const { oldNames = [], asksForNames } = this.project;
    // Only here (docs/contract.md 2.9): `config` would give another model, and nothing else names a container.
    const isOld = oldNames.some((name) => scale.has(name));
    const { cwd, env } = this.#where();
    const what = [
      options.start ? '--detach' : '--no-start',
      ...['--no-deps', '--no-build', '--pull', 'never', '--remove-orphans=false'],
      ...(options.forceRecreate ? ['--force-recreate'] : []),
      ...[...scale].flatMap(([name, count]) => ['--scale', `${name}=${count}`]),
      // A service may be named as an option is.
      ...['--', ...scale.keys()],
    ];
    return this.#engine.call([...this.#flags({ files, isOld }), '--progress', 'json', 'up', ...what], {
      deadlineMs: options.deadlineMs,
      repeatable: options.repeatable ?? false,
      cwd,
      // There is no flag that turns it off.
      env: asksForNames && !isOld ? { ...env, COMPOSE_COMPATIBILITY: 'false' } : env,
    });
  }

  /** The files as they are written, their variables unresolved. Null if compose cannot give that. */
  async written(): Promise<unknown> {
    const result = await this.#config({}, '--no-interpolate');
    return result.exitCode === 0 ? JSON.parse(result.stdout) : null;
  }

  #config(options: ConfigOptions, ...more: readonly string[]): Promise<CommandResult> {
    const what = ['--format', 'json', ...(options.isStrict ? [] : ['--no-consistency']), ...more];
    return this.#engine.call([...this.#flags(options), '--profile', '*', 'config', ...what], this.#where());
  }

  #flags(options: ConfigOptions & { oneByOne?: boolean; isOld?: boolean }): string[] {
    const { name, directory, profiles = [] } = this.project;
    return [
      ...['compose', '--ansi', 'never', '--project-directory', directory],
      ...(name === '' ? [] : ['--project-name', name]),
      ...(options.files ?? this.project.files).flatMap((file) => ['--file', file]),
      ...(options.envFiles ?? this.project.envFiles).flatMap((file) => ['--env-file', file]),
      ...profiles.flatMap((profile) => ['--profile', profile]),
      ...(options.oneByOne ? ['--parallel', '1'] : []),
      ...(options.isOld ? ['--compatibility'] : []),
    ];
  }

  /** Services may pass PWD through, and it is the project directory for whoever types the command by hand. */
  #where() {
    return { cwd: this.project.directory, env: { PWD: this.project.directory } };
  }
}
