import { relative } from 'node:path';
import { shellWord } from './advice.ts';

/** How compose was started; paths are the host's. */
interface StartedProject {
  /** Empty for compose's own choice. */
  name: string;
  directory: string;
  files: readonly string[];
  envFiles: readonly string[];
  profiles?: readonly string[];
  oldNames?: readonly string[];
}

/** What to type in the compose directory for compose to see the project as it was started. */
export const composeCommand = (project: StartedProject): string =>
  [
    'docker compose',
    ...(project.oldNames?.length ? ['--compatibility'] : []),
    ...(project.name === '' ? [] : [`-p ${project.name}`]),
    ...fileFlags(project),
  ].join(' ');

/** What starts these services; without any, all. */
export const upCommand = (project: StartedProject, services: readonly string[] = []): string =>
  [composeCommand(project), 'up -d', ...services].join(' ');

/** Compose finds one file of a usual name and its override by itself, and no others. */
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
