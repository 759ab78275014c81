import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { CancelledError, InterruptedError } from '../../../core/cancellation/cancelled.ts';
import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import {
  chownLikeParentDirectory,
  systemErrorCodeOf,
  tolerateMissingFile,
} from '../../../core/files/file-system.ts';
import { removeTree } from '../../../core/files/remove-tree.ts';
import type { HostPaths } from '../../../core/mounts/host-paths.ts';
import { createJsonTextSchema } from '../../../core/text/json-text.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { removeHelperContainers } from '../../../engine/containers/helper-container.ts';
import { listAllNetworks, removeNetwork } from '../../../engine/containers/rehearsal-requests.ts';
import { type Container, isUp, type ListedContainer } from '../../../engine/objects/container.ts';
import { rehearsalLabel } from '../../../engine/objects/labels.ts';
import { removeRestorePointDirectory } from '../../data/restore-point.ts';
import type { EngineContext } from '../../run/run-context.ts';
import { requireNoUpdate } from '../../run/state/journal.ts';
import { removeEntriesOfKilledUpdaters } from '../../run/state/lock.ts';
import {
  openStateDirectory,
  requireRootOwnedPath,
  stateDirectoryOf,
} from '../../run/state/state-directory.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import { removeControlHelpers } from './control-helper.ts';

const directoryName = 'rehearsal';
const copiesPrefix = 'rehearsal-';
const removalTimeoutMs = 120_000;

const recordSchema = z.strictObject({
  /** Container of the updater that runs the rehearsal. */
  containerId: z.string(),
  /** Label value of the rehearsal's containers and networks. */
  token: z.uuid(),
  /** Host directory of the copies. */
  copies: z.string().check(z.refine((path) => basename(path).startsWith(copiesPrefix))),
});
/** Record of a rehearsal. It exists from before the first copy until everything else is removed. */
export interface RehearsalRecord extends z.infer<typeof recordSchema> {}

/**
 * Records a rehearsal before it creates anything. An update takes the lock first and reads the record second. A
 * rehearsal does both in the opposite order, so at least one of them notices the other.
 * @param parent - host directory for the copies
 * @throws UpdateError rehearsal-running, update-running, journal-pending
 */
export async function recordRehearsal(
  context: EngineContext,
  instance: FoundInstance,
  parent: string,
): Promise<RehearsalRecord> {
  const { own, location } = instance;
  const state = await openStateDirectory(location.mountedAt);
  await removeEntriesOfKilledUpdaters(context.engine, own, state, /^rehearsal-([0-9a-f]{12})$/);
  await requireRootOwnedPath(instance.paths.fromHost(parent) ?? parent);
  const previous = await findRehearsal(context.engine, instance);
  if (previous?.holder) {
    const message = `another rehearsal has been running in container ${previous.holder.name} since ${previous.holder.startedAt}`;
    throw new UpdateError('rehearsal-running', message);
  }
  if (previous !== null) await removeRehearsal(context.engine, previous);
  const token = randomUUID();
  const record = { containerId: own.id, token, copies: join(parent, `${copiesPrefix}${token}`) };
  // A directory is moved with its contents, so no reader sees an incomplete record.
  const staged = join(state, `${directoryName}-${own.id.slice(0, 12)}`);
  await rm(staged, { recursive: true, force: true });
  await mkdir(staged, { mode: 0o700 });
  await chownLikeParentDirectory(staged);
  await writeFile(join(staged, 'record.json'), JSON.stringify(record), { mode: 0o600, flag: 'wx' });
  await rename(staged, join(state, directoryName)).catch(async (error) => {
    await rm(staged, { recursive: true, force: true });
    if (!['ENOTEMPTY', 'EEXIST'].includes(systemErrorCodeOf(error) ?? '')) throw error;
    throw new UpdateError('rehearsal-running', 'another rehearsal has just started');
  });
  try {
    await requireNoUpdate(location.mountedAt, context.engine);
    await removeHelperContainers(context.engine, location.name);
  } catch (error) {
    await rm(join(state, directoryName), { recursive: true, force: true });
    throw error;
  }
  return record;
}

/** Reads the record of a rehearsal; null if there is none. @throws UpdateError unexpected-file */
async function readRehearsalRecord(state: string): Promise<RehearsalRecord | null> {
  const path = join(state, directoryName, 'record.json');
  const text = await readFile(path, 'utf8').catch(tolerateMissingFile);
  if (text === null) return null;
  const { data } = createJsonTextSchema(recordSchema).safeParse(text);
  if (data) return data;
  const advice = `Remove ${path}, then run {command} again.`;
  throw new UpdateError('unexpected-file', `${path} is not the record of a rehearsal`, { advice });
}

