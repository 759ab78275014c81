/** A member of an archive; its name has no leading or trailing slash. */
export type TarEntry =
  | { name: string; kind: 'file'; content: Buffer | string; mode?: number }
  | { name: string; kind: 'directory'; mode?: number }
  | { name: string; kind: 'link'; target: string };

const block = 512;

/** A ustar archive without times and owners, so that the same members always give the same bytes. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = entry.kind === 'file' ? Buffer.from(entry.content) : Buffer.alloc(0);
    parts.push(header(entry, content.length), content, Buffer.alloc(-content.length & (block - 1)));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(entry: TarEntry, size: number): Buffer {
  const name = entry.kind === 'directory' ? `${entry.name}/` : entry.name;
  if (Buffer.byteLength(name) > 100) throw new Error(`too long for this little writer: ${name}`);
  const bytes = Buffer.alloc(block);
  const octal = (value: number, offset: number, length: number) =>
    bytes.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
  bytes.write(name, 0);
  octal(modeOf(entry), 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  bytes.write({ file: '0', link: '2', directory: '5' }[entry.kind], 156);
  if (entry.kind === 'link') bytes.write(entry.target, 157);
  bytes.write('ustar\x0000', 257, 'latin1');
  // The checksum treats its own field as blanks.
  bytes.fill(' ', 148, 156);
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return bytes;
}

function modeOf(entry: TarEntry): number {
  if (entry.kind === 'link') return 0o777;
  return entry.mode ?? (entry.kind === 'directory' ? 0o755 : 0o644);
}
