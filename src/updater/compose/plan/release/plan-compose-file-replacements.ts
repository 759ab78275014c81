import { dirname, join, resolve } from 'node:path';
import { getParsedComposeFile } from '../../../../core/compose/compose-file.ts';
import { findProjectFile } from '../../../../core/compose/project-files.ts';
import {
  type Installation,
  isGeneratedComposeFile,
  releaseComposeFileNames,
} from '../../inspect/installation.ts';

/** Texts of a release's compose files, keyed by file name. */
export type ReleaseComposeTexts = ReadonlyMap<string, string>;

/** A file of the release that overwrites the installed file. */
export interface ComposeFileReplacement {
  path: string;
  text: string;
  /** Description of the file change for the log. */
  description: string;
}

/** Returns the names of the generated files that the project uses through `-f` or `include`. */
export function listUsedReleaseComposeFiles({ project, files }: Installation): string[] {
  const included = files.composeFiles.flatMap((file) =>
    getParsedComposeFile(file).includes.flatMap(({ paths }) =>
      paths.map(({ path }) => resolve(dirname(file.path), path)),
    ),
  );
  return releaseComposeFileNames.filter((name) => {
    const path = join(project.directory, name);
    return included.includes(path) || findProjectFile(files, path) !== undefined;
  });
}

/**
 * Returns the files that the new release overwrites, and warnings.
 * @param shipped - the files of the running release, to detect manual edits; null if they cannot be read
 * @param backup - the backup directory, for messages
 */
export function planComposeFileReplacements(
  installation: Installation,
  fresh: ReleaseComposeTexts,
  shipped: ReleaseComposeTexts | null,
  backup: string,
): { texts: readonly ComposeFileReplacement[]; warnings: readonly string[] } {
  const { project, product, files } = installation;
  const texts: ComposeFileReplacement[] = [];
  const warnings: string[] = [];
  for (const [name, text] of fresh) {
    const path = join(project.directory, name);
    const before = findProjectFile(files, path)?.text ?? null;
    if (before === text) continue;
    if (before !== null && !isGeneratedComposeFile(before, product)) {
      warnings.push(
        `the first line of ${name} is not "${product.marker}"; the update will overwrite the file and keep a backup in ${backup}/${name}`,
      );
    } else if (before !== null && shipped?.has(name) && shipped.get(name) !== before) {
      warnings.push(
        `${name} was edited manually; the update will overwrite the file and keep a backup in ${backup}/${name}`,
      );
    }
    texts.push({ path, text, description: `${name}: replaced with the file from the new release` });
  }
  return { texts, warnings };
}
