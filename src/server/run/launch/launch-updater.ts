import { isSameRepository, parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { createTarEntry, tarTrailer } from '../../../core/files/tar-header.ts';
import { settingValuesPath } from '../../../core/release/release-settings.ts';
import type { ContainerSpec } from '../../../engine/api-objects.ts';
import type { EngineApi } from '../../../engine/engine-api.ts';
import { EngineError } from '../../../engine/http/engine-error.ts';
import { type Container, isUp } from '../../../engine/objects/container.ts';
import { classifyPullFailure } from '../../../engine/registry/classify-pull-failure.ts';
import type { PullProgress } from '../../../engine/registry/pull-progress.ts';
import { readRegistryCredentials } from '../../../engine/registry/registry-credentials.ts';
import type { UpdateTarget } from '../../available-update/choose-update.ts';
import type { CompleteUpdateRequest } from '../../contract/instance-updates.ts';
import type { Deployment } from '../../deployment/read-deployment.ts';
import { chooseUpdatedServices } from '../../deployment/updated-services.ts';
import {
  buildUpdaterContainerSpec,
  createAdditionalUpdaterName,
  initialRunFactsOf,
  isUpdaterActive,
  isUpdaterOfInstance,
  runIdLabel,
} from '../../deployment/updater-container.ts';
import type { RunRecord } from '../run-record.ts';
import type { LaunchContext } from '../server-context.ts';
import { UpdaterNotStartedError } from '../updater-not-started-error.ts';
import { createUpdaterTargetOptions } from './target-options.ts';

type LaunchTarget = Pick<UpdateTarget, 'to' | 'proof' | 'undone'> & {
  home: Deployment;
  order: Pick<CompleteUpdateRequest, 'settings'>;
};

/** Timeout for pulling the updater image, in ms. Any working connection needs less time. */
const pullLimitMs = 30 * 60_000;

/**
 * Pulls the updater image, frees the container name and starts the updater. Returns the container id; null if
 * `mayLaunch` returns false.
 * @param mayLaunch - called right before the container is created; may throw UpdaterNotStartedError
 * @throws UpdaterNotStartedError, also if the signal is aborted
 */
export async function launchUpdater(
  record: RunRecord,
  { home: deployment, order: { settings: values }, ...destination }: LaunchTarget,
  context: LaunchContext,
  mayLaunch: () => Promise<boolean>,
): Promise<string | null> {
  const { engine, settings, signal } = context;
  try {
    const image = await ensureUpdaterImage(record, context, deployment);
    const services = await chooseUpdatedServices(engine, deployment, settings);
    signal.throwIfAborted();
    await stopPrefetch(context, deployment);
    record.setLaunchState('launching', 'starting the updater');
    const setFile = values && Object.keys(values).length > 0 ? ['--set-file', settingValuesPath] : [];
    const options = [...(await createUpdaterTargetOptions(destination, engine)), ...setFile];
    const command =
      record.run.kind === 'rollback' ? (['rollback', '--yes'] as const) : (['update', ...options] as const);
    await freeContainerName(engine, deployment, settings.containerName);
    const spec = buildUpdaterContainerSpec(deployment, settings, {
      command,
      image,
      services,
      initialFacts: { ...record.run, undone: destination.undone },
    });
    if (!(await mayLaunch())) return null;
    signal.throwIfAborted();
    return await startUpdaterContainer(engine, spec, { values, signal });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    // The engine's error message names the cause, such as a missing directory to mount.
    throw createLaunchError(`the updater could not be started: ${error.message}`, error);
  }
}

/**
 * Creates and starts an updater. If its start fails, removes it. Returns the container id.
 * @throws UpdaterNotStartedError if another container has the same name, EngineError
 */
export async function startUpdaterContainer(
  engine: EngineApi,
  spec: ContainerSpec,
  { values, signal }: { values: CompleteUpdateRequest['settings']; signal: AbortSignal },
): Promise<string> {
  const id = await engine.createContainer(spec).catch(async (error) => {
    if (error instanceof EngineError && error.code === 'conflict') throw createLaunchConflictError(error);
    // The engine may have created the container although its response was lost. Remove the container, so that it cannot
    // start after the queue is resumed.
    await removeUnstartedContainer(engine, spec);
    throw error;
  });
  try {
    if (values) await engine.putArchive(id, buildSettingsArchive(values), { isSecret: true });
    signal.throwIfAborted();
    await engine.startContainer(id);
  } catch (error) {
    const now = await engine.inspectContainer(id).catch(() => null);
    // The engine may have started the container even if its response was lost.
    if (now !== null && hasRun(now)) return id;
    await engine.removeContainer(id, { force: true }).catch(() => {});
    throw error;
  }
  return id;
}

/** Matches values that can be written to an env file in single quotes. */
const quotableValuePattern = /^[^'\\\p{Cc}\p{Zl}\p{Zp}]*$/u;

/**
 * Builds a tar archive with the updater's settings file. Updaters of earlier releases read only env files, so JSON is
 * used only if an env file cannot hold a value.
 */
export function buildSettingsArchive(values: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(values);
  const isQuotable = entries.every(
    ([name, value]) => name !== '__proto__' && quotableValuePattern.test(value),
  );
  const text = isQuotable
    ? entries.map(([name, value]) => `${name}='${value}'\n`).join('')
    : JSON.stringify(entries);
  const file = Buffer.from(text);
  return Buffer.concat([...createTarEntry(settingValuesPath.slice(1), file, { mode: 0o600 }), tarTrailer]);
}

const hasRun = ({ status }: Container): boolean => status !== 'created';

async function removeUnstartedContainer(engine: EngineApi, { name, Labels }: ContainerSpec): Promise<void> {
  try {
    const found = await engine.inspectContainer(name);
    const isSame = found !== null && initialRunFactsOf(found).id === Labels?.[runIdLabel];
    if (isSame && !hasRun(found)) await engine.removeContainer(found.id, { force: true });
  } catch {
    // An engine failure is ignored: the removal is not retried.
  }
}

export const launchTakenCode = 'launch-taken';

const createLaunchConflictError = (error?: unknown): UpdaterNotStartedError =>
  new UpdaterNotStartedError('failed', 'another updater was started at the same time; nothing was changed', {
    code: launchTakenCode,
    advice: 'Wait until the other update has finished, then run the update again.',
    error,
  });

const createLaunchError = (message: string, error?: unknown): UpdaterNotStartedError =>
  new UpdaterNotStartedError('failed', `${message}; nothing was changed`, {
    code: 'launch-failed',
    advice: 'Fix the problem reported by the engine, then run the update again.',
    error,
  });

type ImageContext = Pick<LaunchContext, 'engine' | 'settings' | 'signal'>;

/** Makes the updater image available, and returns its reference. @throws UpdaterNotStartedError, EngineError */
export async function ensureUpdaterImage(
  record: RunRecord,
  context: ImageContext,
  deployment: Deployment,
): Promise<string> {
  const { engine, settings } = context;
  if (settings.updaterImage !== null) await pullUpdaterImage(record, settings.updaterImage, context);
  const reference = settings.updaterImage ?? (await findServerImage(engine, deployment));
  const { config = null } = (await engine.inspectImage(reference)) ?? {};
  // Any other program would run without end, and report nothing.
  if (config !== null && !`${config.Entrypoint}`.includes('/svc-updater/'))
    throw createLaunchError(`${reference} is not an image of svc-updater, or built from one`);
  return reference;
}

/** Pulls the updater image. Uses the local image if the pull fails or is unnecessary. */
async function pullUpdaterImage(
  record: RunRecord,
  updaterImage: string,
  { engine, settings, signal }: ImageContext,
): Promise<void> {
  const { updaterPull, registryCredentials } = settings;
  const reference = parseImageReference(updaterImage);
  if (reference === null) throw createLaunchError(`${updaterImage} is not a valid image reference`);
  const { repository, tag, digest } = reference;
  // A digest always identifies the same image, so a local image with this digest is used.
  if ((updaterPull === 'missing' || digest !== null) && (await engine.inspectImage(updaterImage)) !== null)
    return;
  record.setLaunchState('launching', `pulling ${updaterImage}`);
  const login = await readRegistryCredentials(repository, registryCredentials);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(pullLimitMs)]);
  try {
    const wanted = { repository, tag: digest ?? tag ?? 'latest', credentials: login, signal: limit };
    const onProgress = ({ percent }: PullProgress) =>
      record.setLaunchState('launching', `pulling ${updaterImage}`, { percent });
    await engine.pullImage({ ...wanted, onProgress });
  } catch (error) {
    signal.throwIfAborted();
    const fault = error instanceof EngineError ? error : null;
    // These errors come from a proxy in front of the engine, not from the registry.
    if (fault?.code === 'refused-by-proxy' || fault?.code === 'not-an-engine') throw error;
    const message = fault?.message ?? `the pull took longer than ${pullLimitMs / 60_000} minutes`;
    const failure = classifyPullFailure(message, [updaterImage], fault?.status ?? null);
    const isHere = failure.retryPolicy !== 'never' || failure.code === 'pull-unreachable';
    if (isHere && (await engine.inspectImage(updaterImage).catch(() => null)) !== null) {
      record.warn(`cannot pull ${updaterImage} (${failure.sentence}); using the local image`);
      return;
    }
    throw new UpdaterNotStartedError(
      'failed',
      `the updater image ${updaterImage} cannot be pulled; nothing was changed`,
      {
        detail: failure.sentence,
        code: failure.code,
        advice: 'Check that the image is published and the registry is reachable, then run the update again.',
        error,
      },
    );
  }
}

