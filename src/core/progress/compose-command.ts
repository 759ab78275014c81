import { basename, relative } from 'node:path';
import { shellWord } from './advice.ts';

/** How compose was started. Paths are those of the host. */
export interface StartedProject {
  /** Empty if compose chooses the name. */
  name: string;
  directory: string;
  files: readonly string[];
  /** Only where `--env-file` was given; otherwise compose finds `.env` by itself. */
  envFiles: readonly string[];
  /** Given on the command line; with any, `COMPOSE_PROFILES` no longer counts. Journals from before have none. */
  profiles?: readonly string[];
  /** Services whose containers are called `project_service_1`. Journals from before this was kept have none. */
  oldNames?: readonly string[];
}

/** The docker compose command, for the compose directory, that finds the project as it was started. */
export const composeCommand = (project: StartedProject): string =>
  [
    'docker compose',
    ...(project.oldNames?.length ? ['--compatibility'] : []),
    ...(project.name === '' ? [] : [`-p ${project.name}`]),
    ...fileFlags(project),
  ].join(' ');

/** `docker compose` if that finds the project from its directory, otherwise the command with the flags it needs. */
export const shortComposeCommand = (project: StartedProject): string =>
  fileFlags(project).length === 0 &&
  project.name === defaultName(project.directory) &&
  !project.oldNames?.length
    ? 'docker compose'
    : composeCommand(project);

/** The name that compose gives a project without one (compose-go, loader.NormalizeProjectName). */
const defaultName = (directory: string): string =>
  basename(directory)
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');

/** The command that starts these services with their dependencies, or all services if the list is empty. */
export const upCommand = (project: StartedProject, services: readonly string[] = []): string =>
  [composeCommand(project), 'up -d', ...services].join(' ');

/** Compose finds one file with a default name and its override without flags, and no other files. */
export function fileFlags({ directory, files, envFiles, profiles = [] }: StartedProject): string[] {
  const names = files.map((file) => relative(directory, file));
  const [main = '', override = 'compose.override.yaml', ...more] = names;
  const isFound =
    more.length === 0 &&
    /^(docker-)?compose\.ya?ml$/.test(main) &&
    /^(docker-)?compose\.override\.ya?ml$/.test(override);
  return [
    ...(isFound ? [] : names.flatMap((name) => ['-f', shellWord(name)])),
    ...envFiles.flatMap((file) => ['--env-file', shellWord(relative(directory, file))]),
    ...profiles.flatMap((profile) => ['--profile', shellWord(profile)]),
  ];
}
