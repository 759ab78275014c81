import { randomUUID } from 'node:crypto';
import type { Engine } from '../cli/engine.ts';
import { engineErrorIn, unless } from '../http/engine-error.ts';
import { object } from '../json.ts';
import type { Blueprint } from './blueprint.ts';
import { adviseOnArchives } from './container-file.ts';
import { copiedArchive } from './copied-files.ts';

/**
 * The label of a container that only exists to be copied from or to, or to read and write files: the project it was made
 * for, or the path it is to see.
 */
const scratchLabel = 'svc-updater.scratch';
/** Of those that this process has made: the answer that names one may be lost with the engine. */
const makerLabel = 'svc-updater.maker';
const maker = randomUUID();
let hasMade = false;

interface ScratchOptions {
  /** The platform whose content of the image the container has. */
  platform?: string | null;
  /** Of those that stay: they are not removed with the scratch containers. */
  label?: string;
  /** In the engine's own form. */
  config?: Readonly<Record<string, unknown>>;
  /** By default it has no network. */
  hostConfig?: Readonly<Record<string, unknown>>;
}

/** A container that is not started. Gives its id, or null if the image is gone. @throws UpdateError engine-unavailable */
export async function createScratch(
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
    // The engine creates no container without a command, and an image may have none.
    Cmd: ['-'],
    ...config,
    Labels: { ...object(config.Labels), ...labels },
    HostConfig: { NetworkMode: 'none', ...hostConfig },
  };
  // A missing log plugin, or container whose volumes are shared, is a 404 as well.
  return engine.createContainer(spec).catch((error) => {
    const cause = engineErrorIn(error);
    if (cause?.code === 'not-found' && !/plugin|such container/i.test(cause.message)) return null;
    throw error;
  });
}

/**
 * Starts a container, to check that the engine can start one with these settings, and removes it.
 * @throws UpdateError engine-unavailable, whose cause is the response of the engine
 */
export async function tryScratch(
  engine: Engine,
  image: string,
  madeFor: string,
  options: ScratchOptions,
): Promise<void> {
  const id = await createScratch(engine, image, madeFor, options);
  // Without the updater's own image, the settings cannot be tried.
  if (id === null) return;
  try {
    await engine.startContainer(id, { deadlineMs: Number.POSITIVE_INFINITY });
  } finally {
    // A start that hangs would delay the removal.
    removeScratch(engine.uncancellable(), id).catch(() => {});
  }
}

/** Removes it with its anonymous volumes; a container that is gone, or just being removed, counts as removed. @throws UpdateError engine-unavailable */
export async function removeScratch(engine: Engine, id: string): Promise<void> {
  await engine.removeContainer(id, { force: true }).catch(unless('conflict'));
}

/** Removes the scratch containers that killed runs have made for that project, or to see that path, and left. */
export const removeScratches = (engine: Engine, madeFor: string, label = scratchLabel): Promise<void> =>
  removeLabelled(engine, `${label}=${madeFor}`);

/** Removes those that this process has made, also if it was not told of them. */
export async function removeOwnScratches(engine: Engine): Promise<void> {
  if (hasMade) await removeLabelled(engine, `${makerLabel}=${maker}`);
}

async function removeLabelled(engine: Engine, label: string): Promise<void> {
  for (const { id } of await engine.listContainers({ label: [label] })) await removeScratch(engine, id);
}

/** Copies the files of a container into a new one, running or not, as compose did. @throws UpdateError engine-unavailable */
export async function putCopies(
  engine: Engine,
  id: string,
  { name, copied }: Pick<Blueprint, 'name' | 'copied'>,
): Promise<void> {
  const files = `${copied.map(({ path }) => path).join(', ')} into a container like ${name}`;
  await engine.putArchive(id, copiedArchive(copied), { files }).catch(adviseOnArchives);
}

/**
 * Sees, before anything is stopped, that the engine puts a container's copied files into one made from its image. Compose
 * does the same with the new container after it has removed the old one, and there would be no way back either.
 * @param project whose containers that are never started go with the next run, should this one be killed
 * @throws UpdateError engine-unavailable
 */
export async function proveCopies(engine: Engine, blueprint: Blueprint, project: string): Promise<void> {
  const { imageId, platform, copied } = blueprint;
  if (copied.length === 0) return;
  const scratch = await createScratch(engine, imageId, project, { platform });
  // Whether there is a way back to an image that is gone is told elsewhere.
  if (scratch === null) return;
  try {
    await putCopies(engine, scratch, blueprint);
  } finally {
    await removeScratch(engine.uncancellable(), scratch).catch(() => {});
  }
}
