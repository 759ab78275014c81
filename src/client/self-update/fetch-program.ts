import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { download, type Transfer } from './download.ts';
import { unchanged, unchangedBy } from './failure.ts';
import type { Place } from './place.ts';
import { runToEnd } from './run-to-end.ts';

/**
 * Downloads a program to its temporary place, with owner, mode and attributes of the file that it is to replace, and has it on the
 * disk. Nobody can run it before its SHA-256 (lower-case hex) was found right. Resolves with its size in bytes.
 * @throws Failure, failed; the reason of the signal
 */
export async function fetchProgram(place: Place, transfer: Transfer, sum: string): Promise<number> {
  const { name } = transfer.asset;
  const hash = createHash('sha256');
  const onDisk = <T>(work: Promise<T>): Promise<T> =>
    work.catch(unchangedBy(`${name} cannot be written`, place.directory));
  let size = 0;
  const file = await onDisk(open(place.temporary, 'wx', 0o600));
  try {
    for await (const bytes of download(transfer)) {
      hash.update(bytes);
      size += bytes.byteLength;
      await onDisk(file.writeFile(bytes));
    }
    if (hash.digest('hex') !== sum)
      throw unchanged(
        `what came as ${name} has not the sum that its release gives.`,
        'run it again; where it happens again, somebody has tampered with it: tell its publisher.',
      );
    await onDisk(give(file, place));
    await copyAttributes(place);
    await onDisk(file.sync());
    return size;
  } finally {
    await file.close();
  }
}

/** The mode comes after the owner, as a change of the owner clears the set-user-id bits. */
async function give(file: FileHandle, { owner }: Place): Promise<void> {
  const { uid, gid } = await file.stat();
  if (uid !== owner.uid || gid !== owner.gid) await file.chown(owner.uid, owner.gid);
  await file.chmod(owner.mode);
}

/**
 * Gives the new file what else than owner and mode the old one has: an access control list, capabilities, extended
 * attributes. Node cannot, and cp of GNU can, so that where there is no such cp they are lost (docs/contract.md 9.3).
 */
async function copyAttributes({ file, temporary }: Place): Promise<void> {
  const { trouble } = await runToEnd([
    'cp',
    '--attributes-only',
    '--preserve=mode,xattr',
    '--',
    file,
    temporary,
  ]);
  if (trouble === null || !(await runToEnd(['cp', '--version'])).output.includes('coreutils')) return;
  throw unchanged(
    `${file} has an access control list, capabilities or other attributes, which the new file could not be given.`,
    `run it as root: sudo. What it has: getcap ${file}; getfacl ${file}; getfattr -d -m - ${file}`,
  );
}
