export const blockSize = 512;

/** Eleven octal digits say no more. */
export const mostArchiveBytes = 8 * 1024 ** 3;

/**
 * The block before an entry of a release's archive. There is one form of it for a name and a size, so that whoever reads an archive
 * has nothing of a header to believe: POSIX's ustar, a regular file of nobody's, of 1970.
 * @param name at most 100 bytes
 */
export function archiveHeader(name: string, size: number): Buffer {
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
  block.write(name, 0, 100, 'latin1');
  block.write(
    `${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0${octal(size, 11)}\0${octal(0, 11)}\0`,
    100,
  );
  block.write('        0', 148);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

/** Zeros from the end of an entry to the next block. */
export const paddingOf = (size: number): number => (blockSize - (size % blockSize)) % blockSize;
