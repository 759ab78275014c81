// Removes surplus files from a tree, and copies the contents of the other files from another tree. rsync does not do
// this work, because it would hold all names of a directory in memory and need several passes over large files. rsync
// 3.2 also silently leaves old blocks where the source file has a hole.

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import { isDiskFullError } from '../../../core/files/file-system.ts';
import { removeTree } from '../../../core/files/remove-tree.ts';
import { readIfExists, walkTree } from '../../../core/files/walk.ts';
import type { RequestedMount } from './helper-request.ts';

const forReading = constants.O_RDONLY | constants.O_NOFOLLOW;
const forWriting = constants.O_WRONLY | constants.O_NOFOLLOW;
const chunkBytes = 1 << 18;
/**
 * Size of a compared block in bytes. Databases change few blocks, and only changed blocks are written. Holes in both
 * files therefore stay holes.
 */
const blockBytes = 4096;
const pauseEveryMs = 50;

/** Maximum path length in bytes. Longer paths are removed here, because rsync cannot delete them. */
const longestKept = 3_000;

/**
 * Prepares the second tree for rsync, which then has no files to remove and no contents to compare. Memory use is
 * limited. An interrupted call can be repeated. No other process may write to either tree.
 * @param isInPlace - whether to overwrite files that differ. If false, they are removed, except a mounted file: a
 * process that has an old file open then cannot access the file that rsync creates.
 * @param more - called with the number of bytes of each compared chunk
 */
export async function equalizeContents(
  { isFile, excluded }: RequestedMount,
  [from, to]: readonly [from: string, to: string],
  isInPlace: boolean,
  more: (bytes: number) => void,
): Promise<void> {
  const comparison = new Comparison(isInPlace || isFile, more);
  /**
   * Maps the inode of each hard-linked file in the second tree to the file's inode in the first tree; null if the
   * contents differ.
   */
  const linked = new Map<number, number | null>();
  const notEntered: Buffer[] = [];
  for await (const { name, full, status } of walkTree(to, excluded)) {
    if (status === null || notEntered.some((each) => name.indexOf(each) === 0)) continue;
    const path = Buffer.concat([Buffer.from(from), name]);
    const source = readIfExists(() => lstatSync(path));
    const isSame = source !== null && (source.mode & constants.S_IFMT) === (status.mode & constants.S_IFMT);
    const below = Buffer.concat([name, Buffer.from('/')]);
    const isKept = name.length === 0 || excluded.some((each) => Buffer.from(`/${each}`).indexOf(below) === 0);
    if (!isKept && (!isSame || name.length > longestKept)) {
      if (status.isDirectory()) await removeTree(to, full).catch(ignoreDiskFullError);
      else unlinkSync(full);
    } else if (!isSame) {
      // Do not enter this directory: in its place, the first tree may have a symbolic link that leads out of the tree.
      if (source !== null) notEntered.push(below);
    } else if (status.isFile()) {
      const known = status.nlink > 1 && !isFile ? linked.get(status.ino) : undefined;
      if (known === source.ino) continue;
      // Remove a name that must no longer share its inode. rsync then creates a separate file.
      const isEqual = known === undefined && (await comparison.equalize(path, full));
      if (!isEqual) unlinkSync(full);
      if (known === undefined && status.nlink > 1) linked.set(status.ino, isEqual ? source.ino : null);
    }
  }
}

/**
 * Ignores an error about a full disk, because removing a whole tree needs space. The walk then removes the files one by
 * one.
 */
function ignoreDiskFullError(error: unknown): void {
  if (!isDiskFullError(error)) throw error;
}

class Comparison {
  readonly #wanted = Buffer.allocUnsafe(chunkBytes);
  readonly #found = Buffer.allocUnsafe(chunkBytes);
  readonly #isInPlace: boolean;
  readonly #more: (bytes: number) => void;
  #pausedAt = performance.now();

  constructor(isInPlace: boolean, more: (bytes: number) => void) {
    this.#isInPlace = isInPlace;
    this.#more = more;
  }

  /** Overwrites differences if `isInPlace` is set. Returns whether the contents are equal afterwards. */
  async equalize(from: Buffer, to: Buffer): Promise<boolean> {
    const source = openSync(from, forReading);
    const target = openSync(to, forReading);
    let writer: number | null = null;
    // Open for writing only if the file differs, because an equal file may not be writable.
    const openedWriter = () => {
      writer ??= openSync(to, forWriting);
      return writer;
    };
    try {
      const { size } = fstatSync(source);
      if (fstatSync(target).size !== size) {
        if (!this.#isInPlace) return false;
        // If the file becomes longer, it ends in a hole until the contents are written.
        ftruncateSync(openedWriter(), size);
      }
      for (let at = 0; at < size; at += chunkBytes) {
        const length = Math.min(chunkBytes, size - at);
        readAll(source, this.#wanted.subarray(0, length), at);
        readAll(target, this.#found.subarray(0, length), at);
        const differences = this.#differences(length);
        if (differences.length > 0 && !this.#isInPlace) return false;
        for (const [start, end] of differences)
          writeAll(openedWriter(), this.#wanted.subarray(start, end), at + start);
        this.#more(length);
        await this.#pause();
      }
      return true;
    } finally {
      for (const file of [source, target, writer]) if (file !== null) closeSync(file);
    }
  }

  /** Returns the ranges that differ. Adjacent differing blocks form one range. */
  #differences(length: number): [start: number, end: number][] {
    const differs = (from: number, to: number) => this.#wanted.compare(this.#found, from, to, from, to) !== 0;
    const ranges: [start: number, end: number][] = [];
    if (!differs(0, length)) return ranges;
    for (let at = 0; at < length; at += blockBytes) {
      const end = Math.min(at + blockBytes, length);
      if (!differs(at, end)) continue;
      const last = ranges.at(-1);
      if (last?.[1] === at) last[1] = end;
      else ranges.push([at, end]);
    }
    return ranges;
  }

  /** Yields to the event loop regularly, so that the program can notice that the updater has exited. */
  async #pause(): Promise<void> {
    if (performance.now() < this.#pausedAt + pauseEveryMs) return;
    await pause();
    this.#pausedAt = performance.now();
  }
}

function readAll(file: number, buffer: Buffer, at: number): void {
  for (let done = 0; done < buffer.length; ) {
    const read = readSync(file, buffer, done, buffer.length - done, at + done);
    if (read === 0) throw new Error('a file was truncated while it was being compared');
    done += read;
  }
}

function writeAll(file: number, buffer: Buffer, at: number): void {
  for (let done = 0; done < buffer.length; )
    done += writeSync(file, buffer, done, buffer.length - done, at + done);
}
