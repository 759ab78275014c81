import { relative } from 'node:path';
import type { ComposeProject } from '../../engine/cli/compose.ts';

/** What is known of the instance by the time a run ends. */
export interface EndingFacts {
  /** `v1.4.2`, once it has been found. */
  version: string | null;
  project: string | null;
  services: readonly string[];
  /** What an earlier run left, as long as it stands. */
  halfDone?: string | null;
  /** `-f` and `--env-file` as they have to be typed in the compose directory, where compose would not find the files. */
  fileFlags?: readonly string[];
}

/** What to type in the compose directory for compose to see the project as it was started. */
export const composeCommand = ({ project, fileFlags = [] }: EndingFacts): string =>
  ['docker compose', ...(project ? [`-p ${project}`] : []), ...fileFlags].join(' ');
/** For the line that ends a run, however it ends. */
export function remember(
  known: EndingFacts,
  version: string,
  project: ComposeProject,
  services: readonly string[],
): void {
  known.version = version;
  known.project = project.name;
  known.services = services;
  known.fileFlags = fileFlags(project);
}

/** Compose finds one file of a usual name and its override by itself, and no others. */
function fileFlags({ directory, files, envFiles }: ComposeProject): string[] {
  const names = files.map((file) => relative(directory, file));
  const usual = /^(docker-)?compose(\.override)?\.ya?ml$/;
  return [
    ...(names.every((name) => usual.test(name)) ? [] : names.flatMap((name) => ['-f', name])),
    ...envFiles.flatMap((file) => ['--env-file', relative(directory, file)]),
  ];
}
