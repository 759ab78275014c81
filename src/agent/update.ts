import { basename, join } from 'node:path';
import { type PutBack, replaceFiles } from '../compose/replace-files.ts';
import type { Image } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { Cancelled } from '../progress/cancelled.ts';
import { UpdateError } from '../progress/update-error.ts';
import type { Cancellation } from './cancellation.ts';
import { candidateFiles } from './candidate-files.ts';
import { checkDrift } from './check-drift.ts';
import { checkTargets } from './check-targets.ts';
import { inspectInstallation } from './inspect.ts';
import type { Installation } from './installation.ts';
import { openStateDirectory, takeLock } from './lock.ts';
import type { Log } from './log.ts';
import { meet } from './meet.ts';
import type { UpdateOptions } from './options.ts';
import { planUpdate, type UpdatePlan } from './plan.ts';
import { localImages, pullImages, tagBack } from './pull.ts';
import { bringBack, newHasStarted, type RecreateContext, runSteps } from './recreate.ts';
import { planRecreate } from './recreate-steps.ts';
import type { Known } from './report-ending.ts';
import { type Settled, settlePlan } from './settle.ts';
import { pruneBackups, runStamp } from './state.ts';
import {
  describeInstallation,
  describePlan,
  endUnchanged,
  endUpdated,
  floatingMajorWarning,
  fromWord,
  reached,
  versionWarning,
} from './story.ts';
import { awaitWell, changedOthers, idsToRun, projectContainers } from './verify.ts';

export interface RunContext {
  engine: Engine;
  options: UpdateOptions;
  log: Log;
  cancellation: Cancellation;
  /** Milliseconds since the epoch. */
  startedAt: number;
  known: Known;
}

/** The story of a run. Gives the outcome; every other ending is thrown. */
export async function update(context: RunContext): Promise<'updated' | 'unchanged'> {
  const { engine, options, log } = context;
  const met = await meet(engine, options, log);
  if (!met.paths.isWritable(met.located.mountedAt)) {
    throw new UpdateError('read-only', `the compose directory ${met.located.directory} is mounted read-only`);
  }
  const state = await openStateDirectory(met.located.mountedAt);
  const release = await takeLock(state, met.own, engine, log);
  try {
    log.copyTo(join(state, 'last-run.log'));
    const installation = await inspectInstallation(
      engine,
      met.platform,
      met.paths,
      met.located,
      options,
      log,
    );
    remember(context.known, installation);
    describeInstallation(installation, log);

    log.phase = 'plan';
    const plan = planUpdate(installation, options.target);
    await checkDrift(engine, installation, options.acceptDrift, log);
    await checkTargets(candidateFiles(installation, plan), installation.paths);
    describePlan(installation, plan, log);

    return await carryOut(context, installation, plan, state);
  } finally {
    await release();
  }
}

