import { relative } from 'node:path';
import { shellWord } from './advice.ts';

/** How compose was started. Paths are those of the host. */
interface StartedProject {
  /** Empty if compose chooses the name. */
  name: string;
  directory: string;
  files: readonly string[];
  envFiles: readonly string[];
  profiles?: readonly string[];
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

/** The command that starts these services, or all services if the list is empty. */
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
