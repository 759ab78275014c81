import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { execa } from 'execa';

/** What makes the file systems that are measured; xfs shares the blocks of a file that is copied by its own means. */
const makers = { ext4: ['mkfs.ext4', '-q'], xfs: ['mkfs.xfs', '-q', '-m', 'reflink=1'] } as const;

type DiskKind = keyof typeof makers;

/** Mounts a file system of its own, on a loop device, in a directory that it makes. @throws where the machine cannot */
export async function mountDisk(
  kind: DiskKind,
  directory: string,
  bytes: number,
): Promise<() => Promise<void>> {
  const image = `${directory}.img`;
  const run = (program: string, ...args: string[]) =>
    execa(program, args, { env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` }, stdin: 'ignore' });
  const [program, ...flags] = makers[kind];
  await writeFile(image, '');
  await truncate(image, bytes);
  await run(program, ...flags, image);
  await mkdir(directory);
  await run('mount', '-o', 'loop', image, directory);
  return async () => {
    await run('umount', directory);
    await rm(image);
  };
}
