import { basename, join } from 'node:path';
import { allFiles } from '../compose/project-files.ts';
import { checkTargets } from '../files/check-targets.ts';
import { replaceFiles } from '../files/replace-files.ts';
import { stateName } from '../progress/state-name.ts';
import { Cancelled } from '../progress/stops.ts';
import type { Installation } from './inspect/installation.ts';
import type { FilePlan } from './plan/plan-files.ts';
import type { World } from './process/world.ts';
import type { Journal } from './state/journal.ts';
import { pruneBackups } from './state/kept-runs.ts';
import { stateDirectory } from './state/state-directory.ts';

/** The phase `write`: every file of the update, or none. The journal knows of all of them before the first changes. */
export async function writeFiles(
  { log, cancellation }: World,
  installation: Installation,
  filePlan: FilePlan,
  journal: Journal,
): Promise<void> {
  const { changes } = filePlan;
  await checkTargets(
    changes.map(({ path }) => path),
    installation.paths,
  );
  if (cancellation.signal.aborted) throw new Cancelled();
  const { run } = journal.data;
  // Backups are named by the host's path: a later run may have the directory mounted elsewhere.
  const backups = join(stateDirectory(installation.project.directory), 'backup');
  if (changes.length > 0) log.enter('write');
  const records = await replaceFiles(changes, {
    run,
    backup: changes.length > 0 ? join(backups, run) : null,
    // All project files are checked even if none is to be written: `up` is about to read what somebody may have edited
    // during the pull.
    planned: allFiles(installation.files),
    warn: (sentence) => log.warn(sentence),
    prepared: (files) => journal.write({ phase: 'write', files }),
  });
  for (const { path, description } of changes) {
    const backup = records.find((record) => record.path === path)?.backup;
    const kept = backup ? `kept in ${stateName}/backup/${run}/${basename(backup)}` : 'created';
    log.info(`${description} (${kept})`, { file: path });
  }
  await pruneBackups(backups, run);
  if (cancellation.signal.aborted) throw new Cancelled();
}