/** For the line that ends a run, however it ends. */
export function remember(known: Known, installation: Installation): void {
  known.version = fromWord(installation);
  known.project = installation.project.name;
  known.services = installation.services.map(({ name }) => name);
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
    const settled = await settlePlan(engine, installation, plan, images);
    await pullAdded(context, installation, settled, images, undo, deadline);
    const major = floatingMajorWarning(installation, plan, settled);
    for (const warning of [...settled.warnings, ...(major ? [major] : [])]) log.warn(warning);
    if (isUnchanged(installation, settled, images)) {
      log.phase = 'done';
      endUnchanged(context, installation, plan, settled);
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

/** What has to be put back when the run fails. */
interface Undo {
  files: PutBack | null;
  tags: ReadonlyMap<string, Image>;
  /** Recreate has begun. */
  decided: boolean;
}

async function putBack({ engine, log }: RunContext, undo: Undo): Promise<void> {
  // A cancelled run still has this to do.
  engine.signal = undefined;
  const changedSince = (await undo.files?.()) ?? [];
  for (const path of changedSince) log.warn(`${path} was changed meanwhile: it is left as it is`);
  undo.files = null;
  await tagBack(engine, undo.tags, log);
}

/** Images by reference, all of them local. */
async function pullMoves(
  context: RunContext,
  installation: Installation,
  plan: UpdatePlan,
  deadline: number,
): Promise<Map<string, Image>> {
  const { engine, log } = context;
  const wanted = new Map(
    plan.moves.filter(({ pull }) => pull).map(({ service, to }) => [service, to] as const),
  );
  for (const { service, to, pull } of plan.moves) {
    if (!pull) log.info(`${service} has pull_policy never: the local ${to} counts`);
  }
  if (wanted.size > 0) {
    await pullImages(
      installation.compose,
      wanted,
      { deadline, platform: installation.platform },
      engine,
      log,
    );
  }
  return requireLocal(
    engine,
    plan.moves.map(({ to }) => to),
  );
}

/** Images that only the new files name, for the services that are recreated. */
async function pullAdded(
  context: RunContext,
  installation: Installation,
  settled: Settled,
  images: Map<string, Image>,
  undo: Undo,
  deadline: number,
): Promise<void> {
  const { engine, log } = context;
  const added = new Map([...settled.references].filter(([, reference]) => !images.has(reference)));
  if (added.size === 0) return;
  undo.tags = new Map([...undo.tags, ...(await localImages(engine, added.values()))]);
  await pullImages(
    installation.compose,
    added,
    { deadline, platform: installation.platform, percent: false },
    engine,
    log,
  );
  for (const [reference, image] of await requireLocal(engine, added.values())) images.set(reference, image);
}

async function requireLocal(engine: Engine, references: Iterable<string>): Promise<Map<string, Image>> {
  const list = [...references];
  const images = await localImages(engine, list);
  const missing = list.find((reference) => !images.has(reference));
  if (missing) throw new UpdateError('pull-failed', `${missing} is not on this machine`);
  return images;
}

/** The containers run exactly these images and there is nothing to write. */
function isUnchanged(
  installation: Installation,
  settled: Settled,
  images: ReadonlyMap<string, Image>,
): boolean {
  return (
    settled.changes.length === 0 &&
    installation.services.every(({ name, containers }) =>
      containers.every(({ imageId }) => imageId === images.get(settled.references.get(name) ?? '')?.id),
    )
  );
}

async function writeChanges(
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
  if (settled.changes.length === 0) return;
  log.phase = 'write';
  const stamp = runStamp(context.startedAt);
  undo.files = await replaceFiles(settled.changes, join(state, 'backup', stamp));
  for (const { path, before, description } of settled.changes) {
    const kept = before === null ? 'created' : `kept in .svc-updater/backup/${stamp}/${basename(path)}`;
    log.info(`${description} (${kept})`, { file: path });
  }
  await pruneBackups(join(state, 'backup'));
  if (cancellation.signal.aborted) throw new Cancelled();
}

async function recreateAndVerify(
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
    for (const line of detail ?? []) log.error(line);
    log.warn(`${message}; nothing of the new version has started, so the old one is brought back`);
    await putBack(context, undo);
    await bringBack(recreating);
    if (!(error instanceof UpdateError)) throw error;
    throw new UpdateError(error.code, message, { advice: error.advice, cause: error });
  }
  log.phase = 'done';
  endUpdated(context, installation, plan, settled, images, await freeable(engine, installation));
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
    const reference = settled.references.get(container.labels['com.docker.compose.service'] ?? '');
    return reference !== undefined && container.imageId !== images.get(reference)?.id;
  });
  if (wrong.length > 0) {
    throw new UpdateError(
      'broken',
      `${wrong.map(({ name }) => name).join(', ')} does not run the image that was pulled`,
    );
  }
  const names = installation.services.map(({ name }) => name);
  log.info(
    `${well.map(({ service, how }) => `${service} ${how}`).join(', ')}; ${names.join(' and ')} ${names.length > 1 ? 'run' : 'runs'} ${reached(plan, settled)}`,
  );
  const warning = versionWarning(plan, settled);
  if (warning) log.warn(warning);
}
