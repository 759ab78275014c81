import { join } from 'node:path';
import { type ReferencedFile, resolveIncludeTree } from '../../../../core/compose/include-tree.ts';
import { listProjectFiles, type ProjectFiles } from '../../../../core/compose/project-files.ts';
import { readTextFile, readTextFileIfExists, type TextFile } from '../../../../core/files/text-file.ts';

/** Reads the specified env files. If none are specified, reads the `.env` of the directory if it exists. */
export async function readEnvFiles(named: readonly string[], directory: string): Promise<TextFile[]> {
  if (named.length > 0) return Promise.all(named.map(readTextFile));
  const byDefault = await readTextFileIfExists(join(directory, '.env'));
  return byDefault === null ? [] : [byDefault];
}

/**
 * Adds all files that the project links to with `include` and `extends`, directly or indirectly.
 * @param read - reads a linked file; returns null if the file does not exist
 * @param learn - called with each file, as a separate project, before the file is parsed
 */
export async function addLinkedFiles(
  files: ProjectFiles,
  read: (linked: ReferencedFile) => Promise<TextFile | null>,
  learn: (part: ProjectFiles) => Promise<void> = async () => {},
): Promise<ProjectFiles> {
  const requested = new Set(listProjectFiles(files).map(({ path }) => path));
  let linkedFiles: readonly TextFile[] = files.linkedFiles ?? [];
  let linkedEnvFiles: readonly TextFile[] = files.linkedEnvFiles ?? [];
  const readOne = async (link: ReferencedFile) => {
    const file = await read(link);
    const isCompose = link.kind === 'include' || link.kind === 'extends';
    const alone = { linkedFiles: [], linkedEnvFiles: [], composeFiles: [], envFiles: [] };
    if (file !== null) await learn({ ...files, ...alone, [isCompose ? 'composeFiles' : 'envFiles']: [file] });
    return file;
  };
  for (;;) {
    const { composeFiles, envFiles } = resolveIncludeTree({ ...files, linkedFiles, linkedEnvFiles });
    const known = requested.size;
    const readNew = async (found: readonly ReferencedFile[]) => {
      const fresh = found.filter(({ path }) => !requested.has(path));
      for (const { path } of fresh) requested.add(path);
      return (await Promise.all(fresh.map(readOne))).filter((file) => file !== null);
    };
    linkedFiles = [...linkedFiles, ...(await readNew(composeFiles))];
    linkedEnvFiles = [...linkedEnvFiles, ...(await readNew(envFiles))];
    if (requested.size === known) return { ...files, linkedFiles, linkedEnvFiles };
  }
}
