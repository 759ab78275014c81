import { open } from 'node:fs/promises';

/** The number of a kind of processor in a program of Linux (ELF, e_machine), and its name in releases. */
const machines: Readonly<Record<number, string>> = { 62: 'amd64', 183: 'arm64' };
const own = { x64: 62, arm64: 183 }[process.arch as string];

/**
 * Why a file is no program of this machine, as half a sentence; null where it may be one. Looked at before it is run: the
 * system would have a shell read what it does not know.
 */
export async function strangeness(path: string): Promise<string | null> {
  const file = await open(path, 'r');
  const head = Buffer.alloc(20);
  try {
    await file.read(head, 0, head.length, 0);
  } finally {
    await file.close();
  }
  if (head.subarray(0, 2).toString('latin1') === '#!') return null;
  if (head.subarray(0, 4).toString('latin1') !== '\x7fELF')
    return 'it is neither a program of Linux nor a script';
  // The fifth byte but one says which end of a number comes first.
  const machine = head[5] === 2 ? head.readUInt16BE(18) : head.readUInt16LE(18);
  return machine === own ? null : `it is made for ${machines[machine] ?? 'another kind of processor'}`;
}
