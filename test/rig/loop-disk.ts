import { existsSync } from 'node:fs';
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

/** A separate disk in a file. */
export interface LoopDisk {
  directory: string;
  unmount(): Promise<void>;
}

/** Programs besides `mkfs`, and devices. exFAT stores no hard links, owners and modes. */
const needs = {
  btrfs: ['btrfs', '/dev/loop-control'],
  xfs: ['/dev/loop-control'],
  ext4: ['/dev/loop-control'],
  exfat: ['mount.exfat-fuse', 'losetup', '/dev/fuse', '/dev/loop-control'],
};

/** Directories with the programs, which a user's PATH may lack. */
const folders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin'];

/**
 * Creates a directory and mounts a separate file system in it.
 * @throws if the machine cannot mount it: this is no reason to skip a test
 */
export async function mountLoop(
  kind: keyof typeof needs,
  directory: string,
  bytes = 1_000_000_000,
  flags: readonly string[] = [],
): Promise<LoopDisk> {
  const missing = [
    ...[`mkfs.${kind}`, ...needs[kind]].filter((name) =>
      name.startsWith('/') ? !existsSync(name) : !folders.some((folder) => existsSync(join(folder, name))),
    ),
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
  await mkdir(directory);
  if (kind === 'exfat') {
    await run('mkfs.exfat', image);
    const { stdout: device } = await run('losetup', '--find', '--show', image);
    try {
      await run('mount.exfat-fuse', '-o', 'allow_other', device, directory);
    } finally {
      // For a device in use, it only prints that unmounting will free it.
      await run('losetup', '--detach', device);
    }
  } else {
    await run(`mkfs.${kind}`, '-q', ...flags, image);
    await run('mount', '-o', 'loop', image, directory);
  }
  return {
    directory,
    unmount: async () => {
      await run('umount', directory);
      await rm(image);
    },
  };
}
