import { basename, join } from 'node:path';
import { allEnvFiles, allFiles, type ProjectFiles } from '../../core/compose/project-files.ts';
import { checkTargets } from '../../core/files/check-targets.ts';
import { hashAt } from '../../core/files/file-record.ts';
import { disk } from '../../core/files/file-system.ts';
import { replaceFiles } from '../../core/files/replace-files.ts';
import { stateName } from '../../core/progress/state-name.ts';
import { Cancelled } from '../../core/progress/stops.ts';
import type { Container } from '../../engine/container.ts';
import type { Point } from '../data/point.ts';
import type { RunContext } from '../run/run-context.ts';
import { type Changeover, isThereAlready } from '../run/state/changeover.ts';
import type { Journal, JournalData } from '../run/state/journal.ts';
import { pruneBackups } from '../run/state/kept-runs.ts';
import { backupsOf } from '../run/state/state-directory.ts';
import { type Installation, replacedServices } from './inspect/installation.ts';
import { planChangeover } from './plan/plan-changeover.ts';
import type { FilePlan } from './plan/plan-files.ts';
import type { PreparedUpdate } from './pull/pull-and-prepare.ts';
import { moveTags } from './pull/tags.ts';
import { prepareRollback } from './replace/rollback/prepare-rollback.ts';
import type { OldTexts } from './replace/rollback/roll-back.ts';
import { type ContainersSeen, sameContainers } from './replace/same-containers.ts';
import type { Saved } from './replace/save.ts';
import type { PlannedRun } from './resume/run-so-far.ts';

/** The old texts of overwritten files. */
export const oldTexts = ({ changes }: Pick<FilePlan, 'changes'>): OldTexts =>
  new Map(changes.flatMap(({ path, before }) => (before === null ? [] : [[path, before] as const])));

type LookBefore = PreparedUpdate & { earlier: JournalData | null; debris: readonly Container[] };

/**
 * Checks the containers again, right before the first one is stopped or the first file is changed. Returns the planned
 * replacement.
 * @throws UpdateError containers-changed, compose-busy
 */
export async function planReplacement(
  context: RunContext,
  journal: Journal,
  { installation, plan }: PlannedRun,
  { filePlan, images, ...before }: LookBefore,
): Promise<{ changeover: Changeover; look: ContainersSeen }> {
  const replaced = replacedServices(installation);
  const { containers, look } = await sameContainers(context, installation.project.name, replaced, before);
  const { from } = journal.data;
  return { changeover: planChangeover(installation, plan, filePlan, { images, containers, from }), look };
}

/**
 * The phase `write`: writes the files, moves tags that the pull did not move, and records what a rollback needs.
 */
export async function writeUpdate(
  context: RunContext,
  journal: Journal,
  { installation }: Pick<PlannedRun, 'installation'>,
  { filePlan, images, earlier }: LookBefore,
  { changeover, look, saved }: { changeover: Changeover; look: ContainersSeen; saved: Saved | null },
): Promise<void> {
  await writeFiles(context, installation, filePlan, journal);
  if (context.options.data.restorePoint) await moveTags(context, images);
  await saved?.hold();
  // Without a restore point if another version was started in the meantime.
  if (journal.data.point && saved) {
    const back = { ...journal.data, changeover, phase: 'done' } as const;
    await saved.record.update({ back, fileHashes: await composeHashes(installation.files) });
  }
  await prepareRollback(context, journal, changeover, installation);
  if (earlier?.started && isThereAlready(changeover, look.found.containers)) {
    await journal.note({ started: true });
  }
}

/** A rollback is refused if a compose file has been edited since. */
function composeHashes(files: ProjectFiles): Promise<Point['fileHashes']> {
  const envFiles = allEnvFiles(files);
  const own = allFiles(files).filter(({ path }) => !envFiles.some((each) => each.path === path));
  return Promise.all(own.map(async ({ path }) => ({ path, sha256: await hashAt(disk, path) })));
}

/** Writes all files or none. The journal lists all of them before the first one is changed. */
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
  // Backups use host paths, because a later run may mount the directory elsewhere.
  const backups = backupsOf(installation.project.directory);
  if (changes.length > 0) log.enter('write');
  const records = await replaceFiles(changes, {
    run,
    backup: changes.length > 0 ? join(backups, run) : null,
    // All project files are checked, even if none is written: they may have been edited during the pull.
    planned: allFiles(installation.files),
    warn: (sentence) => log.warn(sentence),
    prepared: (files) => journal.write({ phase: 'write', files }),
  });
  for (const { path, description } of changes) {
    const backup = records.find((record) => record.path === path)?.backup;
    const kept = backup ? `backup in ${stateName}/backup/${run}/${basename(backup)}` : 'created';
    log.info(`${description} (${kept})`, { file: path });
  }
  await pruneBackups(backups, run);
  if (cancellation.signal.aborted) throw new Cancelled();
}
