import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FileRecord, statesOf, temporaryOf } from '../../../core/files/file-record.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { listProject } from '../../../engine/api/project-containers.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import { pointsDirectory } from '../../data/point.ts';
import { maskRulesOfSent } from '../../run/log/mask-rules.ts';
import { isSameRequest } from '../../run/options.ts';
import type { RunContext } from '../../run/run-context.ts';
import { newHasStarted } from '../../run/state/changeover.ts';
import { countStart, type JournalData } from '../../run/state/journal.ts';
import { runForm } from '../../run/state/kept-runs.ts';
import { backupsOf } from '../../run/state/state-directory.ts';
import { type FoundInstance, refuseForeignContainers } from '../inspect/find-instance.ts';
import { givePaths, pathsOfProject, viewProject } from '../inspect/view-project.ts';
import { localImages } from '../pull/tags.ts';
import { checkFiles, checkPoints, checkProject } from './check-journal.ts';
import { findLaterChange } from './later-change.ts';
import { type EarlierFacts, maxAttempts } from './plan-earlier.ts';

/**
 * What a run that ended early has left; from here on its secrets are hidden, too. `rejection` is why compose does not take
 * the files as they are. Refusals: unrelated-container, unexpected-file, outside-mounts.
 */
export async function gatherEarlierFacts(
  { engine, log, options }: RunContext,
  instance: FoundInstance,
  data: JournalData,
): Promise<{ files: FileRecord[]; facts: EarlierFacts; rejection: UpdateError | null }> {
  const { own, paths, place } = instance;
  const { project, changeover, services } = data;
  checkProject(data, instance, instance.composed);
  if (data.point) {
    checkPoints(data, pointsDirectory(options.data.restoreDir, paths, project), place.mountedAt);
  }
  const { containers } = await listProject(engine, project.name);
  const [app = options.app] = services;
  // Two projects may have one directory, and so one journal.
  const isNamed = project.name === place.name;
  refuseForeignContainers(
    containers,
    { ...instance, place: { ...place, ...project }, told: isNamed ? instance.told : null },
    { app, container: isNamed ? options.container : null },
    data,
  );
  // What the containers had that are gone: an old password may still open something.
  log.addMaskRules(() => maskRulesOfSent(data.blueprints.map(({ config }) => ({ body: config }))));
  await givePaths(project, paths, log);
  const about = { containers, services };
  // Of files that are half old and half new compose may take none: they have to be put back before it is asked again.
  const rejection = await viewProject(new Compose(engine, project), paths, about, log).then(
    () => null,
    (error: unknown) => {
      if (error instanceof UpdateError && error.outcome === 'refused') return error;
      throw error;
    },
  );
  const files = await Promise.all(data.files.map((record) => asMountedHere(record, data)));
  const wanted = (changeover?.moved ?? []).flatMap(({ image }) => (image ? [image.reference] : []));
  const images = await localImages(engine, wanted);
  const laterChange = findLaterChange(data, { files: await statesOf(files), containers, images });
  const isOwn = data.containerId === own.id;
  if (laterChange === null && files.length > 0) {
    checkFiles(data, await pathsOfProject(project, paths), place.mountedAt);
  }
  const isNewThere = changeover !== null && newHasStarted(changeover, containers);
  const { attempt } = countStart(data);
  // A new version on which one container was interrupted too often would interrupt the next one, too.
  const isCounted = isOwn || (attempt > maxAttempts && (data.started || isNewThere));
  return {
    files,
    rejection,
    facts: {
      isOwn,
      attempt: isCounted ? attempt : 1,
      sameRequest: isNamed && isSameRequest(data, options),
      newHasStarted: isNewThere,
      laterChange,
      mayRollBack: !options.noRollback,
    },
  };
}

/**
 * The directory may be mounted at another place than in the run that wrote it. What lies beside a file, and where backups
 * are, is known without it.
 */
export async function asMountedHere(record: FileRecord, { project, run }: JournalData): Promise<FileRecord> {
  const { path, before, backup } = record;
  const real = before === null ? path : await realpath(path).catch(() => path);
  // Who goes back by a restore point puts back what another run has written, and has kept.
  const folder = basename(dirname(backup ?? ''));
  const backups = join(backupsOf(project.directory), runForm.test(folder) ? folder : run);
  const here = backup === null ? null : join(backups, basename(backup));
  return { ...record, real, backup: here, temporary: temporaryOf(real, run) };
}
