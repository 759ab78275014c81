import { systemCode } from '../../files/file-system.ts';
import { exitCodes } from '../../progress/outcome.ts';
import { Failure, stoppedCode } from '../command.ts';

/** What of it stands where, and what to do: two sentences. */
const failureOf =
  (outcome: 'refused' | 'failed' | 'broken', begin = '') =>
  (message: string, next: string): Failure =>
    new Failure(exitCodes[outcome], `${begin}${message}\nNext: ${next}`);

/** A rule forbids it; nothing was touched. */
export const refused = failureOf('refused');
/** It was tried, and taken back. */
export const failed = failureOf('failed');
/** It was tried, and the old file has never left its place. */
export const unchanged = failureOf('failed', 'Nothing was changed: ');
/** What is in the file's place does not work, or is not known to: a person has to look. */
export const broken = failureOf('broken');
/** Somebody has stopped it, and the old file is in its place. */
export const cancelled = (state: string): Failure => new Failure(stoppedCode, `Cancelled. ${state}.`);

/** Throws an error of the disk as the reason why something could not be done in a directory: `FILE cannot be locked`. */
export const unchangedBy =
  (what: string, directory: string) =>
  (error: unknown): never => {
    const [why, next] = diskTrouble(error, directory);
    throw unchanged(`${what}: ${why}.`, next);
  };

/** An error of the disk as half a sentence and what to do about it. */
export function diskTrouble(error: unknown, directory: string): [why: string, next: string] {
  const known = diskTroubles[systemCode(error) ?? ''];
  if (known) return [known[0], known[1].replace('DIR', directory)];
  const why = error instanceof Error ? error.message : String(error);
  return [why, `see that ${directory} can be written, then run it again.`];
}

const noRoom = 'free some space where DIR is, then run it again.';
const denied = 'run it as the owner of DIR, or as root';
const diskTroubles: Record<string, readonly [why: string, next: string]> = {
  ENOSPC: ['the disk is full', noRoom],
  EDQUOT: ['the disk quota is used up', noRoom],
  EFBIG: ['the file is larger than may be written here', 'raise the limit (ulimit -f), then run it again.'],
  EROFS: ['the file system is read-only', 'mount DIR writable, then run it again.'],
  EACCES: ['permission was denied', `${denied}.`],
  EPERM: ['it is not permitted', `${denied}; lsattr DIR shows an i or an a where a file is immutable.`],
  EBUSY: ['it is a mount of its own', 'replace the file on the host that is mounted there.'],
  ETXTBSY: ['something still writes to it', 'run it again.'],
};
