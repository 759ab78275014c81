import { existsSync } from 'node:fs';
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

/** A disk without hard links, owners and modes, as a NAS boots from. */
export interface Exfat {
  directory: string;
  unmount(): Promise<void>;
}

const bytes = 64 * 1024 * 1024;

/** Where `mount` finds them; a person's PATH may end before. */
const folders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin'];

/**
 * Mounts an exFAT of its own, on a loop device, in a directory that it makes.
 * @throws where the machine cannot: that is no reason to leave a test out
 */
export async function mountExfat(directory: string): Promise<Exfat> {
  const programs = ['mkfs.exfat', 'mount.exfat-fuse', 'losetup', 'umount'];
  const missing = [
    ...programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name)))),
    ...['/dev/fuse', '/dev/loop-control'].filter((device) => !existsSync(device)),
    ...(process.getuid?.() === 0 ? [] : ['the rights of root']),
  ];
  if (missing.length > 0) {
    throw new Error(
      `exFAT cannot be tried here, for want of ${missing.join(', ')}; scripts/test installs what it can`,
    );
  }
  const image = `${directory}.img`;
  await writeFile(image, '');
  await truncate(image, bytes);
  const run = (program: string, ...args: string[]) =>
    execa(program, args, { timeout: 20_000, stdin: 'ignore' });
  await run('mkfs.exfat', image);
  await mkdir(directory);
  const { stdout: device } = await run('losetup', '--find', '--show', image);
  try {
    await run('mount.exfat-fuse', '-o', 'allow_other', device, directory);
  } finally {
    // Of a device in use it only says that the unmounting frees it.
    await run('losetup', '--detach', device);
  }
  return {
    directory,
    unmount: async () => {
      await run('umount', directory);
      await rm(image);
    },
  };
}
