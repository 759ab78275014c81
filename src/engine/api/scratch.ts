import { randomUUID } from 'node:crypto';
import type { Engine } from '../cli/engine.ts';
import { findEngineError, tolerateErrors } from '../http/engine-error.ts';
import { toObject } from '../json.ts';
import type { ContainerSnapshot } from './blueprint.ts';
import { rethrowWithArchiveAdvice } from './container-file.ts';
import { copiedArchive } from './copied-files.ts';

/**
 * Label of a helper container, which only exists to copy, read or write files. Its value is the project for which the
 * container was created, or the path that it accesses.
 */
const scratchLabel = 'svc-updater.scratch';
/**
 * Label of helper containers from this process: if the engine fails, the response with the new container's id may be
 * lost.
 */
const makerLabel = 'svc-updater.maker';
const maker = randomUUID();
let hasMade = false;

interface ScratchOptions {
  /** Platform of the image content. */
  platform?: string | null;
  /** Label for containers that are retained when helper containers are removed. */
  label?: string;
  /** Container configuration in the form of the engine's API. */
  config?: Readonly<Record<string, unknown>>;
  /** Host configuration; without a network by default. */
  hostConfig?: Readonly<Record<string, unknown>>;
}

/**
 * Creates a container without starting it. Returns its id, or null if the image is missing. @throws UpdateError
 * engine-unavailable
 */
export async function createHelper(
  engine: Engine,
  image: string,
  madeFor: string,
  { platform = null, label = scratchLabel, config = {}, hostConfig = {} }: ScratchOptions = {},
): Promise<string | null> {
  hasMade ||= label === scratchLabel;
  const labels = { [label]: madeFor, ...(label === scratchLabel && { [makerLabel]: maker }) };
  const spec = {
    platform,
    Image: image,
    // The engine requires a command for every container, and an image may not have one.
    Cmd: ['-'],
    ...config,
    Labels: { ...toObject(config.Labels), ...labels },
    HostConfig: { NetworkMode: 'none', ...hostConfig },
  };
  // The engine also returns 404 for a missing log plugin, or a missing container whose volumes are shared.
  return engine.createContainer(spec).catch((error) => {
    const cause = findEngineError(error);
    if (cause?.code === 'not-found' && !/plugin|such container/i.test(cause.message)) return null;
    throw error;
  });
}

/**
 * Starts a container to check that the engine accepts the settings, then removes it.
 * @throws UpdateError engine-unavailable, whose cause is the response of the engine
 */
export async function tryHelper(
  engine: Engine,
  image: string,
  madeFor: string,
  options: ScratchOptions,
): Promise<void> {
  const id = await createHelper(engine, image, madeFor, options);
  // Without the updater's own image, the settings cannot be checked.
  if (id === null) return;
  try {
    await engine.startContainer(id, { deadlineMs: Number.POSITIVE_INFINITY });
  } finally {
    // Not awaited, because a start that hangs would delay the removal.
    removeHelper(engine.uncancellable(), id).catch(() => {});
  }
}

/**
 * Removes a container with its anonymous volumes. A container that is missing, or is being removed, counts as removed.
 * @throws UpdateError engine-unavailable
 */
export async function removeHelper(engine: Engine, id: string): Promise<void> {
  await engine.removeContainer(id, { force: true }).catch(tolerateErrors('conflict'));
}

/** Removes helper containers that killed runs have left for this project or path. */
export const removeHelpers = (engine: Engine, madeFor: string, label = scratchLabel): Promise<void> =>
  removeLabelled(engine, `${label}=${madeFor}`);

/** Removes the helper containers of this process, even if the response with their ids was lost. */
export async function removeOwnHelpers(engine: Engine): Promise<void> {
  if (hasMade) await removeLabelled(engine, `${makerLabel}=${maker}`);
}

async function removeLabelled(engine: Engine, label: string): Promise<void> {
  for (const { id } of await engine.listContainers({ label: [label] })) await removeHelper(engine, id);
}

/**
 * Copies the files of a container into a new container, running or not, as compose did. @throws UpdateError
 * engine-unavailable
 */
export async function putCopiedFiles(
  engine: Engine,
  id: string,
  { name, copied }: Pick<ContainerSnapshot, 'name' | 'copied'>,
): Promise<void> {
  const files = `${copied.map(({ path }) => path).join(', ')} into a container like ${name}`;
  await engine.putArchive(id, copiedArchive(copied), { files }).catch(rethrowWithArchiveAdvice);
}

/**
 * Checks, before anything is stopped, that the engine can copy a container's files into a new container from its image.
 * Compose copies the files only after it has removed the old container, and a rollback would fail in the same way.
 * @param project project whose next run removes the helper container if this run is killed
 * @throws UpdateError engine-unavailable
 */
export async function checkCopiedFiles(
  engine: Engine,
  blueprint: ContainerSnapshot,
  project: string,
): Promise<void> {
  const { imageId, platform, copied } = blueprint;
  if (copied.length === 0) return;
  const scratch = await createHelper(engine, imageId, project, { platform });
  // A missing image, which makes a rollback impossible, is reported elsewhere.
  if (scratch === null) return;
  try {
    await putCopiedFiles(engine, scratch, blueprint);
  } finally {
    await removeHelper(engine.uncancellable(), scratch).catch(() => {});
  }
}
