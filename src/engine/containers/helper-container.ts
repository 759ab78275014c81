import { randomUUID } from 'node:crypto';
import type { Engine } from '../cli/engine.ts';
import { findEngineError, tolerateErrors } from '../http/engine-error.ts';
import { toObject } from '../objects/json.ts';
import { rethrowWithArchiveAdvice } from './container-file.ts';
import type { ContainerSnapshot } from './container-snapshot.ts';
import { createCopiedFilesArchive } from './copied-files.ts';

/** Label of helper containers. Its value is the project or the path for which the container was created. */
const scratchLabel = 'svc-updater.scratch';
/** Label by which a process finds its own helper containers, even if the response with a container's id was lost. */
const makerLabel = 'svc-updater.maker';
const maker = randomUUID();
let hasMade = false;

interface HelperContainerOptions {
  /** Platform of the image; chosen by the engine if null. */
  platform?: string | null;
  /** Label to set instead of `scratchLabel`, for a container that must outlast the helper containers. */
  label?: string;
  /** If the engine already has a container with this name, a number is appended, or the engine chooses a name. */
  name?: string;
  /** Container configuration in the format of the engine's API. */
  config?: Readonly<Record<string, unknown>>;
  /** Host configuration. By default, the container has no network. */
  hostConfig?: Readonly<Record<string, unknown>>;
}

/**
 * Creates a helper container without starting it. Returns its id; null if the image is missing.
 * @param madeFor - value of the label: the project or path for which the container is created
 * @throws UpdateError engine-unavailable
 */
export async function createHelperContainer(
  engine: Engine,
  image: string,
  madeFor: string,
  { platform = null, label = scratchLabel, name, config = {}, hostConfig = {} }: HelperContainerOptions = {},
): Promise<string | null> {
  hasMade ||= label === scratchLabel;
  const labels = { [label]: madeFor, ...(label === scratchLabel && { [makerLabel]: maker }) };
  const spec = {
    platform,
    Image: image,
    // The engine requires a command for every container, and some images define none.
    Cmd: ['-'],
    ...config,
    Labels: { ...toObject(config.Labels), ...labels },
    HostConfig: { NetworkMode: 'none', ...hostConfig },
  };
  const create = (names: readonly string[]): Promise<string | null> =>
    engine.createContainer({ ...spec, ...(names[0] && { name: names[0] }) }).catch((error) => {
      const cause = findEngineError(error);
      if (cause?.code === 'conflict' && names.length > 0) return create(names.slice(1));
      // A 404 can also mean that a log plugin is missing, or a container whose volumes are to be shared.
      if (cause?.code === 'not-found' && !/plugin|such container/i.test(cause.message)) return null;
      throw error;
    });
  return create(name === undefined ? [] : [name, `${name}-2`]);
}

/**
 * Starts a helper container to check that the engine accepts the settings, then removes the container.
 * @throws UpdateError engine-unavailable, with the engine's error as its cause
 */
export async function requireStartableContainer(
  engine: Engine,
  image: string,
  madeFor: string,
  options: HelperContainerOptions,
): Promise<void> {
  const id = await createHelperContainer(engine, image, madeFor, options);
  // If the updater's own image is missing, the settings cannot be checked.
  if (id === null) return;
  try {
    await engine.startContainer(id, { deadlineMs: Number.POSITIVE_INFINITY });
  } finally {
    // Do not await the removal: it takes a long time if the start hangs.
    removeHelperContainer(engine.uncancellable(), id).catch(() => {});
  }
}

/**
 * Removes a helper container with its anonymous volumes. A container that is missing, or is being removed, counts as
 * removed.
 * @throws UpdateError engine-unavailable
 */
export async function removeHelperContainer(engine: Engine, id: string): Promise<void> {
  await engine.removeContainer(id, { force: true }).catch(tolerateErrors('conflict'));
}

/** Removes helper containers that killed runs left behind for this project or path. */
export const removeHelperContainers = (
  engine: Engine,
  madeFor: string,
  label = scratchLabel,
): Promise<void> => removeLabelled(engine, `${label}=${madeFor}`);

/** Removes all helper containers of this process, even those whose ids are unknown because a response was lost. */
export async function removeOwnHelperContainers(engine: Engine): Promise<void> {
  if (hasMade) await removeLabelled(engine, `${makerLabel}=${maker}`);
}

async function removeLabelled(engine: Engine, label: string): Promise<void> {
  for (const { id } of await engine.listContainers({ label: [label] }))
    await removeHelperContainer(engine, id);
}

/**
 * Gives a new container, running or not, the files that compose had copied into the old container.
 * @throws UpdateError engine-unavailable
 */
export async function copyFilesToContainer(
  engine: Engine,
  id: string,
  { name, copied }: Pick<ContainerSnapshot, 'name' | 'copied'>,
): Promise<void> {
  const files = `${copied.map(({ path }) => path).join(', ')} into a container like ${name}`;
  await engine.putArchive(id, createCopiedFilesArchive(copied), { files }).catch(rethrowWithArchiveAdvice);
}

/**
 * Checks that the engine can copy a container's files into a new container. Call this before any container is stopped:
 * compose copies files only after removing the old container, and a rollback would then fail in the same way.
 * @param project - project whose next run removes the helper container if this run is killed
 * @throws UpdateError engine-unavailable
 */
export async function requireCopyableFiles(
  engine: Engine,
  snapshot: ContainerSnapshot,
  project: string,
): Promise<void> {
  const { imageId, platform, copied } = snapshot;
  if (copied.length === 0) return;
  const scratch = await createHelperContainer(engine, imageId, project, { platform });
  // If the image is missing, do not fail here: another check reports that a rollback is impossible.
  if (scratch === null) return;
  try {
    await copyFilesToContainer(engine, scratch, snapshot);
  } finally {
    await removeHelperContainer(engine.uncancellable(), scratch).catch(() => {});
  }
}
