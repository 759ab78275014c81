import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Asset } from '../../release/channel.ts';
import { copyAttributes } from './attributes.ts';
import { download, type Transfer } from './download.ts';
import { diskTrouble, failed } from './failure.ts';
import type { Place } from './place.ts';

/** What is fetched, and how it is known to be whole. */
export interface Wanted extends Omit<Transfer, 'take'> {
  asset: Asset;
  /** SHA-256 in lower-case hex. */
  sum: string;
}

/**
 * Downloads a program to its temporary place, with owner, mode and attributes of the file that it is to replace, and has it on the
 * disk. Nobody can run it before its sum was found right.
 * @throws Failure, failed; the reason of the signal
 */
export async function fetchProgram(place: Place, wanted: Wanted): Promise<void> {
  const { asset, sum } = wanted;
  const hash = createHash('sha256');
  const onDisk = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const [why, next] = diskTrouble(error, place.directory);
      throw failed(`Nothing was changed: ${asset.name} cannot be written: ${why}.`, next);
    }
  };
  const file = await onDisk(() => open(place.temporary, 'wx', 0o600));
  try {
    await download({
      ...wanted,
      take: async (bytes) => {
        hash.update(bytes);
        await onDisk(() => writeAll(file, bytes));
      },
    });
    if (hash.digest('hex') !== sum)
      throw failed(
        `Nothing was changed: what came as ${asset.name} is not what SHA256SUMS of the release says.`,
        'run it again; where it happens again, somebody has tampered with it: tell its publisher.',
      );
    await onDisk(() => give(file, place));
    await copyAttributes(place);
    await onDisk(() => file.sync());
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength; )
    at += (await file.write(bytes, at, bytes.byteLength - at)).bytesWritten;
}

/** The mode comes after the owner, as a change of the owner clears the set-user-id bits. */
async function give(file: FileHandle, { owner }: Place): Promise<void> {
  const { uid, gid } = await file.stat();
  if (uid !== owner.uid || gid !== owner.gid) await file.chown(owner.uid, owner.gid);
  await file.chmod(owner.mode);
}
