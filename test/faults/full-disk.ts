import { mkdir, statfs } from 'node:fs/promises';
import { execa } from 'execa';

/** Free space of a file system; omitted values are unchanged. */
export interface Room {
  /** Rounded up to whole pages. Each file and each directory takes at least one page. */
  bytes?: number;
  /** Files, directories and links. */
  files?: number;
}

/**
 * A file system in memory with an exact amount of free space. Its size is changed while it is in use, and nothing is
 * written to fill it, so that the free space is exact at every moment.
 */
export class SmallDisk {
  readonly directory: string;
  readonly #size: number;

  private constructor(directory: string, size: number) {
    this.directory = directory;
    this.#size = size;
  }

  /** @param size in bytes, while there is room */
  static async mount(directory: string, size: number): Promise<SmallDisk> {
    await mkdir(directory, { recursive: true });
    await mount('-t', 'tmpfs', '-o', `mode=0755,${limits(size, plenty)}`, 'tmpfs', directory);
    return new SmallDisk(directory, size);
  }

  /** Limits the free space to exactly that amount from now on. */
  async leave({ bytes, files }: Room): Promise<void> {
    for (let tries = 1; ; tries++) {
      const used = await this.used();
      // A size of 0 would mean no limit.
      const wanted = used.bytes + Math.ceil((bytes ?? 0) / page) * page;
      const size = bytes === undefined ? this.#size : Math.max(wanted, page);
      try {
        await this.#limit(size, files === undefined ? plenty : used.files + files);
        return;
      } catch (error) {
        // More was written in the meantime: a disk cannot be smaller than its content.
        if (tries === 20) throw error;
      }
    }
  }

  /** Removes the limit. */
  async makeRoom(): Promise<void> {
    await this.#limit(this.#size, plenty);
  }

  async unmount(): Promise<void> {
    await execa('umount', ['--lazy', this.directory], { timeout: 10_000 });
  }

  async used(): Promise<{ bytes: number; files: number }> {
    const { bsize, blocks, bfree, files, ffree } = await statfs(this.directory);
    return { bytes: (blocks - bfree) * bsize, files: files - ffree };
  }

  async #limit(bytes: number, files: number): Promise<void> {
    await mount('-o', `remount,${limits(bytes, files)}`, this.directory);
  }
}

export const page = 4096;
const plenty = 1_000_000;
const limits = (bytes: number, files: number): string => `size=${bytes},nr_inodes=${files}`;

async function mount(...args: string[]): Promise<void> {
  await execa('mount', args, { timeout: 10_000, stdin: 'ignore' });
}
