import { existsSync } from 'node:fs';
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

/** A disk of its own in a file. */
export interface LoopDisk {
  directory: string;
  unmount(): Promise<void>;
}

/** Where they lie; a person's PATH may end before. */
const folders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin'];

/**
 * Mounts a file system of its own in a directory that it makes.
 * @throws where the machine cannot: that is no reason to leave a test out
 */
export async function mountLoop(
  kind: 'btrfs' | 'xfs' | 'ext4',
  directory: string,
  bytes = 1_000_000_000,
): Promise<LoopDisk> {
  const missing = [
    ...[`mkfs.${kind}`, ...(kind === 'btrfs' ? ['btrfs'] : [])].filter(
      (name) => !folders.some((folder) => existsSync(join(folder, name))),
    ),
    ...(existsSync('/dev/loop-control') ? [] : ['/dev/loop-control']),
    ...(process.getuid?.() === 0 ? [] : ['the rights of root']),
  ];
  if (missing.length > 0) {
    throw new Error(
      `${kind} cannot be tried here, for want of ${missing.join(', ')}; scripts/test installs what it can`,
    );
  }
  const image = `${directory}.img`;
  await writeFile(image, '');
  await truncate(image, bytes);
  const env = { PATH: folders.join(':') };
  const run = (program: string, ...args: string[]) => execa(program, args, { env, timeout: 30_000 });
  await run(`mkfs.${kind}`, '-q', image);
  await mkdir(directory);
  await run('mount', '-o', 'loop', image, directory);
  return {
    directory,
    unmount: async () => {
      await run('umount', directory);
      await rm(image);
    },
  };
}
