import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { access, constants, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isSea } from 'node:sea';
import { promisify } from 'node:util';
import { quoteForShell } from '../../core/errors/advice.ts';
import { diskFileSystem, type FilePermissions, writeTemporaryFile } from '../../core/files/file-system.ts';
import { CommandFailedError } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { escapeControlCharacters } from '../output/text.ts';
import {
  createUpdateFailedError,
  createUpdateRefusedError,
  explainFileSystemError,
} from './client-update-errors.ts';

/** The file of the running client. */
interface ClientFile {
  /** Path with symbolic links resolved. */
  path: string;
  /** Name of the file in a release. */
  asset: string;
  /** Program that runs the file: Node for a script; null for an executable. */
  runtime: string | null;
  owner: FilePermissions;
  /** Identity of the file. It changes if another process replaces or edits the file. */
  identity: string;
}

/**
 * Finds the client's file and checks that it may be replaced. Changes nothing.
 * @throws CommandFailedError with outcome `refused` if npm installed the client, or if this user may not replace the
 * file
 */
export async function requireReplaceableClientFile(): Promise<ClientFile> {
  const { name, asset } = getProductNames();
  const given = isSea() ? process.execPath : (process.argv[1] ?? '');
  const path = await realpath(given).catch((error) => {
    throw createUpdateRefusedError(
      `Cannot read the client file: ${error.message}.`,
      `download ${name} again.`,
    );
  });
  const npm = findNpmUpdateCommand(path);
  if (npm !== null) throw createUpdateRefusedError(`${path} was installed with npm.`, npm);
  const owner = await diskFileSystem.readOwner(path);
  await requireWritableFile(path, owner);
  const machine = process.arch === 'x64' ? 'amd64' : process.arch;
  return {
    path,
    asset: isSea() ? `${name}-${process.platform}-${machine}` : asset,
    runtime: isSea() ? null : process.execPath,
    owner,
    identity: await identityAt(path),
  };
}

/**
 * Returns the npm command that updates the package with this file. Returns null if the file is not in an npm package.
 */
export function findNpmUpdateCommand(path: string): string | null {
  const [, around = '', npmPackage] =
    /^(.*?)\/node_modules\/(?:.*\/node_modules\/)?((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (npmPackage === undefined) return null;
  const location = around.endsWith('/lib') ? '--global' : `--prefix ${quoteForShell(around)}`;
  return `npm install ${location} ${npmPackage}@latest`;
}

async function requireWritableFile(path: string, { uid }: FilePermissions): Promise<void> {
  const own = process.geteuid?.() ?? uid;
  if (own !== 0 && own !== uid)
    throw createUpdateRefusedError(
      `${path} belongs to another user (uid ${uid}).`,
      'run the command as that user, or with sudo.',
    );
  const directory = dirname(path);
  await access(directory, constants.W_OK | constants.X_OK).catch((error) => {
    const [why, next] = explainFileSystemError(error, directory);
    throw createUpdateRefusedError(`Cannot replace ${path}: ${why}.`, next);
  });
}

/**
 * Runs the new file with `--version` to check that it works on this machine. Then replaces the client's file with one
 * atomic rename, so that the file is never incomplete.
 * @throws CommandFailedError with outcome `failed`, or the abort reason of the signal
 */
export async function replaceClientFile(
  file: ClientFile,
  { bytes, version }: { bytes: Buffer; version: string },
  signal: AbortSignal,
): Promise<void> {
  const { path, owner } = file;
  const directory = dirname(path);
  const temporary = join(directory, `.${getProductNames().name}-update-${randomUUID()}-${basename(path)}`);
  try {
    await writeTemporaryFile(diskFileSystem, temporary, bytes, { owner, mode: owner.mode });
    await requirePrintedVersion(file, { temporary, version }, signal);
    if ((await identityAt(path)) !== file.identity)
      throw createUpdateFailedError(
        `another process has replaced ${path}.`,
        'check the new version with --version, and update again if necessary.',
      );
    await diskFileSystem.rename(temporary, path);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandFailedError) throw error;
    const [why, next] = explainFileSystemError(error, directory);
    throw createUpdateFailedError(`cannot replace ${path}: ${why}.`, next);
  } finally {
    await diskFileSystem.remove(temporary).catch(() => {});
  }
  // Ignore errors: without the sync, a power failure can at worst restore the old file, which is complete.
  await diskFileSystem.sync(directory).catch(() => {});
}

async function requirePrintedVersion(
  { runtime, asset }: ClientFile,
  { temporary, version }: { temporary: string; version: string },
  signal: AbortSignal,
): Promise<void> {
  const [program = '', ...args] = [...(runtime === null ? [] : [runtime]), temporary, '--version'];
  const options = { timeout: 10_000, killSignal: 'SIGKILL', signal } as const;
  const { stdout } = await promisify(execFile)(program, args, options).catch(({ signal: killedBy, code }) => {
    throw doesNotRun(`--version exited with ${killedBy ?? code}`);
  });
  if (!stdout.split(/\s/).includes(version))
    throw doesNotRun(`--version printed "${escapeControlCharacters(stdout.trim().slice(0, 100))}"`);

  function doesNotRun(why: string): CommandFailedError {
    return createUpdateFailedError(
      `${asset} from ${version} does not run on this machine: ${why}.`,
      'check that the release supports this machine, or report the problem to its publisher.',
    );
  }
}

async function identityAt(path: string): Promise<string> {
  const { dev, ino, size, mtimeMs } = await stat(path);
  return [dev, ino, size, mtimeMs].join(':');
}
