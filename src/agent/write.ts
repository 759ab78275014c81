import { basename, join } from 'node:path';
import { replaceFiles } from '../compose/replace-files.ts';
import { allFiles } from '../compose/text-file.ts';
import { Cancelled } from '../progress/cancelled.ts';
import { checkTargets } from './check-targets.ts';
import type { Installation } from './installation.ts';
import type { RunContext } from './run-context.ts';
import type { Settled } from './settle.ts';
import { pruneBackups, runStamp } from './state.ts';
import type { Undo } from './undo.ts';

/** The phase `write`: every file of the update, or none. */
export async function writeChanges(
  context: RunContext,
  installation: Installation,
  settled: Settled,
  state: string,
  undo: Undo,
): Promise<void> {
  const { log, cancellation } = context;
  await checkTargets(
    settled.changes.map(({ path }) => path),
    installation.paths,
  );
  if (cancellation.signal.aborted) throw new Cancelled();
  const planned = allFiles(installation.files);
  if (settled.changes.length === 0) {
    // Compose is about to read what somebody may have edited during the pull.
    await replaceFiles([], null, planned);
    return;
  }
  log.phase = 'write';
  const stamp = runStamp(context.startedAt);
  undo.files = await replaceFiles(settled.changes, join(state, 'backup', stamp), planned);
  for (const { path, before, description } of settled.changes) {
    const kept = before === null ? 'created' : `kept in .svc-updater/backup/${stamp}/${basename(path)}`;
    log.info(`${description} (${kept})`, { file: path });
  }
  await pruneBackups(join(state, 'backup'));
  if (cancellation.signal.aborted) throw new Cancelled();
}
