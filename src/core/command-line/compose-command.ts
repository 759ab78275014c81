import { basename, relative } from 'node:path';
import { quoteForShell } from '../errors/advice.ts';

/** Options with which compose starts a project. All paths are host paths. */
export interface ProjectStartOptions {
  /** Project name; empty if compose chooses the name. */
  name: string;
  directory: string;
  files: readonly string[];
  /** Values of `--env-file`; empty if compose uses the default `.env`. */
  envFiles: readonly string[];
  /** Values of `--profile`, which override `COMPOSE_PROFILES`. Undefined in a journal that an older updater wrote. */
  profiles?: readonly string[];
  /**
   * Services whose container names contain underscores (`project_service_1`). Undefined in a journal that an older
   * updater wrote.
   */
  oldNames?: readonly string[];
}

/** Returns the command with the project's start options. It must be run in the compose directory. */
export const formatComposeCommand = (project: ProjectStartOptions): string =>
  [
    'docker compose',
    ...(project.oldNames?.length ? ['--compatibility'] : []),
    ...(project.name === '' ? [] : [`-p ${project.name}`]),
    ...listProjectFlags(project),
  ].join(' ');

/**
 * Returns `docker compose` if compose finds the project without flags; otherwise, the command with the required flags.
 */
export const formatShortComposeCommand = (project: ProjectStartOptions): string =>
  listProjectFlags(project).length === 0 &&
  project.name === defaultName(project.directory) &&
  !project.oldNames?.length
    ? 'docker compose'
    : formatComposeCommand(project);

/** Derives the name that compose uses if no name is set (compose-go, loader.NormalizeProjectName). */
const defaultName = (directory: string): string =>
  basename(directory)
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');

/** Returns a command that starts the services and their dependencies. An empty list stands for all services. */
export const formatUpCommand = (project: ProjectStartOptions, services: readonly string[] = []): string =>
  [formatComposeCommand(project), 'up -d', ...services].join(' ');

/** Omits `-f` for the default compose file and its override file, because compose finds both without flags. */
export function listProjectFlags({
  directory,
  files,
  envFiles,
  profiles = [],
}: ProjectStartOptions): string[] {
  const names = files.map((file) => relative(directory, file));
  const [main = '', override = 'compose.override.yaml', ...more] = names;
  const isFound =
    more.length === 0 &&
    /^(docker-)?compose\.ya?ml$/.test(main) &&
    /^(docker-)?compose\.override\.ya?ml$/.test(override);
  return [
    ...(isFound ? [] : names.flatMap((name) => ['-f', quoteForShell(name)])),
    ...envFiles.flatMap((file) => ['--env-file', quoteForShell(relative(directory, file))]),
    ...profiles.flatMap((profile) => ['--profile', quoteForShell(profile)]),
  ];
}