/**
 * Ends a rehearsal that is running or was killed, and removes everything that it created. Only logs a failure, so that
 * the update continues. Call this with the lock.
 */
export async function removePreviousRehearsal(
  { engine, log }: EngineContext,
  instance: FoundInstance,
): Promise<void> {
  const { name } = instance.location;
  try {
    const previous = await findRehearsal(engine, instance);
    if (previous === null) return;
    const { holder, ...rehearsal } = previous;
    if (holder === null) log.info('removing the remains of an earlier rehearsal');
    else {
      log.warn(
        `stopping the rehearsal in container ${holder.name}, because updates and rollbacks take precedence`,
      );
      await engine.stopContainers([holder.id]);
    }
    await removeRehearsal(engine, rehearsal);
    await removeHelperContainers(engine, name);
  } catch (error) {
    if (error instanceof CancelledError || error instanceof InterruptedError) throw error;
    log.warn(`an earlier rehearsal could not be removed completely: ${(error as Error).message}`);
  }
}

/** Finds a rehearsal that is running or was killed, and the running container of its updater. */
async function findRehearsal(
  engine: Engine,
  { own, paths, location: { mountedAt, name } }: FoundInstance,
): Promise<(RehearsalRemoval & { holder: Container | null }) | null> {
  const state = stateDirectoryOf(mountedAt);
  const record = await readRehearsalRecord(state);
  if (record === null) return null;
  const [found] = await engine.inspectContainers([record.containerId]);
  const isRunning = found !== undefined && found.id !== own.id && isUp(found);
  return { project: name, state, paths, record, holder: isRunning ? found : null };
}

interface RehearsalRemoval {
  project: string;
  /** State directory, as a path in this container. */
  state: string;
  paths: HostPaths;
  record: RehearsalRecord;
}

/**
 * Removes everything that a rehearsal created: containers and networks by their random label, the copies by the recorded
 * path, and the control helpers of the project. Keeps the record if the removal fails.
 * @throws UpdateError engine-unavailable, write-failed, unexpected-file, outside-mounts
 */
export async function removeRehearsal(
  engine: Engine,
  { project, state, paths, record: { token, copies } }: RehearsalRemoval,
): Promise<void> {
  // First: `suspend` resumes the containers of the instance.
  await removeControlHelpers(engine, project);
  await removeRehearsedObjects(engine, token);
  const copiesPath = paths.fromHost(copies);
  if (copiesPath === null)
    throw new UpdateError('outside-mounts', `the copies in ${copies} are not mounted into this container`);
  await requireRootOwnedPath(copiesPath);
  await removeCopies(copiesPath);
  // Fails if the directory still contains restore points.
  if (dirname(dirname(copiesPath)) === state) await rmdir(dirname(copiesPath)).catch(() => {});
  // Another rehearsal may have removed the same objects, and may have recorded itself since.
  const current = await readRehearsalRecord(state);
  if (current?.token === token) await rm(join(state, directoryName), { recursive: true, force: true });
}

/** Removes the directory of the copies. A release may have created paths in it that are too long for the command `rm`. */
export async function removeCopies(directory: string): Promise<void> {
  const location = { directory, isOutsideStateDirectory: true };
  await removeRestorePointDirectory(location).catch(async () => {
    for (const name of await readdir(directory))
      await removeTree(directory, Buffer.from(join(directory, name)));
    await removeRestorePointDirectory(location);
  });
}

export const listRehearsedContainers = (engine: Engine, token: string): Promise<ListedContainer[]> =>
  engine.listContainers({ label: [`${rehearsalLabel}=${token}`] });

/** Removes the containers of a rehearsal with their anonymous volumes, waits until they are gone, and removes its networks. */
export async function removeRehearsedObjects(engine: Engine, token: string): Promise<void> {
  const observe = async () => {
    const found = await listRehearsedContainers(engine, token);
    // Another client may be removing a container at the same time.
    await Promise.all(found.map(({ id }) => engine.removeContainer(id, { force: true }).catch(() => {})));
    return found;
  };
  const evaluate = (found: readonly unknown[], isLate: boolean) => {
    if (found.length > 0 && isLate)
      throw new UpdateError('engine-unavailable', 'the containers of the rehearsal could not be removed');
    return found.length === 0 || undefined;
  };
  const wait = { pause: 200, deadlineMs: removalTimeoutMs, signal: engine.aborted };
  await waitUntil(observe, evaluate, wait);
  for (const network of await listAllNetworks(engine))
    if (network.token === token) await removeNetwork(engine, network.id);
}
