import { dirname } from 'node:path';
import { readComposeFile } from '../../compose/compose-file.ts';
import { type LinkedFile, pathIn, placeOf, reachOf, resolvedText } from '../../compose/layers.ts';
import type { ProjectFiles } from '../../compose/project-files.ts';
import type { Model } from '../../engine/cli/compose.ts';
import { exists } from '../../files/file-system.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import { readTextFile, type TextFile } from '../../files/text-file.ts';
import { addMounts } from '../../progress/advice.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { withLinkedFiles } from './read-files.ts';

/** A file that a link leads to as a project of its own, in which it can be looked at before it is known to be sound. */
export const onlyLinked = (files: ProjectFiles, { as }: LinkedFile, file: TextFile): ProjectFiles => ({
  ...files,
  composeFiles: as === 'include' || as === 'extends' ? [file] : [],
  envFiles: as === 'include' || as === 'extends' ? [] : [file],
  linkedFiles: [],
  linkedEnvFiles: [],
});

type NamedFile = Pick<LinkedFile, 'path' | 'as'>;

/**
 * The project with the files that `include` and `extends` lead to; `learn` is told of each before it is parsed.
 * @throws UpdateError outside-mounts
 */
export async function readMountedLinks(
  files: ProjectFiles,
  paths: HostPaths,
  learn: (files: ProjectFiles) => Promise<void>,
): Promise<ProjectFiles> {
  const outside: LinkedFile[] = [];
  const linked = await withLinkedFiles(files, async (link) => {
    if (paths.fromHost(link.path) !== null) {
      await paths.give(dirname(link.path));
      if (!(await exists(link.path))) return null;
      const file = await readTextFile(link.path);
      await learn(onlyLinked(files, link, file));
      return file;
    }
    // A file that is not mounted is taken as needed: whether an optional one, such as the .env beside an included file,
    // exists cannot be seen from here.
    outside.push(link);
    return null;
  });
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
  paths: HostPaths,
): void {
  const closure = new Set(
    model ? services : files.composeFiles.flatMap((file) => readComposeFile(file).services),
  );
  for (const name of closure) {
    for (const other of Object.keys(model?.services[name]?.depends_on ?? {})) closure.add(other);
  }
  const named: NamedFile[] = [];
  for (const layer of reachOf(files).layers) {
    // A service that is extended may bring env files of its own, so it counts as wanted.
    const wanted = new Set(layer.follows ? closure : layer.file.services);
    for (const name of wanted) {
      const entry = layer.file.service(name);
      const base = entry?.extends;
      if (base?.file === null) wanted.add(resolvedText(layer, base.service, placeOf(layer, base.line)));
      for (const link of entry?.envFiles ?? []) {
        named.push({ path: pathIn(layer, link), as: `env_file of ${name}` });
      }
    }
  }
  refuse(named.filter(({ path }) => paths.fromHost(path) === null));
}

function refuse(outside: readonly NamedFile[]): void {
  if (outside.length === 0) return;
  throw new UpdateError(
    'outside-mounts',
    `outside the mounted directories: ${outside.map(({ path, as }) => `${path} (${as})`).join(', ')}`,
    { advice: addMounts(...outside.map(({ path }) => dirname(path))) },
  );
}
