import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/**
 * Compose plugin in the updater's image. The updater starts it directly, because docker's search for plugins takes
 * longer than most commands.
 */
const composePlugin = '/usr/local/libexec/docker/cli-plugins/docker-compose';
const asPlugin = { DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND: 'docker' };

/** Returns the program that runs `docker` with these arguments, and the environment variables that it needs. */
export function chooseDockerProgram(args: readonly string[]): {
  file: string;
  env: Readonly<Record<string, string>>;
} {
  const isPlugin = args[0] === 'compose' && existsSync(composePlugin);
  return isPlugin ? { file: composePlugin, env: asPlugin } : { file: findDocker(), env: {} };
}

/** Finds docker in the updater's own PATH, because the PATH of a command may come from the files of a stack. */
function findDocker(): string {
  const paths = (process.env.PATH ?? '').split(':').map((folder) => join(folder, 'docker'));
  return paths.find((path) => isAbsolute(path) && existsSync(path)) ?? 'docker';
}
