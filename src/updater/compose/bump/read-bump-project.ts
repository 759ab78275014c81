import { dirname, join, resolve } from 'node:path';
import { createMissingFileError, type ReferencedFile } from '../../../core/compose/include-tree.ts';
import type { ProjectFiles } from '../../../core/compose/project-files.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { readTextFile, readTextFileIfExists } from '../../../core/files/text-file.ts';
import type { Log } from '../../run/log/run-log.ts';
import type { ProjectPaths } from '../../run/options/update-options.ts';
import { addLinkedFiles, readEnvFiles } from '../inspect/project-files/add-linked-files.ts';
import { findDefaultComposeFiles } from '../inspect/project-files/find-default-files.ts';
import { maskFileSecrets } from '../inspect/project-files/mask-file-secrets.ts';

/** Returns the compose directory: `--dir`, or by default the directory of the first file. */
export const bumpDirectoryOf = ({ dir, files }: Omit<ProjectPaths, 'envFiles'>): string =>
  resolve(dir ?? dirname(files[0] ?? './compose.yaml'));

/**
 * Reads the files that compose would read, and masks their secrets before parsing them.
 * @throws UpdateError compose-invalid
 */
export async function readBumpProject(options: ProjectPaths, log: Log): Promise<ProjectFiles> {
  const [first] = options.files;
  const requested = bumpDirectoryOf(options);
  const byDefault = join(requested, '.env');
  const given = (files: readonly string[]) => files.map((file) => resolve(options.dir ?? '.', file));
  const named = await readEnvFiles(given(options.envFiles), requested);
  const nothing = { composeFiles: [], envFiles: named, newEnvFile: byDefault };
  await maskFileSecrets(log, nothing);
  const paths = first === undefined ? await findDefaultComposeFiles(requested, named) : given(options.files);
  if (paths.length === 0)
    throw new UpdateError('compose-invalid', `there is no compose file in ${requested}`, {
      advice: 'Specify the file with --file, or its directory with --dir.',
    });
  const directory = options.dir === null ? dirname(paths[0] ?? requested) : requested;
  // Compose also reads the .env next to COMPOSE_FILE's first file. The .env that sets COMPOSE_FILE takes precedence
  // over it.
  const isLed = first === undefined && options.envFiles.length === 0 && directory !== requested;
  const beside = isLed ? await readTextFileIfExists(join(directory, '.env')) : null;
  const envFiles = beside === null ? named : [beside, ...named];
  const files: ProjectFiles = {
    composeFiles: await Promise.all(paths.map(readTextFile)),
    envFiles,
    newEnvFile: envFiles.at(-1)?.path ?? byDefault,
    directory,
  };
  await maskFileSecrets(log, files);
  const read = async ({ path, kind: as, referencedAt: where, isOptional: optional }: ReferencedFile) => {
    const file = await readTextFileIfExists(path);
    if (file === null && !optional) throw createMissingFileError(path, as, where);
    return file;
  };
  const linked = await addLinkedFiles(files, read, (part) => maskFileSecrets(log, part));
  if ((linked.linkedFiles ?? []).length > 0) await maskFileSecrets(log, linked);
  return linked;
}
