import { systemErrorCodeOf } from '../../core/files/file-system.ts';
import { exitCodes } from '../../core/progress/outcome.ts';
import { FeedError } from '../../feed/feed-error.ts';
import { CommandFailedError } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';

/**
 * Creates the error for an update of the client that is not allowed.
 * @param next - recommended action
 */
export const createUpdateRefusedError = (message: string, next: string): CommandFailedError =>
  new CommandFailedError(exitCodes.refused, `${message}\nNext: ${next}`);

/**
 * Creates the error for an update of the client that failed before the file was changed.
 * @param next - recommended action
 */
export const createUpdateFailedError = (message: string, next: string): CommandFailedError =>
  new CommandFailedError(exitCodes.failed, `Nothing was changed: ${message}\nNext: ${next}`);

/** Recommends an action after a failed feed request or download. */
export function downloadAdviceOf(error: unknown): string {
  const { feed } = getProductNames();
  const wait = error instanceof FeedError ? error.wait : null;
  if (wait === null)
    return `check that this machine can reach the address, then run the update again. If the address requires a login, add credentials to ${feed}, as in https://NAME:TOKEN@….`;
  return `run the update again in ${Math.ceil(wait / 60_000)} min, or add credentials to ${feed}, as in https://NAME:TOKEN@….`;
}

export function explainFileSystemError(error: unknown, directory: string): [why: string, next: string] {
  switch (systemErrorCodeOf(error)) {
    case 'EACCES':
    case 'EPERM':
      return ['permission denied', `run the command as the owner of ${directory}, or with sudo.`];
    case 'EROFS':
      return ['the file system is read-only', `remount ${directory} read-write, then run the update again.`];
    case 'ENOSPC':
      return ['the disk is full', `free some space in ${directory}, then run the update again.`];
    default: {
      const why = error instanceof Error ? error.message : String(error);
      return [why, `check that ${directory} is writable, then run the update again.`];
    }
  }
}
