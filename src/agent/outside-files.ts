import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type ComposeFile, readComposeFile } from '../compose/compose-file.ts';
import type { TextFile } from '../compose/text-file.ts';
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

/** Env files of the services to update and of what they depend on: compose reads them even with --no-deps. */
export async function checkEnvFiles(
  model: Model,
  services: readonly string[],
  paths: HostPaths,
): Promise<void> {
  const closure = new Set(services);
  for (const name of closure)
    for (const other of Object.keys(model.services[name]?.depends_on ?? {})) closure.add(other);
  const named = [...closure].flatMap((name) =>
    (model.services[name]?.env_file ?? []).map(({ path }) => ({ path, as: `env_file of ${name}` })),
  );
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
    ...file.services
      .flatMap((name) => file.service(name)?.extends?.file ?? [])
      .map((path) => ({ path, as: 'extends' })),
  ]
    .filter(({ path }) => local(path))
    .map(({ path, as }) => ({ path: resolve(base, path), as }));
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
