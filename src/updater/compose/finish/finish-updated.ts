import { dirname } from 'node:path';
import { formatComposeCommand, formatUpCommand } from '../../../core/command-line/compose-command.ts';
import { requireUpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { RestorePointRecord } from '../../data/copies/restore-point-record.ts';
import { removeProjectRestorePoints } from '../../data/remove-restore-point.ts';
import { logUpdatedOutcome } from '../../run/last-lines.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import { describeUserEdits } from '../../run/log/outcome-details.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import { type Rollout, serviceContainerRecordsOf } from '../../run/state/rollout.ts';
import { findUserEdits } from '../concurrent-changes/find-user-edits.ts';
import { createDataContext } from '../data-services/stop-data-services.ts';
import type { ReplacementContext } from '../replace/replacement.ts';
import { completeRestorePointHashes } from '../rollback/restore-data.ts';
import { removeOldImages } from './remove-old-images.ts';

/**
 * Completes the restore point, removes what is no longer needed, and logs the remaining manual steps and the outcome.
 */
export async function finishUpdatedRun(
  replacement: ReplacementContext,
  freeing: Promise<UnusedOldImages | null>,
  record: RestorePointRecord | null,
): Promise<RunOutcome> {
  const { engine, log, options, journal, changeover: rollout } = replacement;
  const { words, moved } = rollout;
  const { project } = journal.data;
  const [saved, freed] = await Promise.all([
    findUserEdits(engine, journal.data).catch(() => null),
    options.removeOldImages ? null : freeing.catch(() => null),
  ]);
  await completeHashes(replacement, record);
  await discardOlderRestorePoints(replacement).catch((error) =>
    log.warn(`older restore points could not be removed: ${requireUpdateError(error).message}`),
  );
  if (options.removeOldImages) await removeOldImages(replacement);
  log.enterPhase('done');
  const { dumpFirst = [] } = words;
  for (const warning of dumpFirst) log.warn(warning);
  // Without `--no-deps`, compose would also recreate dependencies, even a database that needs a dump first.
  const up = (names: readonly string[]) =>
    formatUpCommand(project, dumpFirst.length > 0 ? ['--no-deps', ...names] : names);
  for (const name of words.alsoMoved) {
    log.info(`${name} uses the same pin but was not updated; to update it, run ${up([name])}`);
  }
  const { newServices, changedServices = [], restartedByHand = [], runByHand = [] } = words;
  if (runByHand.length > 0) {
    log.warn(
      `these services were not run, although depends_on requires service_completed_successfully: ${joinWithAnd(runByHand)} (to run them: ${up(runByHand)})`,
    );
  }
  if (restartedByHand.length > 0) {
    log.warn(
      `these services were not restarted, although depends_on sets "restart: true": ${joinWithAnd(restartedByHand)} (to restart them: ${formatComposeCommand(project)} restart ${restartedByHand.join(' ')})`,
    );
  }
  if (changedServices.length > 0) {
    log.info(
      `the configuration of these services has changed, so the next docker compose up will recreate them: ${joinWithAnd(changedServices)} (to recreate them now: ${up(changedServices)})`,
    );
  }
  if (newServices.length > 0) {
    log.info(
      `these new services in this release were not started: ${joinWithAnd(newServices)} (to start them: ${up(newServices)})`,
    );
  }
  const next = saved
    ? describeUserEdits(saved)
    : freed
      ? formatImageRemovalAdvice(freed)
      : journal.data.point
        ? `to restore ${words.from} and its data, run the updater with rollback --yes`
        : `to check it, run docker compose -p ${project.name} ps`;
  const images = moved.flatMap(({ image }) => (image ? [image.reference] : []));
  const { from, goal: to, reached } = words;
  return logUpdatedOutcome(replacement, { from, to, images }, { reached, next: `; ${next}` });
}

/**
 * Waits until the restore point's hashes are computed, because a rollback cannot use the restore point without them.
 */
async function completeHashes(work: ReplacementContext, record: RestorePointRecord | null): Promise<void> {
  try {
    const hashed: Promise<unknown> = record
      ? record.waitForHashes(await createDataContext(work))
      : completeRestorePointHashes(work);
    await awaitWithHeartbeat(work.log, "computing the restore point's hashes", hashed);
  } catch (error) {
    work.log.warn(`the restore point is incomplete: ${requireUpdateError(error).message}`);
  }
}

/** Removes older restore points, which are no longer needed after a successful update with a restore point. */
async function discardOlderRestorePoints(work: ReplacementContext): Promise<void> {
  const { point, project } = work.journal.data;
  if (!point) return;
  const dataContext = await createDataContext(work);
  await removeProjectRestorePoints(dataContext, dirname(point.directory), project, {
    except: [point.directory],
  });
}

/** Images that can be removed, as references for `docker image rm`. */
export interface UnusedOldImages {
  references: readonly string[];
  /** Total size in bytes. A layer that several images share is counted once for each image. */
  size: number;
}

/**
 * Returns the old images of updated services that no container uses, the app's image first. Null if there are no such
 * images.
 */
export async function findUnusedOldImages(engine: Engine, rollout: Rollout): Promise<UnusedOldImages | null> {
  const records = rollout.moved.flatMap(({ name }) => serviceContainerRecordsOf(rollout, name));
  const old = new Map(records.map(({ imageId, reference }) => [imageId, reference] as const));
  const found = await Promise.all(
    [...old].map(async ([id, reference]) => {
      const [users, [image, named]] = await Promise.all([
        engine.listContainers({ ancestor: [id] }),
        engine.inspectImages([id, reference]),
      ]);
      if (users.length > 0 || !image) return [];
      return [{ reference: named?.id === image.id ? reference : id.slice(0, 19), size: image.size }];
    }),
  );
  const free = found.flat();
  if (free.length === 0) return null;
  return {
    references: free.map(({ reference }) => reference),
    size: free.reduce((sum, { size }) => sum + size, 0),
  };
}

export const formatImageRemovalAdvice = ({ references, size }: UnusedOldImages): string =>
  `to free up to ${Math.round(size / 1_000_000)} MB, run docker image rm ${references.join(' ')}`;
