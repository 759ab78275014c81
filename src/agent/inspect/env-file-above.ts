import { dirname, join, relative, resolve } from 'node:path';
import { variablesOf, writtenValues } from '../../compose/variables.ts';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import { missingVariable } from '../../engine/cli/rejection.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import { readTextFileIfThere, type TextFile } from '../../files/text-file.ts';
import { mountFlags } from '../../progress/advice.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { withOwnCommands } from '../log/ending-facts.ts';

/**
 * The env files of a project that was started from a directory above its own: `COMPOSE_FILE` in the `.env` there named
 * the compose files, and the labels tell of neither. Compose reads the `.env` beside the first compose file, too, and
 * the one above wins (docker/compose, cmd/compose/compose.go; tried). Host paths, in the order of `--env-file`; empty
 * where no mounted directory above has such a `.env`.
 */
export async function envFilesAbove(project: ComposeProject, paths: HostPaths): Promise<string[]> {
  if (project.envFiles.length > 0) return [];
  for (const directory of parentsOf(project.directory)) {
    const above = join(directory, '.env');
    if (!(await namesFiles(directory, project.files, paths))) continue;
    const beside = join(project.directory, '.env');
    return (await readHere(beside, paths)) === null ? [above] : [beside, above];
  }
  return [];
}

/**
 * The error with advice that fits this project: commands that work in its directory, and, where a variable is missing, what
 * to do about a `.env` above the project, of which no label tells.
 */
export async function explained(error: unknown, project: ComposeProject, paths: HostPaths): Promise<unknown> {
  if (!(error instanceof UpdateError)) return error;
  const { code, message, detail, cause } = error;
  const isLacking = /is not set|required variable/.test(message);
  const hint = isLacking ? hintAtEnvAbove(project, paths) : null;
  const own = (await hintAtShell(message, project, paths)) ?? error.advice;
  const advice = withOwnCommands(hint === null ? own : `${own} ${hint}`, project);
  return new UpdateError(code, message, { advice, detail, cause });
}

/** What to write down where the shell's `COMPOSE_FILE` named the compose files: a mounted `.env` above sets what is missing. */
async function hintAtShell(
  message: string,
  project: ComposeProject,
  paths: HostPaths,
): Promise<string | null> {
  const missing = missingVariable(message);
  if (!missing || project.envFiles.length > 0) return null;
  for (const directory of parentsOf(project.directory)) {
    const path = join(directory, '.env');
    const env = await readHere(path, paths);
    if (env === null || !writtenValues([env]).some(({ key }) => key === missing)) continue;
    const named = project.files.map((file) => relative(directory, file)).join(':');
    return `${path} sets ${missing}. If the instance was started from ${directory}, add the line COMPOSE_FILE=${named} there, then run the update again.`;
  }
  return null;
}

/** What to mount where a variable that no file sets may be in a `.env` above the project; null where it is none of that. */
export function hintAtEnvAbove({ directory, envFiles }: ComposeProject, paths: HostPaths): string | null {
  const parent = dirname(directory);
  if (envFiles.length > 0 || parent === '/' || paths.fromHost(parent) !== null) return null;
  return `If COMPOSE_FILE in a .env of ${parent} names the compose file, add ${mountFlags(parent)} to the docker run command.`;
}

async function namesFiles(directory: string, files: readonly string[], paths: HostPaths): Promise<boolean> {
  const env = await readHere(join(directory, '.env'), paths);
  if (env === null) return false;
  try {
    const named = filesNamedBy([env], directory);
    return named.length > 0 && named.join('\n') === files.join('\n');
  } catch (error) {
    // What cannot be read as an env file has named nothing to compose either.
    if (error instanceof UpdateError) return false;
    throw error;
  }
}

/** The compose files that `COMPOSE_FILE` names, from the directory on; none where nothing sets it. */
export function filesNamedBy(envFiles: readonly TextFile[], directory: string): string[] {
  const variable = variablesOf(envFiles);
  const named = variable('COMPOSE_FILE')?.text ?? '';
  const separator = variable('COMPOSE_PATH_SEPARATOR')?.text || ':';
  return named === '' ? [] : named.split(separator).map((path) => resolve(directory, path));
}

/** A file by its path on the host; null where it is not there, not mounted, or no text. */
async function readHere(path: string, paths: HostPaths) {
  const here = paths.fromHost(path);
  return here === null ? null : readTextFileIfThere(here).catch(() => null);
}

/** The directories above, the nearest first. */
function parentsOf(directory: string): string[] {
  const parent = dirname(directory);
  return parent === directory ? [] : [parent, ...parentsOf(parent)];
}
