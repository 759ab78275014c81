export const blockSize = 512;

/** Eleven octal digits say no more. */
export const mostArchiveBytes = 8 * 1024 ** 3;

interface EntryDetails {
  mode?: number;
  /** Seconds since 1970. */
  modified?: number;
  /** A regular file, or an extended header. */
  kind?: '0' | 'x';
}

/**
 * The block before an entry of a tar archive: POSIX's ustar, owned by root. By default a file of 1970, so that a release's archive
 * has one form for a name and a size, and whoever reads it has nothing of a header to believe.
 * @param name what is after its first 100 bytes has to be in an extended header
 */
export function archiveHeader(
  name: string,
  size: number,
  { mode = 0o644, modified = 0, kind = '0' }: EntryDetails = {},
): Buffer {
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
  block.write(name, 0, 100, 'latin1');
  block.write(
    `${octal(mode, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0${octal(size, 11)}\0${octal(modified, 11)}\0`,
    100,
  );
  block.write(`        ${kind}`, 148);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

/** Zeros from the end of an entry to the next block. */
export const paddingOf = (size: number): number => (blockSize - (size % blockSize)) % blockSize;

/** An entry of a tar archive: its header, its bytes and their padding. */
export const archiveEntry = (name: string, bytes: Buffer, details?: EntryDetails): Buffer[] => [
  archiveHeader(name, bytes.length, details),
  bytes,
  Buffer.alloc(paddingOf(bytes.length)),
];

/** What ends a tar archive. */
export const archiveEnd = Buffer.alloc(2 * blockSize);
