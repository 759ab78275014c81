import type { Image } from '../engine/container.ts';
import { service } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { UpdateError } from '../progress/update-error.ts';
import type { Installation } from './installation.ts';
import type { UpdatePlan } from './plan.ts';
import { bringBack, newHasStarted, type RecreateContext, runSteps } from './recreate.ts';
import { planRecreate } from './recreate-steps.ts';
import type { RunContext } from './run-context.ts';
import type { Settled } from './settle.ts';
import { endUpdated, versionWarnings, whatRuns } from './story.ts';
import { putBack, type Undo } from './undo.ts';
import { awaitWell, changedOthers, idsToRun, projectContainers } from './verify.ts';

/** The phases `recreate` and `verify`; from here on a signal no longer ends the run. */
export async function recreateAndVerify(
  context: RunContext,
  installation: Installation,
  plan: UpdatePlan,
  settled: Settled,
  images: ReadonlyMap<string, Image>,
  undo: Undo,
): Promise<void> {
  const { engine, options, log, cancellation } = context;
  cancellation.close(engine);
  undo.decided = true;
  log.phase = 'recreate';
  const names = installation.services.map(({ name }) => name);
  const followers = installation.followers.map(({ name }) => name);
  const stopping = names.slice(1).length > 0 ? `stopping ${names.slice(1).join(' and ')}, then ` : '';
  log.info(`${stopping}replacing ${[...names, ...followers].join(' and ')}`);
  if (followers.length > 0)
    log.info(
      `${followers.join(' and ')} live in a namespace of ${names.join(' or ')} and are replaced with it`,
    );
  const recreating: RecreateContext = {
    engine,
    compose: installation.compose,
    installation,
    waitTimeoutMs: options.waitTimeoutMs,
    log,
  };
  try {
    await runSteps(planRecreate(installation, settled.model), recreating);
    await verify(context, installation, plan, settled, images);
  } catch (error) {
    if (error instanceof UpdateError && error.outcome === 'broken') throw error;
    // Where the engine cannot tell, the new version may have started: then there is no way back.
    if (await newHasStarted(engine, installation).catch(() => true)) {
      if (!(error instanceof UpdateError)) throw error;
      throw new UpdateError('broken', error.message, { detail: error.detail, cause: error });
    }
    const { message, detail } = error as UpdateError;
    for (const line of [...(detail ?? []), message]) log.error(line);
    log.warn('nothing of the new version has started: the old one is brought back');
    await putBack(context, undo);
    await bringBack(recreating);
    if (!(error instanceof UpdateError)) throw error;
    throw new UpdateError(error.code, message, { advice: error.advice, told: true, cause: error });
  }
  log.phase = 'done';
  endUpdated(
    context,
    installation,
    plan,
    settled,
    images,
    await freeable(engine, installation).catch(() => null),
  );
}

/** The old app image, where nothing runs it any more. */
async function freeable(
  engine: Engine,
  installation: Installation,
): Promise<{ reference: string; size: number } | null> {
  const old = installation.services[0]?.containers.at(-1);
  if (!old) return null;
  const users = await engine.ask(['ps', '--all', '--quiet', '--filter', `ancestor=${old.imageId}`]);
  const [image, named] = await engine.images([old.imageId, old.imageReference]);
  if (users.trim() !== '' || !image) return null;
  return {
    reference: named?.id === image.id ? old.imageReference : old.imageId.slice(0, 19),
    size: image.size,
  };
}

async function verify(
  { engine, options, log }: RunContext,
  installation: Installation,
  plan: UpdatePlan,
  settled: Settled,
  images: ReadonlyMap<string, Image>,
): Promise<void> {
  log.phase = 'verify';
  const now = await projectContainers(engine, installation.project.name);
  const others = changedOthers(installation, now);
  if (others.length > 0)
    log.error(`a bug of the updater: other containers changed, too: ${others.join(', ')}`);
  const well = await awaitWell(
    engine,
    idsToRun(now, [...installation.services, ...installation.followers]),
    options.waitTimeoutMs,
    log,
  );
  const wrong = now.filter((container) => {
    const reference = settled.references.get(service(container));
    return reference !== undefined && container.imageId !== images.get(reference)?.id;
  });
  if (wrong.length > 0) {
    throw new UpdateError(
      'broken',
      `${wrong.map(({ name }) => name).join(', ')} does not run the image that was pulled`,
    );
  }
  const how = well.map((each) => `${each.service} ${each.how}`).join(', ');
  log.info(`${how}; ${whatRuns(plan, settled, images)}`);
  for (const warning of versionWarnings(plan, settled, images)) log.warn(warning);
}
