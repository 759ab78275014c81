import { UpdateError } from '../../core/errors/update-error.ts';
import { tarBlockSize } from '../../core/files/tar-header.ts';
import type { Engine } from '../cli/engine.ts';
import { findEngineError } from '../http/engine-error.ts';

/** Advice for engines whose archive calls fail, such as versions 29.5.1 and 29.7.0. */
const mendArchives =
  'This engine cannot copy files to or from containers (docker cp fails). Update the engine, then run {command} again.';

/** Rethrows an archive call's error. If the engine rejected the call, adds advice to update the engine. */
export function rethrowWithArchiveAdvice(error: unknown): never {
  const cause = findEngineError(error);
  if (!(error instanceof UpdateError) || cause?.status == null || cause.code === 'refused-by-proxy')
    throw error;
  throw new UpdateError(error.code, error.message, { advice: mendArchives, cause });
}

/**
 * Maximum number of bytes read in addition to the content, for headers and padding. This limit stops the transfer of a
 * directory or of a file that is too big.
 */
const besides = 16 * tarBlockSize;

export interface ContainerFile {
  mode: number;
  uid: number;
  gid: number;
  /** Time of the last change, in seconds since 1970. */
  modified: number;
  content: Buffer;
}

export type UnreadableFileReason = 'missing' | 'too-big' | 'not-a-file';

/**
 * Reads a file of a running or stopped container. Does not follow symbolic links.
 * @throws UpdateError engine-unavailable
 */
export async function readContainerFile(
  engine: Engine,
  id: string,
  path: string,
  maxBytes: number,
): Promise<ContainerFile | UnreadableFileReason> {
  const archive = await readArchive(engine, id, path, maxBytes);
  return archive === null ? 'missing' : parseFirstFile(archive, maxBytes);
}

/**
 * Checks whether a directory of a running or stopped container has entries.
 * @throws UpdateError engine-unavailable
 */
export async function hasDirectoryEntries(engine: Engine, id: string, path: string): Promise<boolean> {
  const archive = (await readArchive(engine, id, path, 0))?.toString('latin1') ?? '';
  // The first header is the directory's own. Headers of types x and L are not counted, because they only precede an
  // entry's header.
  const headers = archive.match(/.{156}[^xL].{100}ustar.{250}/gs) ?? [];
  return headers.length > 1 || archive.length >= besides;
}

/** Reads the start of the engine's tar archive of a path. Returns null if the path does not exist. */
async function readArchive(engine: Engine, id: string, path: string, bytes: number): Promise<Buffer | null> {
  const limit = bytes + besides;
  const options = { params: { id, file: path }, query: { path }, limit, cut: true };
  const { status, body } = await engine.request('readArchive', options).catch(rethrowWithArchiveAdvice);
  return status === 404 ? null : body;
}

/** Returns the archive's first entry if it is a regular file, otherwise the reason why it cannot be read. */
function parseFirstFile(archive: Buffer, maxBytes: number): ContainerFile | UnreadableFileReason {
  let extended: Record<string, string> = {};
  for (let at = 0; at + tarBlockSize <= archive.length; ) {
    const field = (from: number, length: number) =>
      archive
        .toString('latin1', at + from, at + from + length)
        .replace(/\0.*$/s, '')
        .trim();
    const size = Number(extended.size ?? Number.parseInt(field(124, 12), 8));
    const content = archive.subarray(at + tarBlockSize, at + tarBlockSize + size);
    const kind = field(156, 1) || '0';
    if (!'0xL'.includes(kind) || Number.isNaN(size)) return 'not-a-file';
    if (content.length < size) return 'too-big';
    if (kind === '0') {
      return size > maxBytes
        ? 'too-big'
        : {
            mode: Number.parseInt(field(100, 8), 8) & 0o7777,
            uid: Number(extended.uid ?? Number.parseInt(field(108, 8), 8)),
            gid: Number(extended.gid ?? Number.parseInt(field(116, 8), 8)),
            modified: Number.parseInt(field(136, 12), 8),
            content,
          };
    }
    // Read only the size and the owner from an extended header: the name is known.
    if (kind === 'x') extended = records(content.toString());
    at += tarBlockSize + Math.ceil(size / tarBlockSize) * tarBlockSize;
  }
  return 'not-a-file';
}

const records = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^\d+ ([^=\n]+)=(.*)$/gm)].map(([, key, value]) => [key, value]));
