import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Change } from '../../../core/compose/draft.ts';
import { nameOf } from '../../../core/compose/project-files.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import type { Log } from '../../run/log/log.ts';
import { and } from '../../run/log/wording.ts';
import type { Installation } from '../inspect/installation.ts';

/**
 * Returns warnings about other projects that use a file that the update changes, such as a project started from the
 * same directory with `-p`. The next `up` of such a project applies the change.
 */
export async function warnOthers(
  { beside, files, paths }: Installation,
  changes: readonly Change[],
  log: Pick<Log, 'addMaskRules'>,
): Promise<string[]> {
  if (changes.length === 0) return [];
  const real = (path: string) => realpath(paths.fromHost(path) ?? path).catch(() => path);
  const written = new Map<string, Change>();
  for (const change of changes) written.set(await real(change.path), change);
  const warnings: string[] = [];
  for (const project of beside) {
    const read = await Promise.all(namedFiles(project).map(real));
    const shared = [...new Set(read)].flatMap((path) => written.get(path) ?? []);
    if (shared.length === 0) continue;
    const { name, directory } = project;
    log.addMaskRules(() => ({ shown: [name, directory] }));
    const names = and(shared.map(({ path }) => nameOf(files, path)));
    const what = shared.map(({ description }) => description).join('; ');
    warnings.push(
      `project ${name} (${directory}) also uses ${names}; the next docker compose up of that project will apply the change (${what})`,
    );
  }
  return warnings;
}

/**
 * Returns the files in the labels of a project. If the labels list no env file, compose uses `.env` in the directory.
 */
const namedFiles = ({ directory, files, envFiles }: ComposeProject): string[] => [
  ...files,
  ...(envFiles.length > 0 ? envFiles : [join(directory, '.env')]),
];
