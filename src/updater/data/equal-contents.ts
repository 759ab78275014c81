// Makes the contents of files equal. rsync could do it, but needs several passes over large files, and rsync 3.2 leaves old blocks
// where a sparse file has a hole, without an error.

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import { unlessGone, walk } from '../../core/files/walk.ts';
import type { AskedMount } from './tools-protocol.ts';

const chunkBytes = 1 << 18;
/** Of one chunk, only blocks that differ are written: a database changes few, and a hole that stays is not filled. */
const blockBytes = 4096;
const pauseEveryMs = 50;

/**
 * Writes what differs into the regular files of the second tree, in place. Files that only one tree has, and all but
 * contents, are left to rsync. Nothing else may write to either tree.
 * @param more is told how many bytes have been compared
 * @returns whether all files were handled; one with several names, which may no longer belong together, is not
 */
export async function equalizeContents(
  { isFile, excluded }: AskedMount,
  [from, to]: readonly [from: string, to: string],
  more: (bytes: number) => void,
): Promise<boolean> {
  let isComplete = true;
  const comparison = new Comparison(more);
  // A link in place of a directory would lead elsewhere.
  const missing = new Set<string>();
  for await (const { name, full, status } of walk(to, excluded)) {
    if (missing.has(parentOf(name))) {
      if (status?.isDirectory()) missing.add(name.toString('latin1'));
      continue;
    }
    const path = Buffer.concat([Buffer.from(from), name]);
    const source = status && unlessGone(() => lstatSync(path));
    if (status?.isDirectory() && !source?.isDirectory()) missing.add(name.toString('latin1'));
    if (!status?.isFile() || !source?.isFile()) continue;
    // A mounted file cannot be replaced by another one.
    if (status.nlink > 1 && !isFile) isComplete = false;
    else await comparison.equalize(path, full);
  }
  return isComplete;
}

const parentOf = (name: Buffer): string =>
  name.subarray(0, Math.max(name.lastIndexOf('/'), 0)).toString('latin1');

class Comparison {
  readonly #wanted = Buffer.allocUnsafe(chunkBytes);
  readonly #found = Buffer.allocUnsafe(chunkBytes);
  readonly #more: (bytes: number) => void;
  #pausedAt = performance.now();

  constructor(more: (bytes: number) => void) {
    this.#more = more;
  }

  async equalize(from: Buffer, to: Buffer): Promise<void> {
    const source = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW);
    const target = new Target(to);
    try {
      const { size } = fstatSync(source);
      target.resize(size);
      for (let at = 0; at < size; at += chunkBytes) {
        const length = Math.min(chunkBytes, size - at);
        readAll(source, this.#wanted.subarray(0, length), at);
        readAll(target.reader, this.#found.subarray(0, length), at);
        if (this.#wanted.compare(this.#found, 0, length, 0, length) !== 0) this.#write(target, at, length);
        this.#more(length);
        await this.#pause();
      }
    } finally {
      target.close();
      closeSync(source);
    }
  }

  /** Neighbouring blocks that differ are written at once. */
  #write(target: Target, offset: number, length: number): void {
    let start = 0;
    for (let at = 0; at < length; at += blockBytes) {
      const end = Math.min(at + blockBytes, length);
      const differs = this.#wanted.compare(this.#found, at, end, at, end) !== 0;
      if (differs && end < length) continue;
      const until = differs ? end : at;
      if (until > start) target.write(this.#wanted.subarray(start, until), offset + start);
      start = end;
    }
  }

  /** The updater's end is only noticed in a pause. */
  async #pause(): Promise<void> {
    if (performance.now() < this.#pausedAt + pauseEveryMs) return;
    await pause();
    this.#pausedAt = performance.now();
  }
}

/** Only opened for writing if it differs: a file that must not be changed may be equal. */
class Target {
  readonly reader: number;
  readonly #path: Buffer;
  #writer: number | null = null;

  constructor(path: Buffer) {
    this.#path = path;
    this.reader = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  }

  /** What is added is a hole. */
  resize(size: number): void {
    if (fstatSync(this.reader).size !== size) ftruncateSync(this.#open(), size);
  }

  write(buffer: Buffer, at: number): void {
    for (let done = 0; done < buffer.length; )
      done += writeSync(this.#open(), buffer, done, buffer.length - done, at + done);
  }

  close(): void {
    closeSync(this.reader);
    if (this.#writer !== null) closeSync(this.#writer);
  }

  #open(): number {
    this.#writer ??= openSync(this.#path, constants.O_WRONLY | constants.O_NOFOLLOW);
    return this.#writer;
  }
}

function readAll(file: number, buffer: Buffer, at: number): void {
  for (let done = 0; done < buffer.length; ) {
    const read = readSync(file, buffer, done, buffer.length - done, at + done);
    if (read === 0) throw new Error('a file was truncated while it was being compared');
    done += read;
  }
}
