import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProjectStartOptions } from '../../core/command-line/compose-command.ts';
import type { Engine } from './engine.ts';
import { createRejectionError, lacksModelPlugin } from './rejection.ts';
import type { CommandResult } from './run-command.ts';

/** Project options with which compose resolves the project as on the host. All paths are absolute host paths. */
export interface ComposeProject extends ProjectStartOptions {
  /**
   * Whether an env file sets COMPOSE_COMPATIBILITY. The updater overrides this variable, because the names of the
   * existing containers decide.
   */
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
  /** Image of a `pre_start` hook, if it does not run from the service's image. */
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
  /** Definition of the host program that provides the service. The program sets variables of dependent services. */
  provider?: unknown;
  depends_on?: Record<string, { condition?: string; restart?: boolean; required?: boolean }> | null;
  container_name?: string;
  scale?: number;
  deploy?: { replicas?: number } | null;
  /** Commands that run from the service's image before its containers start (compose 5.3 and later). */
  pre_start?: readonly ModelHook[] | null;
  post_start?: readonly ModelHook[] | null;
  pre_stop?: readonly ModelHook[] | null;
  network_mode?: string;
  pid?: string;
  ipc?: string;
  networks?: Record<string, unknown> | null;
  ports?: { target?: number; published?: string; host_ip?: string; protocol?: string }[] | null;
  volumes?: ModelMount[] | null;
  /** Services and containers whose volumes are mounted: `other`, `other:ro`, `container:name`. */
  volumes_from?: string[] | null;
  tmpfs?: string | string[] | null;
  configs?: { source: string; target?: string }[] | null;
  /** Language models that the service uses. */
  models?: Record<string, unknown> | null;
  secrets?: { source: string; target?: string }[] | null;
}

/** Resolved model of a project, as `docker compose config --format json` prints it. */
export interface ComposeModel {
  name: string;
  services: Record<string, ModelService>;
  networks?: Record<string, { name?: string; external?: boolean } | null>;
  volumes?: Record<string, { name?: string; external?: boolean; driver_opts?: object } | null>;
  /** Sources of configs. `environment` is the name of the variable that contains the content. */
  configs?: Record<string, { file?: string; content?: string; environment?: string } | null>;
  secrets?: Record<string, { file?: string; content?: string; environment?: string } | null>;
}

interface ConfigOptions {
  /** Compose files that are used instead of the project's own files while an edit is verified. */
  files?: readonly string[];
  envFiles?: readonly string[];
  /** Whether to reject files that use a service, network or volume that no file defines, as `up` does. */
  isStrict?: boolean;
}

interface ImagePull {
  deadlineMs: number;
  onStderrLine: (line: string) => void;
  /** Whether to pull the images one at a time. */
  oneByOne: boolean;
}

/** Number of containers by service name. */
type Scale = ReadonlyMap<string, number>;

interface UpOptions {
  start: boolean;
  forceRecreate?: boolean;
  /** Override files that are added to the project's files. */
  override?: readonly string[];
  /**
   * Whether the command may be repeated after an outage of the engine; false by default. True only if the command
   * changes nothing.
   */
  repeatable?: boolean;
  deadlineMs: number;
}

/**
 * Engines whose compose is older than 2.35 and therefore lacks `--no-env-resolution`; the compose of a host may be that
 * old. Compose 5.0 and later can resolve a project without its env files.
 */
const olderCompose = new WeakSet<Engine>();

export class Compose {
  readonly project: ComposeProject;
  readonly #engine: Engine;

  constructor(engine: Engine, project: ComposeProject) {
    this.#engine = engine;
    this.project = project;
  }

  /** Returns a copy that runs its commands through another view of the engine, such as `uncancellable()`. */
  by(engine: Engine): Compose {
    return new Compose(engine, this.project);
  }

  /** Returns a copy with all paths under another root directory. */
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

  /**
   * Returns the resolved model of the project with the services of all profiles.
   * @throws UpdateError compose-invalid with compose's message
   */
  async config(options: ConfigOptions = {}): Promise<ComposeModel> {
    // The model contains the values of env files: never print it.
    let result = await this.#config(options);
    if (result.exitCode !== 0 && !olderCompose.has(this.#engine)) {
      // The failure may come from an unreadable env file of a service that the run does not update, so the model is
      // resolved again without the variables in env files.
      const without = await this.#config(options, '--no-env-resolution');
      if (without.exitCode === 0) result = without;
      else if (/unknown flag: --no-env-resolution/.test(without.stderr)) olderCompose.add(this.#engine);
    }
    if (result.exitCode !== 0) throw createRejectionError(result);
    return JSON.parse(result.stdout);
  }

  /** Runs `docker compose pull` with the images in the override file instead of those in the project's files. */
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
   * Runs `docker compose up` for the services in `scale` only. The command has no `-y`, and an explicit
   * `--remove-orphans=false`, because the project's `.env` may set COMPOSE_REMOVE_ORPHANS. Pass several services only
   * if the command changes nothing, because containers must be replaced in order.
   */
  async up(scale: Scale, options: UpOptions): Promise<CommandResult> {
    const result = await this.#up(scale, options);
    if (!lacksModelPlugin(result)) return result;
    // Compose requires its model plugin even if only a dependency uses models. The dependency is not updated, so its
    // `models` are removed.
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
    // `--compatibility` is set only here (docs/contract.md 2.9): it would change the model of `config`, and no other
    // command assigns container names.
    const isOld = oldNames.some((name) => scale.has(name));
    const { cwd, env } = this.#where();
    const what = [
      options.start ? '--detach' : '--no-start',
      ...['--no-deps', '--no-build', '--pull', 'never', '--remove-orphans=false'],
      ...(options.forceRecreate ? ['--force-recreate'] : []),
      ...[...scale].flatMap(([name, count]) => ['--scale', `${name}=${count}`]),
      // The name of a service may look like an option.
      ...['--', ...scale.keys()],
    ];
    return this.#engine.call([...this.#flags({ files, isOld }), '--progress', 'json', 'up', ...what], {
      deadlineMs: options.deadlineMs,
      repeatable: options.repeatable ?? false,
      cwd,
      // No flag turns COMPOSE_COMPATIBILITY off.
      env: asksForNames && !isOld ? { ...env, COMPOSE_COMPATIBILITY: 'false' } : env,
    });
  }

  /** Returns the model of the project without replacing variables; null if compose fails. */
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

  /**
   * Sets PWD to the project directory, as if the command were run there by hand, because services may pass PWD through.
   */
  #where() {
    return { cwd: this.project.directory, env: { PWD: this.project.directory } };
  }
}
