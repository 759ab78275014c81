import { join } from 'node:path';
import { type Image, isMeantToRun } from '../engine/container.ts';
import { candidateFiles } from './candidate-files.ts';
import { checkDrift } from './check-drift.ts';
import { checkTargets } from './check-targets.ts';
import { inspectInstallation } from './inspect.ts';
import type { Installation } from './installation.ts';
import { openStateDirectory, takeLock } from './lock.ts';
import { meet } from './meet.ts';
import { pullAdded, pullMoves } from './obtain-images.ts';
import { planUpdate, type UpdatePlan } from './plan.ts';
import { localImages } from './pull.ts';
import { removeScratch } from './release-files.ts';
import { recreateAndVerify } from './replace-containers.ts';
import { type RunContext, remember } from './run-context.ts';
import { type Settled, settlePlan } from './settle.ts';
import { runStamp } from './state.ts';
import { describeInstallation, describePlan, endUnchanged } from './story.ts';
import { putBack, type Undo } from './undo.ts';
import { writeChanges } from './write.ts';

/** The story of a run. Gives the outcome; every other ending is thrown. */
export async function update(context: RunContext): Promise<'updated' | 'unchanged'> {
  const { engine, options, log } = context;
  const met = await meet(engine, options, log);
  const state = await openStateDirectory(met.located.mountedAt);
  const lock = await takeLock(state, met.own, engine, log);
  try {
    log.copyTo(join(state, 'last-run.log'));
    if (lock.takenOver) await removeScratch(engine, met.located.name);
    const installation = await inspectInstallation(engine, met, options, log, lock.takenOver);
    remember(context.known, installation);
    describeInstallation(installation, log);

    log.phase = 'plan';
    const plan = planUpdate(installation, options.target);
    await checkDrift(engine, installation, options.acceptDrift, log);
    await checkTargets(candidateFiles(installation, plan), installation.paths);
    describePlan(installation, plan, log);

    return await carryOut(context, installation, plan, state);
  } finally {
    await lock.release();
  }
}

/** From the pull to the end. Nothing in the compose directory changes before every image is here. */
async function carryOut(
  context: RunContext,
  installation: Installation,
  plan: UpdatePlan,
  state: string,
): Promise<'updated' | 'unchanged'> {
  const { engine, options, log } = context;
  const before = await localImages(
    engine,
    plan.moves.map(({ to }) => to),
  );
  const undo: Undo = { files: null, tags: before, decided: false };
  try {
    log.phase = 'pull';
    const deadline = Date.now() + options.pullTimeoutMs;
    const images = await pullMoves(context, installation, plan, deadline);
    const settled = await settlePlan(
      engine,
      installation,
      plan,
      images,
      `.svc-updater/backup/${runStamp(context.startedAt)}`,
    );
    await pullAdded(context, installation, settled, images, undo, deadline);
    for (const warning of settled.warnings) log.warn(warning);
    if (isUnchanged(installation, settled, images)) {
      log.phase = 'done';
      endUnchanged(context, plan, settled, images);
      return 'unchanged';
    }
    await writeChanges(context, installation, settled, state, undo);
    await recreateAndVerify(context, installation, plan, settled, images, undo);
    return 'updated';
  } catch (error) {
    // From recreate on, putting back is decided there: by whether anything new has started.
    if (!undo.decided) await putBack(context, undo);
    throw error;
  }
}

/** The containers run exactly these images and there is nothing to write. */
function isUnchanged(
  installation: Installation,
  settled: Settled,
  images: ReadonlyMap<string, Image>,
): boolean {
  return (
    settled.changes.length === 0 &&
    installation.services.every(
      ({ name, containers, isApp, running }) =>
        running === containers.filter(isMeantToRun).length &&
        (!isApp || running > 0) &&
        containers.every(({ imageId }) => imageId === images.get(settled.references.get(name) ?? '')?.id),
    )
  );
}
