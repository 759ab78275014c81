import { type LinkedFile, reachOf } from '../../compose/layers.ts';
import { allFiles, type ProjectFiles } from '../../compose/project-files.ts';
import type { TextFile } from '../../files/text-file.ts';

/**
 * The project with all the files that `include` and `extends` lead to, and those lead to in turn.
 * @param read gives null for one that is not there
 * @param learn is told of each before it is parsed, as a project of its own
 */
export async function withLinkedFiles(
  files: ProjectFiles,
  read: (linked: LinkedFile) => Promise<TextFile | null>,
  learn: (part: ProjectFiles) => Promise<void> = async () => {},
): Promise<ProjectFiles> {
  const asked = new Set(allFiles(files).map(({ path }) => path));
  let linkedFiles: readonly TextFile[] = files.linkedFiles ?? [];
  let linkedEnvFiles: readonly TextFile[] = files.linkedEnvFiles ?? [];
  const readOne = async (link: LinkedFile) => {
    const file = await read(link);
    const isCompose = link.as === 'include' || link.as === 'extends';
    const alone = { linkedFiles: [], linkedEnvFiles: [], composeFiles: [], envFiles: [] };
    if (file !== null) await learn({ ...files, ...alone, [isCompose ? 'composeFiles' : 'envFiles']: [file] });
    return file;
  };
  for (;;) {
    const { composeFiles, envFiles } = reachOf({ ...files, linkedFiles, linkedEnvFiles });
    const known = asked.size;
    const readNew = async (found: readonly LinkedFile[]) => {
      const fresh = found.filter(({ path }) => !asked.has(path));
      for (const { path } of fresh) asked.add(path);
      return (await Promise.all(fresh.map(readOne))).filter((file) => file !== null);
    };
    linkedFiles = [...linkedFiles, ...(await readNew(composeFiles))];
    linkedEnvFiles = [...linkedEnvFiles, ...(await readNew(envFiles))];
    if (asked.size === known) return { ...files, linkedFiles, linkedEnvFiles };
  }
}
