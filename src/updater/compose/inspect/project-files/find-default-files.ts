import { join, resolve } from 'node:path';
import { listProjectFlags } from '../../../../core/command-line/compose-command.ts';
import { defaultComposeFileNames } from '../../../../core/compose/project-files.ts';
import { createVariableLookup } from '../../../../core/compose/variables.ts';
import { isFile } from '../../../../core/files/file-system.ts';
import type { TextFile } from '../../../../core/files/text-file.ts';
import type { ComposeProject } from '../../../../engine/cli/compose.ts';

/** Override files that compose accepts, whatever the compose file's name (compose-go, cli/options.go; tested). */
const overrideNames = [
  'compose.override.yml',
  'compose.override.yaml',
  'docker-compose.override.yml',
  'docker-compose.override.yaml',
];

/** Returns the compose files that `docker compose` uses in a directory without `-f`; empty if there are none. */
export async function findDefaultComposeFiles(
  directory: string,
  envFiles: readonly TextFile[],
): Promise<string[]> {
  const named = filesNamedBy(envFiles, directory);
  if (named.length > 0) return named;
  const found = await firstFile(directory, defaultComposeFileNames);
  if (found === null) return [];
  const override = await firstFile(directory, overrideNames);
  return override === null ? [found] : [found, override];
}

/** Whether compose may have found the project's files by their default names, without `-f`. */
export const hasDefaultComposeFiles = (project: ComposeProject): boolean =>
  listProjectFlags({ ...project, envFiles: [], profiles: [] }).length === 0;

/** Returns the absolute paths of the compose files in `COMPOSE_FILE`; empty if the variable is not set. */
function filesNamedBy(envFiles: readonly TextFile[], directory: string): string[] {
  const variable = createVariableLookup(envFiles);
  const named = variable('COMPOSE_FILE')?.text ?? '';
  const separator = variable('COMPOSE_PATH_SEPARATOR')?.text || ':';
  return named === '' ? [] : named.split(separator).map((path) => resolve(directory, path));
}

async function firstFile(directory: string, names: readonly string[]): Promise<string | null> {
  for (const name of names) if (await isFile(join(directory, name))) return join(directory, name);
  return null;
}