/**
 * Finds the image of the server's container, so that a moved tag makes no difference: by its digest in its repository, or
 * by its id if it has no such digest. If a local build has replaced the image, returns the reference of the new image.
 */
async function findServerImage(
  engine: EngineApi,
  { container: { imageId, imageReference } }: Pick<Deployment, 'container'>,
): Promise<string> {
  const image = await engine.inspectImage(imageId);
  const own = parseImageReference(imageReference);
  const digest = image?.digests.find((each) => {
    const other = parseImageReference(each);
    return own !== null && other !== null && isSameRepository(own, other);
  });
  return digest ?? image?.id ?? imageReference;
}

/** Stops the prefetch, because the update itself pulls the images that are still missing. */
async function stopPrefetch({ engine, settings }: LaunchContext, deployment: Deployment): Promise<void> {
  if (settings.prefetch === false) return;
  const found = await engine.inspectContainer(createAdditionalUpdaterName('prefetch', settings, deployment));
  if (found !== null && isUpdaterOfInstance(found, deployment) && isUp(found))
    await engine.killContainer(found.id, 'SIGTERM');
}

/**
 * Frees a container name. Another instance's updater is renamed instead of removed, which preserves its log.
 * @throws UpdaterNotStartedError if an active updater has the name
 */
export async function freeContainerName(
  engine: EngineApi,
  deployment: Deployment,
  name: string,
): Promise<void> {
  const found = await engine.inspectContainer(name);
  if (found === null) return;
  if (isUpdaterActive(found)) throw createLaunchConflictError();
  if (isUpdaterOfInstance(found, deployment)) await engine.removeContainer(found.id);
  else await engine.renameContainer(found.id, `${name}-${found.id.slice(0, 12)}`);
}
