export const tarBlockSize = 512;

/** Exclusive size limit of a file in bytes, because the size field of a tar header has eleven octal digits. */
export const tarEntrySizeLimitBytes = 8 * 1024 ** 3;

interface EntryDetails {
  mode?: number;
  /** Modification time in seconds since 1970. */
  modified?: number;
  /** `0` for a regular file, `x` for an extended header. */
  kind?: '0' | 'x';
}

/**
 * Creates a tar header in POSIX ustar format, owned by root. With the default details, headers with the same name and
 * size have the same bytes, as release archives require.
 * @param name - at most 100 bytes; a longer name must be in an extended header
 */
export function createTarHeader(
  name: string,
  size: number,
  { mode = 0o644, modified = 0, kind = '0' }: EntryDetails = {},
): Buffer {
  const block = Buffer.alloc(tarBlockSize);
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

/** Returns the number of zero bytes that fill the last block of an entry of this size. */
export const tarPaddingSizeOf = (size: number): number =>
  (tarBlockSize - (size % tarBlockSize)) % tarBlockSize;

/** Returns the header, the bytes and the padding of an entry. */
export const createTarEntry = (name: string, bytes: Buffer, details?: EntryDetails): Buffer[] => [
  createTarHeader(name, bytes.length, details),
  bytes,
  Buffer.alloc(tarPaddingSizeOf(bytes.length)),
];

/** End marker of a tar archive: two blocks of zeros. */
export const tarTrailer = Buffer.alloc(2 * tarBlockSize);
