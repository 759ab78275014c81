import { type FileHandle, open } from 'node:fs/promises';
import {
  createTarHeader,
  tarBlockSize,
  tarEntrySizeLimitBytes,
  tarPaddingSizeOf,
} from '../core/files/tar-header.ts';

/** Position of an entry's bytes in the archive. */
interface ArchiveEntry {
  offset: number;
  size: number;
}

/** Contents of the first two entries of a release archive. */
export interface SignedReleaseFile {
  /** Content of `release.json`. Its signature bundle is in `bundle`. */
  file: Buffer;
  bundle: string;
}

/** A release archive (docs/contract.md 3.22) that has not been verified. */
export interface ReleaseArchive extends SignedReleaseFile {
  /** Entries keyed by name, such as `files/compose.yaml` or `blobs/sha256/…`, in the order of the archive. */
  entries: ReadonlyMap<string, ArchiveEntry>;
  /** Reads an entry. @throws Error if the entry is missing or larger than `most` bytes */
  read(name: string, most: number): Promise<Buffer>;
  /** Reads an entry in chunks; yields nothing if the entry is missing. */
  stream(name: string): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

export const blobEntryNameOf = (digest: string): string => `blobs/${digest.replace(':', '/')}`;

/** Maximum size in bytes of `release.json` and of its signature bundle; no valid file is larger. */
const mostOfHead = 256 * 1024;
const mostEntries = 2_000;
const chunkBytes = 1024 * 1024;

/** Names of the allowed entries, in the required order. Entries that match the same pattern must be sorted by name. */
const order = [
  /^release\.json$/,
  /^release\.json\.sigstore\.json$/,
  /^files\/(?!\.)[\w.-]{1,90}$/,
  /^oci-layout$/,
  /^index\.json$/,
  /^blobs\/sha256\/[0-9a-f]{64}$/,
];

const kinds: Readonly<Record<string, string>> = {
  '1': 'a link',
  '2': 'a link',
  '3': 'a device',
  '4': 'a device',
  '5': 'a directory',
};

/** Opens a release archive and reads the headers of all entries. @throws Error if the archive is not valid */
export async function openReleaseArchive(path: string): Promise<ReleaseArchive> {
  const handle = await open(path, 'r');
  try {
    const status = await handle.stat();
    if (!status.isFile()) throw new Error('it is not a regular file');
    const { size } = status;
    if (size >= tarEntrySizeLimitBytes) throw new Error('it is larger than 8 GiB');
    const entries = new Map<string, ArchiveEntry>();
    let last: EntryPosition = { section: -1, name: '' };
    for (let at = 0; ; ) {
      const header = await headerAt(handle, at, size);
      if (header === null) {
        if (at + 2 * tarBlockSize !== size) throw new Error('it has data after the end of the archive');
        break;
      }
      last = requireNextPosition(last, header.name);
      if (entries.size === mostEntries) throw new Error(`it has more than ${mostEntries} entries`);
      const entry = { offset: at + tarBlockSize, size: header.size };
      entries.set(header.name, entry);
      at = await endOf(handle, entry, size);
    }
    const found = await headIn(handle, entries);
    if (found === null) throw new Error('release.json or its signature bundle is missing');
    return { ...found, entries, ...createEntryReaders(handle, entries), close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads the header at an offset. Returns null at the end of the archive. */
async function headerAt(
  handle: FileHandle,
  at: number,
  end: number,
): Promise<{ name: string; size: number } | null> {
  if (at + tarBlockSize > end) throw new Error('it is truncated');
  const block = await bytesAt(handle, at, tarBlockSize);
  if (isZero(block)) {
    if (at + 2 * tarBlockSize > end || !isZero(await bytesAt(handle, at + tarBlockSize, tarBlockSize)))
      throw new Error('it is truncated');
    return null;
  }
  const name = block.toString('latin1', 0, 100).replace(/\0.*$/s, '');
  const shown = JSON.stringify(name);
  const kind = kinds[String.fromCharCode(block[156] ?? 0)];
  if (kind !== undefined) throw new Error(`entry ${shown} is ${kind}`);
  const digits = block.toString('latin1', 124, 135);
  if (!/^[0-7]{11}$/.test(digits)) throw new Error(`entry ${shown} has an invalid size`);
  const size = Number.parseInt(digits, 8);
  if (!block.equals(createTarHeader(name, size)))
    throw new Error(`entry ${shown} is not allowed in a release archive`);
  return { name, size };
}

interface EntryPosition {
  section: number;
  name: string;
}

/** Returns the position of an entry in the required order. Positions must increase, so no entry can occur twice. */
function requireNextPosition(last: EntryPosition, name: string): EntryPosition {
  const section = order.findIndex((form) => form.test(name));
  const shown = JSON.stringify(name);
  if (section < 0) throw new Error(`entry ${shown} is not allowed in a release archive`);
  if (section < last.section || (section === last.section && name <= last.name))
    throw new Error(`entry ${shown} is duplicated or out of order`);
  return { section, name };
}

/** Returns the offset of the header after an entry. The padding before this header must be zeros. */
async function endOf(handle: FileHandle, { offset, size }: ArchiveEntry, end: number): Promise<number> {
  const padding = tarPaddingSizeOf(size);
  if (offset + size + padding > end) throw new Error('it is truncated');
  if (padding > 0 && !isZero(await bytesAt(handle, offset + size, padding)))
    throw new Error('it has data between two entries');
  return offset + size + padding;
}

async function headIn(
  handle: FileHandle,
  entries: ReadonlyMap<string, ArchiveEntry>,
): Promise<SignedReleaseFile | null> {
  const { read } = createEntryReaders(handle, entries);
  if (!entries.has('release.json') || !entries.has('release.json.sigstore.json')) return null;
  const file = await read('release.json', mostOfHead);
  const bundle = await read('release.json.sigstore.json', mostOfHead);
  return { file, bundle: bundle.toString() };
}

function createEntryReaders(
  handle: FileHandle,
  entries: ReadonlyMap<string, ArchiveEntry>,
): Pick<ReleaseArchive, 'read' | 'stream'> {
  return {
    async read(name, most) {
      const entry = entries.get(name);
      if (entry === undefined) throw new Error(`${name} is missing`);
      if (entry.size > most) throw new Error(`${name} is larger than ${most / 1024} KiB`);
      return bytesAt(handle, entry.offset, entry.size);
    },
    async *stream(name) {
      const { offset = 0, size = 0 } = entries.get(name) ?? {};
      for (let at = 0; at < size; at += chunkBytes)
        yield await bytesAt(handle, offset + at, Math.min(chunkBytes, size - at));
    },
  };
}

async function bytesAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) throw new Error('it is truncated');
    filled += bytesRead;
  }
  return buffer;
}

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0);
