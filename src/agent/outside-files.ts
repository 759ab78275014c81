import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type ComposeFile, readComposeFile } from '../compose/compose-file.ts';
import { interpolate } from '../compose/interpolation.ts';
import type { ProjectFiles, TextFile } from '../compose/text-file.ts';
import { trace } from '../compose/traced.ts';
import { variablesOf } from '../compose/variables.ts';
import type { Model } from '../engine/compose.ts';
import { UpdateError } from '../progress/update-error.ts';
import type { HostPaths } from './host-paths.ts';
import { readTextFile } from './read-files.ts';

interface Named {
  path: string;
  /** `env_file of app` */
  as: string;
}

/**
 * Reads the files that `include` and `extends` name, followed through the files they lead to.
 * @throws UpdateError outside-mounts
 */
export async function readLinkedFiles(
  files: readonly TextFile[],
  directory: string,
  paths: HostPaths,
): Promise<TextFile[]> {
  const seen = new Set<string>(files.map(({ path }) => path));
  const queue = files.map((file) => ({ file, base: directory }));
  const outside: Named[] = [];
  const linked: TextFile[] = [];
  for (let next = queue.shift(); next; next = queue.shift()) {
    for (const named of namedFiles(readComposeFile(next.file), next.base)) {
      if (seen.has(named.path)) continue;
      seen.add(named.path);
      if (paths.fromHost(named.path) === null) outside.push(named);
      else if (await exists(named.path)) {
        const file = await readTextFile(named.path);
        linked.push(file);
        queue.push({ file, base: dirname(named.path) });
      }
    }
  }
  refuse(outside);
  return linked;
}

/**
 * Env files of the services to update and of what they depend on: compose reads them even with --no-deps, and an
 * optional one that is not mounted would vanish without a word. Compose's own model does not list them. Where there is
 * no model, because compose rejects the project, it may be for the env file of any service.
 * @throws UpdateError outside-mounts
 */
export function checkEnvFiles(
  files: ProjectFiles,
  model: Model | null,
  services: readonly string[],
  directory: string,
  paths: HostPaths,
): void {
  const closure = new Set(
    model ? services : files.composeFiles.flatMap((file) => readComposeFile(file).services),
  );
  for (const name of closure) {
    for (const other of Object.keys(model?.services[name]?.depends_on ?? {})) closure.add(other);
  }
  const variables = variablesOf(files.envFiles, files.given);
  const named: Named[] = [];
  const look = (file: TextFile, base: string, wanted: Set<string>) => {
    const composeFile = readComposeFile(file);
    for (const name of wanted) {
      const entry = composeFile.service(name);
      if (entry?.extends?.file === null) wanted.add(entry.extends.service);
      for (const { path } of entry?.envFiles ?? []) {
        const { text } = interpolate(
          trace(path, file.path, -1, { via: 'text' }),
          variables,
          `env_file of ${name}`,
        );
        named.push({ path: resolve(base, text), as: `env_file of ${name}` });
      }
    }
  };
  for (const file of files.composeFiles) look(file, directory, new Set(closure));
  // A base that a service extends may bring env files of its own: which service it is matters less than that it is read.
  for (const file of files.linkedFiles ?? [])
    look(file, dirname(file.path), new Set(readComposeFile(file).services));
  refuse(named.filter(({ path }) => paths.fromHost(path) === null));
}

function refuse(outside: readonly Named[]): void {
  if (outside.length === 0) return;
  const mounts = [...new Set(outside.map(({ path }) => dirname(path)))].map((dir) => `-v ${dir}:${dir}`);
  throw new UpdateError(
    'outside-mounts',
    `outside the mounted directories: ${outside.map(({ path, as }) => `${path} (${as})`).join(', ')}`,
    { advice: `Add ${mounts.join(' ')} to the docker run command.` },
  );
}

function namedFiles(file: ComposeFile, base: string): Named[] {
  const local = (path: string) => !/\$|^\w+:\/\/|^\w+@/.test(path);
  return [
    ...file.includes.map((path) => ({ path, as: 'include' })),
    ...file.extends.map((path) => ({ path, as: 'extends' })),
  ]
    .filter(({ path }) => local(path))
    .map(({ path, as }) => ({ path: resolve(base, path), as }));
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
