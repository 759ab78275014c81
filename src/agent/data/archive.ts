// Reads a tar as GNU's tar writes it, and tells by one hash which tree it holds.

import { createHash } from 'node:crypto';

export interface Archive {
  bytes: number;
  /** Files, directories, links and their like. */
  files: number;
  /**
   * One hash, in hexadecimal, that every byte of it goes into: contents by hashes of their own, which the tree's takes,
   * too, so that they are hashed once.
   */
  seal: string;
  /**
   * Of the tree in it. Tars of equal trees may differ: a file system lists attributes in an order of its own, and tells of
   * holes by the size of its blocks, or where it compresses what was zeros.
   */
  tree: string;
}

type Records = Readonly<Record<string, string>>;

const blockSize = 512;
const zeros = Buffer.alloc(blockSize);
/** The last block of a file's contents may be a short one. */
const isZeroAt = (bytes: Buffer, at: number): boolean => {
  if (bytes[at] !== 0) return false;
  const block = bytes.subarray(at, at + blockSize);
  return block.equals(zeros.subarray(0, block.length));
};
const padded = (size: number): number => Math.ceil(size / blockSize) * blockSize;

/** @throws Error where it is cut off, or no tar @param tell is told of its bytes as they come */
export async function readArchive(
  input: AsyncIterable<Buffer>,
  tell: (more: number) => void = () => {},
): Promise<Archive> {
  const seal = createHash('sha256');
  const tree = createHash('sha256');
  const found = { bytes: 0, files: 0 };
  const pieces = input[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const more = async (): Promise<boolean> => {
    const { done, value } = await pieces.next();
    if (done) return false;
    found.bytes += value.length;
    tell(value.length);
    rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
    return true;
  };
  const take = async (size: number): Promise<Buffer> => {
    while (rest.length < size) if (!(await more())) throw new Error('the tar is cut off');
    const taken = rest.subarray(0, size);
    rest = rest.subarray(size);
    return taken;
  };
  /** Whatever is no file's contents. */
  const takeFrame = async (size: number): Promise<Buffer> => {
    const taken = await take(size);
    seal.update(taken);
    return taken;
  };

  /** What a file holds, but for its zeros: holes are none of the file's bytes. */
  const contents = async (segments: readonly (readonly [start: number, size: number])[]): Promise<string> => {
    const hash = createHash('sha256');
    const runs: number[] = [];
    for (const [start, size] of segments) {
      for (let at = 0; at < size; ) {
        const left = size - at;
        const bytes = await take(
          Math.min(left, Math.max(blockSize, rest.length - (rest.length % blockSize))),
        );
        for (let from = 0; from < bytes.length; from += blockSize) {
          if (isZeroAt(bytes, from)) continue;
          let to = from + blockSize;
          while (to < bytes.length && !isZeroAt(bytes, to)) to += blockSize;
          hash.update(bytes.subarray(from, to));
          const [first, last] = [start + at + from, start + at + Math.min(to, bytes.length)];
          if (runs.at(-1) === first) runs[runs.length - 1] = last;
          else runs.push(first, last);
          from = to - blockSize;
        }
        at += bytes.length;
      }
    }
    return `${hash.digest('hex')} ${runs}`;
  };
  /** The map of a sparse file stands before its bytes: how many segments, then offset and size of each, a line each. */
  const sparseMap = async (): Promise<[number, number][]> => {
    let text = '';
    let lines: string[] = [];
    do {
      text += (await takeFrame(blockSize)).toString('latin1');
      lines = text.split('\n');
    } while (lines.length < 2 || lines.length < 2 * Number(lines[0]) + 2);
    return Array.from({ length: Number(lines[0]) }, (_, each) => [
      Number(lines[2 * each + 1]),
      Number(lines[2 * each + 2]),
    ]);
  };

  let records: Records = {};
  for (;;) {
    const header = await takeFrame(blockSize);
    if (isZeroAt(header, 0)) break;
    const text = header.toString('latin1');
    const field = (from: number, to: number) => {
      const end = text.indexOf('\0', from);
      return text.slice(from, end === -1 ? to : Math.min(end, to)).trim();
    };
    const type = field(156, 157) || '0';
    const size = Number(records.size ?? Number.parseInt(field(124, 136), 8));
    if (field(257, 262) !== 'ustar' || !Number.isSafeInteger(size)) throw new Error('it is no tar');
    if (type === 'x') {
      records = recordsOf((await takeFrame(padded(size))).subarray(0, size));
      continue;
    }
    const isSparse = records['GNU.sparse.major'] !== undefined;
    const before = found.bytes - rest.length;
    const segments = isSparse ? await sparseMap() : [[0, size] as const];
    const held = await contents(segments);
    seal.update(held);
    await takeFrame(before + padded(size) - (found.bytes - rest.length));
    const prefix = field(345, 500);
    const own = [
      records['GNU.sparse.name'] ?? records.path ?? `${prefix && `${prefix}/`}${field(0, 100)}`,
      type,
      field(100, 108),
      records.uid ?? field(108, 116),
      records.gid ?? field(116, 124),
      records.mtime ?? field(136, 148),
      records.linkpath ?? field(157, 257),
      type === '3' || type === '4' ? field(329, 345) : '',
      type === '3' || type === '4' ? field(337, 345) : '',
      Number(records['GNU.sparse.realsize'] ?? size),
      Object.entries(records)
        .filter(([key]) => provable.test(key))
        .sort(),
      held,
    ];
    tree.update(`${JSON.stringify(own)}\n`);
    found.files++;
    records = {};
  }
  do {
    seal.update(rest);
    rest = Buffer.alloc(0);
  } while (await more());
  return { ...found, seal: seal.digest('hex'), tree: tree.digest('hex') };
}

/** Attributes that can be set again everywhere; the kernel makes the others by itself, as a label of SELinux. */
const provable = /^SCHILY\.(?:acl\.|xattr\.user\.|xattr\.security\.capability$)/;

/** `27 mtime=1764000000.123456789` and a line break each; the number is the length of all that, a value may have any bytes. */
function recordsOf(body: Buffer): Records {
  const records: Record<string, string> = {};
  for (let at = 0; at < body.length; ) {
    const text = body.toString('latin1', at, at + 20);
    const length = Number.parseInt(text, 10);
    if (!(length > 0)) throw new Error('a header of the tar cannot be read');
    const record = body.toString('latin1', at + text.indexOf(' ') + 1, at + length - 1);
    const equals = record.indexOf('=');
    records[record.slice(0, equals)] = record.slice(equals + 1);
    at += length;
  }
  return records;
}
