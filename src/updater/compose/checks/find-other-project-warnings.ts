import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileChange } from '../../../core/compose/draft.ts';
import { displayPathOf } from '../../../core/compose/project-files.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { Log } from '../../run/log/run-log.ts';
import type { Installation } from '../inspect/installation.ts';

/** Warns about other projects that use a changed file, because their next `up` will apply the change. */
export async function findOtherProjectWarnings(
  { otherProjects: beside, files, paths }: Installation,
  changes: readonly FileChange[],
  log: Pick<Log, 'addMaskRules'>,
): Promise<string[]> {
  if (changes.length === 0) return [];
  const real = (path: string) => realpath(paths.fromHost(path) ?? path).catch(() => path);
  const written = new Map<string, FileChange>();
  for (const change of changes) written.set(await real(change.path), change);
  const warnings: string[] = [];
  for (const project of beside) {
    const read = await Promise.all(listLabelFiles(project).map(real));
    const shared = [...new Set(read)].flatMap((path) => written.get(path) ?? []);
    if (shared.length === 0) continue;
    const { name, directory } = project;
    log.addMaskRules(() => ({ shown: [name, directory] }));
    const names = joinWithAnd(shared.map(({ path }) => displayPathOf(files, path)));
    const what = shared.map(({ description }) => description).join('; ');
    warnings.push(
      `project ${name} (${directory}) also uses ${names}; the next docker compose up of that project will apply the change (${what})`,
    );
  }
  return warnings;
}

/**
 * Returns the files in a project's labels. If the labels list no env file, `.env` is added, because compose then uses
 * it.
 */
const listLabelFiles = ({ directory, files, envFiles }: ComposeProject): string[] => [
  ...files,
  ...(envFiles.length > 0 ? envFiles : [join(directory, '.env')]),
];
