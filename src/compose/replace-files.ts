import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { UpdateError } from '../progress/update-error.ts';
import type { TextFile } from './text-file.ts';

export interface Replacement {
  path: string;
  /** The text it must have now; null where it must not exist. */
  before: string | null;
  after: string;
}

/** Puts every replaced file back. Gives the paths that somebody changed since and that were left alone. */
export type PutBack = () => Promise<string[]>;

/**
 * Replaces files as one transaction: each by a temporary file beside it, with the owner and mode of the original, that
 * is on the disk before it takes the name. Backups are on the disk before the first replacement. When one fails, those
 * before it are put back. No backups are kept where `backup` is null. The `planned` files, replaced or not, must still
 * have the texts that the replacements were worked out from.
 * @throws UpdateError file-changed, write-failed
 */
export async function replaceFiles(
  replacements: readonly Replacement[],
  backup: string | null,
  planned: readonly TextFile[] = [],
): Promise<PutBack> {
  const targets = await Promise.all(replacements.map(locate));
  for (const { path, text } of planned) await expectText({ path, real: path }, text);
  for (const target of targets) await expectText(target, target.before);
  if (backup !== null) await keepBackups(targets, backup);
  const done: Target[] = [];
  const putBack = async () => {
    const changedSince: string[] = [];
    for (const target of done.splice(0).reverse()) {
      if (!(await hasText(target.real, target.after))) changedSince.push(target.path);
      else if (target.before === null) await rm(target.real);
      else await replaceOne(target.real, target.before, target.owner);
    }
    return changedSince;
  };
  try {
    for (const target of targets) {
      await expectText(target, target.before);
      await replaceOne(target.real, target.after, target.owner);
      done.push(target);
    }
  } catch (error) {
    await putBack();
    if (error instanceof UpdateError) throw error;
    throw new UpdateError('write-failed', `the files could not be written: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return putBack;
}

interface Owner {
  uid: number;
  gid: number;
  mode: number;
}

interface Target extends Replacement {
  /** Behind symbolic links: a linked file is written through to what it points at. */
  real: string;
  owner: Owner | null;
}

const newFileMode = 0o600;

async function locate(replacement: Replacement): Promise<Target> {
  if (replacement.before === null) return { ...replacement, real: replacement.path, owner: null };
  const real = await realpath(replacement.path).catch((cause) => {
    throw new UpdateError('file-changed', `${replacement.path} is gone`, { cause });
  });
  const { uid, gid, mode } = await lstat(real);
  return { ...replacement, real, owner: { uid, gid, mode: mode & 0o7777 } };
}

async function hasText(path: string, text: string | null): Promise<boolean> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? bytes === null : bytes?.equals(Buffer.from(text)) === true;
}

async function expectText(target: Pick<Target, 'path' | 'real'>, text: string | null): Promise<void> {
  if (await hasText(target.real, text)) return;
  throw new UpdateError('file-changed', `${target.path} was changed by somebody else during the update`);
}

async function keepBackups(targets: readonly Target[], directory: string): Promise<void> {
  const kept = targets.filter((target) => target.before !== null);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const names = new Set<string>();
    for (const { path, before, owner } of kept) {
      const name = names.has(basename(path)) ? `${names.size}-${basename(path)}` : basename(path);
      names.add(name);
      await writeDurably(join(directory, name), before ?? '', owner?.mode ?? newFileMode);
    }
    await syncDirectory(directory);
    await syncDirectory(dirname(directory));
  } catch (error) {
    throw new UpdateError('write-failed', `the files could not be backed up: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function replaceOne(path: string, text: string, owner: Owner | null): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.svc-updater-${randomBytes(4).toString('hex')}`);
  try {
    await writeDurably(temporary, text, owner?.mode ?? newFileMode, owner ?? undefined);
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeDurably(path: string, text: string, mode: number, owner?: Owner): Promise<void> {
  const file = await open(path, 'wx', newFileMode);
  try {
    await file.writeFile(text);
    const { uid, gid } = await file.stat();
    if (owner && (owner.uid !== uid || owner.gid !== gid)) await chown(path, owner.uid, owner.gid);
    // After the owner: changing that clears the set-user-id bits.
    await chmod(path, mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
