import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ArchiveRefused, isFull, noRoom } from './archive-refused.ts';

/** By what an archive is known before it is here. */
export interface Announced {
  /** In bytes. */
  size: number;
  /** 64 hex digits. */
  sha256: string;
}

/** An archive that is here, or a part of it. */
export interface KeptArchive extends Announced {
  path: string;
  /** So many bytes of it are here, from its first on. */
  received: number;
  /** When the last of them came, in milliseconds since 1970. */
  changedAt: number;
  /** All of it is here, and is what was announced. */
  isWhole: boolean;
}

/** All that is known of an archive is in its file's name, so that a server that begins anew goes by the directory alone. */
const form = /^archive-([0-9a-f]{64})-(\d{1,10})\.(part|tar)$/;
const nameOf = ({ sha256, size }: Announced, kind: 'part' | 'tar') => `archive-${sha256}-${size}.${kind}`;

/** The directory in which the one archive lies that a server takes. What has another name in it is somebody else's. */
export class ArchiveFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** What came last; null where nothing did. A link of such a name is none. */
  async kept(): Promise<KeptArchive | null> {
    const kept: KeptArchive[] = [];
    for (const name of await this.#names()) {
      const [, sha256 = '', digits = '', kind] = form.exec(name) ?? [];
      const path = join(this.#directory, name);
      const status = await lstat(path).catch(() => null);
      const [size, isWhole] = [Number(digits), kind === 'tar'];
      if (!status?.isFile() || status.size > size || (isWhole && status.size !== size)) continue;
      kept.push({ sha256, size, path, isWhole, received: status.size, changedAt: status.mtimeMs });
    }
    return kept.toSorted((a, b) => b.changedAt - a.changedAt)[0] ?? null;
  }

  /** Removes what is here of another one. @throws ArchiveRefused where there is no room for it */
  async begin(announced: Announced): Promise<KeptArchive> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await this.removeAll();
    await this.expectRoom(announced.size);
    const path = join(this.#directory, nameOf(announced, 'part'));
    // Nothing is followed, and nothing that is there is written to.
    const handle = await open(path, 'wx', 0o600);
    await handle.close();
    return { ...announced, path, received: 0, changedAt: Date.now(), isWhole: false };
  }

  /** @throws ArchiveRefused */
  async expectRoom(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.#directory);
    if (bavail * bsize < bytes) throw noRoom(this.#directory, bytes, bavail * bsize);
  }

  /**
   * Writes what comes behind what is here, as it comes: what was written when a line breaks stays. It is on the disk when this
   * resolves or rejects. @throws ArchiveRefused where it is more than was announced, or the disk is full; what the body throws
   */
  async append(kept: KeptArchive, body: AsyncIterable<Uint8Array>): Promise<KeptArchive> {
    let { received } = kept;
    const handle = await open(kept.path, constants.O_WRONLY | constants.O_NOFOLLOW);
    try {
      try {
        for await (const chunk of body) {
          if (received + chunk.length > kept.size) throw tooMuch(kept);
          await writeAll(handle, chunk, received);
          received += chunk.length;
        }
      } finally {
        await handle.datasync();
      }
    } catch (error) {
      throw isFull(error) ? noRoom(this.#directory, kept.size - received, null) : error;
    } finally {
      await handle.close();
    }
    return { ...kept, received, changedAt: Date.now() };
  }

  /** From here on it is whole. */
  async complete(kept: KeptArchive): Promise<KeptArchive> {
    const path = join(this.#directory, nameOf(kept, 'tar'));
    await rename(kept.path, path);
    const directory = await open(dirname(path), 'r');
    await directory.sync().finally(() => directory.close());
    return { ...kept, path, isWhole: true };
  }

  /** Links of such a name, too, and not what they lead to. */
  async removeAll(): Promise<void> {
    for (const name of await this.#names()) await rm(join(this.#directory, name), { force: true });
  }

  async #names(): Promise<string[]> {
    const all = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return [];
    });
    return all.filter((name) => form.test(name));
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

const tooMuch = ({ size }: Announced): ArchiveRefused =>
  new ArchiveRefused('archive-refused', `more was sent than the ${size} bytes that were announced`);
