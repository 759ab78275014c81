import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';

/** Of Debian's package qemu-user-static. */
const program = '/usr/bin/qemu-aarch64-static';
/** As a program for arm64 begins, of both forms, and which bits of it count. */
const magic = '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
const mask =
  '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';

/** Whether a user namespace has a register of its own here (Linux 6.7 and later), which the machine's is not. */
export function canEmulate(): boolean {
  const mount = ['mount', '-t', 'binfmt_misc', 'binfmt_misc', tmpdir()];
  return spawnSync('unshare', ['--user', '--map-root-user', '--mount', '--', ...mount]).status === 0;
}

/** Has programs for arm64 run in this user namespace, in containers too: by the open file, which is nowhere there. */
export async function emulateArm64(directory: string): Promise<void> {
  const register = join(directory, 'binfmt_misc');
  await mkdir(register);
  await execa('mount', ['-t', 'binfmt_misc', 'binfmt_misc', register], { timeout: 10_000 });
  await writeFile(join(register, 'register'), `:arm64:M::${magic}:${mask}:${program}:F`);
}
