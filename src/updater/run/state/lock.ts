import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isOnSmb } from '../../../core/files/attributes.ts';
import { chownLikeParentDirectory, systemErrorCodeOf } from '../../../core/files/file-system.ts';
import { stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import { createJsonTextSchema } from '../../../core/text/json-text.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { type Container, isUp } from '../../../engine/objects/container.ts';
import type { Log } from '../log/run-log.ts';
import { openStateDirectory, stateDirectoryOf } from './state-directory.ts';

export type LinkFunction = typeof link;

interface LockDependencies {
  engine: Engine;
  log: Log;
  /** Creates a hard link; by default, `link` of node:fs/promises. */
  link?: LinkFunction;
}

export interface Lock {
  /** Path of the state directory inside the container. */
  state: string;
  /** Whether the lock was taken over from a previous run that was killed. */
  takenOver: boolean;
  /** Recreates the state directory and the lock if they were removed. */
  restore: () => Promise<void>;
  /** Never removes a lock of another container. */
  release: () => Promise<void>;
}

const holderSchema = z.object({ containerId: z.string(), name: z.string(), since: z.string() });
export type LockHolder = z.infer<typeof holderSchema>;

/**
 * Takes the lock, which allows one run per compose directory. If the container that holds the lock is no longer
 * running, takes over the lock.
 * @param directory - compose directory, as a path inside the container
 * @throws UpdateError update-running, rights-lost, read-only, unexpected-file, not-a-file, write-failed
 */
export async function takeLock(
  dataContext: LockDependencies,
  own: Container,
  directory: string,
): Promise<Lock> {
  const { engine, log } = dataContext;
  const state = await openStateDirectory(directory);
  const lock = join(state, 'lock');
  const mine = join(state, `lock.${own.id.slice(0, 12)}`);
  const holder: LockHolder = { containerId: own.id, name: own.name, since: new Date().toISOString() };
  const text = `${JSON.stringify(holder)}\n`;
  const failed = (cause: Error) => {
    throw new UpdateError('write-failed', `the lock cannot be written: ${cause.message}`, { cause });
  };
  let takenOver = false;
  try {
    await rm(mine, { force: true }).catch(failed);
    await writeFile(mine, text, { mode: 0o600, flag: 'wx' }).catch(failed);
    await chownLikeParentDirectory(mine);
    for (let attempt = 0; attempt < 10; attempt++) {
      const taken = await createLock(lock, mine, text, dataContext.link).catch(failed);
      if (taken) {
        const release = async () => {
          if ((await readFile(lock, 'utf8').catch(() => null)) === text) await rm(lock, { force: true });
        };
        await removeEntriesOfKilledUpdaters(engine, own, state, /^lock\.(?:stale\.)?([0-9a-f]{12})$/).catch(
          async (error) => {
            await release();
            throw error;
          },
        );
        const restore = async () => {
          await openStateDirectory(directory);
          await writeFile(lock, text, { mode: 0o600, flag: 'wx' }).catch(() => {});
          await chownLikeParentDirectory(lock).catch(() => {});
        };
        if (await isOnSmb(state))
          log.warn(
            `${directory} is on an SMB share, which does not store owners and modes; anyone who can read that directory can also read the files in ${stateDirectoryName}`,
          );
        return { state, takenOver, restore, release };
      }
      takenOver = (await removeStaleLock(dataContext, lock, own)) || takenOver;
    }
  } finally {
    await rm(mine, { force: true });
  }
  throw new UpdateError('update-running', 'another update is starting in this directory');
}

/** Error codes of `link` on file systems without hard links, such as some SMB shares. */
const noHardLinkCodes = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'];

/** Creates the lock as a hard link to `mine`, so that its text is always complete. Returns false if a lock exists. */
async function createLock(
  lock: string,
  mine: string,
  text: string,
  makeLink: LinkFunction = link,
): Promise<boolean> {
  try {
    await makeLink(mine, lock);
    return true;
  } catch (error) {
    if (systemErrorCodeOf(error) === 'EEXIST') return false;
    if (!noHardLinkCodes.includes(systemErrorCodeOf(error) ?? '')) throw error;
  }
  try {
    // Without support for hard links, the text is written after the file is created. `readCompleteLock` waits for it.
    await writeFile(lock, text, { mode: 0o600, flag: 'wx' });
    await chownLikeParentDirectory(lock);
  } catch (error) {
    if (systemErrorCodeOf(error) === 'EEXIST') return false;
    // A full disk leaves an empty or incomplete lock, which would block other updaters.
    const begun = await readFile(lock, 'utf8').catch(() => null);
    if (begun !== null && text.startsWith(begun)) await rm(lock, { force: true });
    throw error;
  }
  // If writing took over a second, another updater may have replaced the lock as stale.
  return (await readFile(lock, 'utf8').catch(() => null)) === text;
}

/** Waits up to a second until the lock's text is complete. Returns null if there is no lock. */
function readCompleteLock(lock: string): Promise<string | null> {
  const evaluate = (text: string | null, isLate: boolean) =>
    isLate || text === null || text.endsWith('\n') ? text : undefined;
  const wait = { pause: 100, deadlineMs: 1_000 };
  return waitUntil(() => readFile(lock, 'utf8').catch(() => null), evaluate, wait);
}

/**
 * Removes temporary files and directories of killed updaters. Keeps those of running containers.
 * @param pattern - matches their names; the first group is the start of the container ID
 */
export async function removeEntriesOfKilledUpdaters(
  engine: Engine,
  own: Container,
  state: string,
  pattern: RegExp,
): Promise<void> {
  for (const name of await readdir(state)) {
    const id = pattern.exec(name)?.[1];
    if (id === undefined || own.id.startsWith(id)) continue;
    const [container] = await engine.inspectContainers([id]);
    if (!container || !isUp(container)) await rm(join(state, name), { recursive: true, force: true });
  }
}

/**
 * Returns whether the lock was stale.
 * @throws UpdateError update-running if the holder is running
 */
async function removeStaleLock(
  { engine, log, link }: LockDependencies,
  lock: string,
  own: Container,
): Promise<boolean> {
  const text = await readCompleteLock(lock);
  if (text === null) return false;
  const holder = readHolder(text);
  if (holder && holder.containerId !== own.id) {
    const [container] = await engine.inspectContainers([holder.containerId]);
    if (container && isUp(container)) {
      throw new UpdateError(
        'update-running',
        `another update has been running in container ${container.name} since ${holder.since}`,
        {
          advice: `Wait until the other update finishes. To follow it, run docker logs -f ${container.name}.`,
        },
      );
    }
    log.warn(
      `took over the lock that ${holder.name || holder.containerId.slice(0, 12)} had held since ${holder.since}, because that container is no longer running`,
    );
  }
  // Two updaters may find the same stale lock, and the slower one could remove the new lock of the faster one. So each
  // updater first renames the lock, and restores any lock that is not stale.
  const aside = `${lock}.stale.${own.id.slice(0, 12)}`;
  const moved = await rename(lock, aside).then(
    () => true,
    () => false,
  );
  if (!moved) return true;
  const found = await readFile(aside, 'utf8').catch(() => text);
  if (found !== text) await createLock(lock, aside, found, link).catch(() => {});
  await rm(aside, { force: true });
  return true;
}

/** Removes the lock that this container held when it was killed. */
export async function removeOwnLock(directory: string, own: Container): Promise<void> {
  const holder = await findLockHolder(directory);
  if (holder?.containerId === own.id) await rm(join(stateDirectoryOf(directory), 'lock'), { force: true });
}

/** Null if the lock is free. */
export async function findLockHolder(directory: string): Promise<LockHolder | null> {
  const text = await readFile(join(stateDirectoryOf(directory), 'lock'), 'utf8').catch(() => null);
  return text === null ? null : readHolder(text);
}

const readHolder = (text: string): LockHolder | null =>
  createJsonTextSchema(holderSchema).safeParse(text).data ?? null;

/** Returns the running container that holds the lock. Returns null if there is no lock, or its holder was killed. */
export async function findRunningLockHolder(engine: Engine, directory: string): Promise<LockHolder | null> {
  const holder = await findLockHolder(directory);
  if (holder === null) return null;
  const [container] = await engine.inspectContainers([holder.containerId]);
  return container && isUp(container) ? holder : null;
}
