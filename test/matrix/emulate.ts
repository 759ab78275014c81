import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';

/** From Debian's package qemu-user-static. */
const program = '/usr/bin/qemu-aarch64-static';
/** First bytes of programs for arm64 (both ELF types), and a mask of the relevant bits. */
const magic = '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
const mask =
  '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';

/** Whether user namespaces have their own binfmt_misc, separate from that of the machine (Linux 6.7 and later). */
export function canEmulate(): boolean {
  const mount = ['mount', '-t', 'binfmt_misc', 'binfmt_misc', tmpdir()];
  return spawnSync('unshare', ['--user', '--map-root-user', '--mount', '--', ...mount]).status === 0;
}

/**
 * Registers the emulator for arm64 in this user namespace. Flag F keeps its file open, so it also works in containers,
 * which do not contain the file.
 */
export async function emulateArm64(directory: string): Promise<void> {
  const register = join(directory, 'binfmt_misc');
  await mkdir(register);
  await execa('mount', ['-t', 'binfmt_misc', 'binfmt_misc', register], { timeout: 10_000 });
  await writeFile(join(register, 'register'), `:arm64:M::${magic}:${mask}:${program}:F`);
}
