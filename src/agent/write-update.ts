import { basename, join } from 'node:path';
import { allFiles } from '../compose/project-files.ts';
import type { Container } from '../engine/container.ts';
import { checkTargets } from '../files/check-targets.ts';
import { replaceFiles } from '../files/replace-files.ts';
import { stateName } from '../progress/state-name.ts';
import { Cancelled } from '../progress/stops.ts';
import { type Installation, replacedServices } from './inspect/installation.ts';
import { planChangeover } from './plan/plan-changeover.ts';
import type { FilePlan } from './plan/plan-files.ts';
import type { RunContext } from './process/run-context.ts';
import type { Preparation } from './pull/pull-and-prepare.ts';
import { type Look, sameContainers } from './replace/same-containers.ts';
import { beginPoint } from './replace/save.ts';
import type { OldTexts } from './replace/way-back/go-back.ts';
import { keepWayBack } from './replace/way-back/keep-way-back.ts';
import type { PlannedRun } from './resume/run-so-far.ts';
import { type Changeover, isThereAlready } from './state/changeover.ts';
import type { Journal, JournalData } from './state/journal.ts';
import { pruneBackups } from './state/kept-runs.ts';
import { backupsOf } from './state/state-directory.ts';

/** The texts that a run overwrites. */
export const oldTexts = ({ changes }: Pick<FilePlan, 'changes'>): OldTexts =>
  new Map(changes.flatMap(({ path, before }) => (before === null ? [] : [[path, before] as const])));

/**
 * The phase `write`: the containers are looked at once more, the files are written, and what it takes to go back is noted.
 * Gives what is to be replaced.
 * @throws UpdateError containers-changed, compose-busy
 */
export async function writeUpdate(
  context: RunContext,
  journal: Journal,
  { installation, plan, point }: PlannedRun,
  {
    filePlan,
    images,
    ...before
  }: Preparation & { earlier: JournalData | null; debris: readonly Container[] },
): Promise<{ changeover: Changeover; look: Look }> {
  const replaced = replacedServices(installation);
  const { containers, look } = await sameContainers(context, installation.project.name, replaced, before);
  const { from } = journal.data;
  const changeover = planChangeover(installation, plan, filePlan, { images, containers, from });
  const place = point && (await beginPoint(context, journal, changeover, point));
  await writeFiles(context, installation, filePlan, journal);
  await keepWayBack(context, journal, changeover, installation, place);
  if (before.earlier?.started && isThereAlready(changeover, look.found.containers)) {
    await journal.note({ started: true });
  }
  return { changeover, look };
}

/** Every file of the update, or none. The journal knows of all of them before the first changes. */
async function writeFiles(
  { log, cancellation }: RunContext,
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
  const backups = backupsOf(installation.project.directory);
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
