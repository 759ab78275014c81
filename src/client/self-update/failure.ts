import { exitCodes } from '../../progress/outcome.ts';
import { Failure } from '../command.ts';

/** What of it stands where, and what to do: two sentences. */
const failureOf =
  (outcome: 'usage' | 'refused' | 'failed' | 'broken') =>
  (message: string, next: string): Failure =>
    new Failure(exitCodes[outcome], `${message}\nNext: ${next}`);

/** A rule forbids it; nothing was touched. */
export const refused = failureOf('refused');
/** It was tried; the old file is in its place. */
export const failed = failureOf('failed');
/** What is in the file's place does not work, or is not known to: a person has to look. */
export const broken = failureOf('broken');

/** An error of the disk as half a sentence and what to do about it. */
export function diskTrouble(error: unknown, directory: string): [why: string, next: string] {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = diskTroubles[code];
  if (known) return [known[0], known[1].replace('DIR', directory)];
  const why = error instanceof Error ? error.message : String(error);
  return [why, `see that ${directory} can be written, then run it again.`];
}

const noRoom = 'free some space where DIR is, then run it again.';
const denied = 'run it as the owner of DIR, or as root.';
const diskTroubles: Record<string, readonly [why: string, next: string]> = {
  ENOSPC: ['the disk is full', noRoom],
  EDQUOT: ['the disk quota is used up', noRoom],
  EFBIG: ['the file is larger than may be written here', 'raise the limit (ulimit -f), then run it again.'],
  EROFS: ['the file system is read-only', 'mount DIR writable, then run it again.'],
  EACCES: ['permission was denied', denied],
  EPERM: [
    'it is not permitted',
    `${denied.slice(0, -1)}; lsattr DIR shows an i or an a where a file is immutable.`,
  ],
  EBUSY: ['it is a mount of its own', 'replace the file on the host that is mounted there.'],
  ETXTBSY: ['something still writes to it', 'run it again.'],
};
