import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProjectStartOptions } from '../../core/command-line/compose-command.ts';
import { createComposeError, isModelPluginMissing } from './create-compose-error.ts';
import type { Engine } from './engine.ts';
import type { CommandResult } from './run-command.ts';

/** Options that make compose resolve the project as it does on the host. All paths are absolute host paths. */
export interface ComposeProject extends ProjectStartOptions {
  /**
   * Whether an env file sets COMPOSE_COMPATIBILITY, which would change container names. The updater overrides the
   * variable.
   */
  asksForNames?: boolean;
}

export interface ComposeMount {
  type: string;
  source?: string;
  target: string;
  read_only?: boolean;
  volume?: { subpath?: string };
}

interface ModelHook {
  /** Image of a `pre_start` hook; by default the service's image. */
  image?: string;
  command?: unknown;
  environment?: Record<string, string | null> | null;
}

export interface ComposeService {
  image?: string;
  build?: unknown;
  platform?: string;
  pull_policy?: string;
  profiles?: string[] | null;
  labels?: Record<string, string> | null;
  environment?: Record<string, string | null> | null;
  env_file?: { path: string; required?: boolean }[] | null;
  /** Host program that provides the service and sets variables for dependent services. */
  provider?: unknown;
  depends_on?: Record<string, { condition?: string; restart?: boolean; required?: boolean }> | null;
  container_name?: string;
  scale?: number;
  deploy?: { replicas?: number } | null;
  /** Commands that run in their own containers before the service's containers start (compose 5.3 and later). */
  pre_start?: readonly ModelHook[] | null;
  post_start?: readonly ModelHook[] | null;
  pre_stop?: readonly ModelHook[] | null;
  network_mode?: string;
  pid?: string;
  ipc?: string;
  networks?: Record<string, unknown> | null;
  ports?: { target?: number; published?: string; host_ip?: string; protocol?: string }[] | null;
  volumes?: ComposeMount[] | null;
  /** Services or containers whose volumes are mounted: `other`, `other:ro`, `container:name`. */
  volumes_from?: string[] | null;
  tmpfs?: string | string[] | null;
  configs?: { source: string; target?: string }[] | null;
  /** Language models that the service uses. */
  models?: Record<string, unknown> | null;
  secrets?: { source: string; target?: string }[] | null;
}

/** Resolved model of a project, as printed by `docker compose config --format json`. */
export interface ComposeModel {
  name: string;
  services: Record<string, ComposeService>;
  networks?: Record<string, { name?: string; external?: boolean; internal?: boolean } | null>;
  volumes?: Record<string, { name?: string; external?: boolean; driver_opts?: object } | null>;
  /** `environment` is the name of the variable that contains the content. */
  configs?: Record<string, { file?: string; content?: string; environment?: string } | null>;
  secrets?: Record<string, { file?: string; content?: string; environment?: string } | null>;
}

interface ConfigOptions {
  /** Compose files that replace the project's own files, to verify an edit. */
  files?: readonly string[];
  envFiles?: readonly string[];
  /** Whether to reject references to undefined services, networks or volumes, as `up` does. */
  isStrict?: boolean;
}

interface ImagePull {
  deadlineMs: number;
  onStderrLine: (line: string) => void;
  oneByOne: boolean;
}

/** Required number of containers, keyed by service name. */
type Scale = ReadonlyMap<string, number>;

interface UpOptions {
  start: boolean;
  forceRecreate?: boolean;
  /** Files added to the project's compose files. */
  override?: readonly string[];
  /** Whether to repeat the command after an engine outage. Set this only if the command changes nothing. */
  repeatable?: boolean;
  deadlineMs: number;
}

/**
 * Engines whose compose is older than 2.35 and lacks `--no-env-resolution`. Only a compose on the host can be so old.
 */
const olderCompose = new WeakSet<Engine>();

export class Compose {
  readonly project: ComposeProject;
  readonly #engine: Engine;

  constructor(engine: Engine, project: ComposeProject) {
    this.#engine = engine;
    this.project = project;
  }

  /** Returns a copy that uses another view of the engine, such as `engine.uncancellable()`. */
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
   * Returns the resolved model of the project, with the services of all profiles.
   * @throws UpdateError compose-invalid with compose's message
   */
  async config(options: ConfigOptions = {}): Promise<ComposeModel> {
    // Never print the model: it contains the values of env files.
    let result = await this.#config(options);
    if (result.exitCode !== 0 && !olderCompose.has(this.#engine)) {
      // The cause may be an unreadable env file of a service that the run does not update, so retry without env files.
      // With this flag, compose 5.0 and later do not read any env file.
      const without = await this.#config(options, '--no-env-resolution');
      if (without.exitCode === 0) result = without;
      else if (/unknown flag: --no-env-resolution/.test(without.stderr)) olderCompose.add(this.#engine);
    }
    if (result.exitCode !== 0) throw createComposeError(result);
    return JSON.parse(result.stdout);
  }

  /** Runs `docker compose pull`. The images in the override file replace those in the project's files. */
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
   * Runs `docker compose up` for the services in `scale`. Pass several services only if the command changes nothing,
   * because containers must be replaced in order.
   */
  async up(scale: Scale, options: UpOptions): Promise<CommandResult> {
    const result = await this.#up(scale, options);
    if (!isModelPluginMissing(result)) return result;
    // Compose requires docker-model even if only a dependency that is not updated uses `models`. In this case, retry
    // without the `models` of such dependencies.
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
    // Set `--compatibility` only here, because only `up` assigns container names. In `config`, the flag would change
    // the model (docs/contract.md 2.9).
    const isOld = oldNames.some((name) => scale.has(name));
    const { cwd, env } = this.#where();
    // Omit `-y`, because it would confirm compose's prompts. `--remove-orphans=false` overrides COMPOSE_REMOVE_ORPHANS
    // in the project's `.env`.
    const what = [
      options.start ? '--detach' : '--no-start',
      ...['--no-deps', '--no-build', '--pull', 'never', '--remove-orphans=false'],
      ...(options.forceRecreate ? ['--force-recreate'] : []),
      ...[...scale].flatMap(([name, count]) => ['--scale', `${name}=${count}`]),
      // `--` is needed because a service name may look like an option.
      ...['--', ...scale.keys()],
    ];
    return this.#engine.call([...this.#flags({ files, isOld }), '--progress', 'json', 'up', ...what], {
      deadlineMs: options.deadlineMs,
      repeatable: options.repeatable ?? false,
      cwd,
      // Override COMPOSE_COMPATIBILITY, because no flag turns compatibility mode off.
      env: asksForNames && !isOld ? { ...env, COMPOSE_COMPATIBILITY: 'false' } : env,
    });
  }

  /** Returns the model before variables are replaced by their values; null if compose fails. */
  async readUninterpolatedModel(): Promise<unknown> {
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

  /** Sets PWD to the project directory, because a service may use this variable. */
  #where() {
    return { cwd: this.project.directory, env: { PWD: this.project.directory } };
  }
}
