import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { sumOfFile } from '../../provenance/file-sum.ts';
import { openArchive } from '../../provenance/release-archive.ts';
import { readReleaseFile } from '../../provenance/release-file.ts';
import { Failure } from '../command.ts';
import { interrupted, type Session } from '../connect.ts';
import { TransferLine } from '../self-update/transfer-line.ts';
import { cleanText } from '../text.ts';

/** A release in one file, as it says of itself: the server proves it. */
export interface ArchiveFile {
  path: string;
  name: string;
  /** In bytes. */
  size: number;
  version: string;
}

/** Reads its headers, so that what was cut or is something else is not sent at all. @throws Failure */
export async function readArchiveFile(path: string): Promise<ArchiveFile> {
  try {
    const archive = await openArchive(path);
    await archive.close();
    const { version } = readReleaseFile(archive.file);
    const { size } = await stat(path);
    return { path, name: cleanText(basename(path)), size, version: cleanText(version) };
  } catch (error) {
    const { message } = error as Error;
    const isUnread = 'syscall' in (error as Error);
    const why = isUnread ? `cannot be read: ${message}` : `is no archive of a release: ${message}`;
    throw new Failure(2, cleanText(`${path} ${why}`));
  }
}

/** The sum of all its bytes. @throws Failure where it was stopped */
export async function sumOf({ path, name, size }: ArchiveFile, session: Session): Promise<string> {
  const line = new TransferLine(session, `Reading ${name}`);
  const { signal } = session;
  try {
    return await sumOfFile(path, { signal, onBytes: (bytes) => line.progress(bytes, size) });
  } catch (error) {
    throw signal.aborted
      ? interrupted()
      : new Failure(2, cleanText(`${path} cannot be read: ${(error as Error).message}`));
  } finally {
    line.end();
  }
}
