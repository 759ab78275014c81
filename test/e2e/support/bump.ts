import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { updaterImage } from '../../rig/updater-run.ts';

export interface BumpResult {
  exitCode: number;
  /** The complete output, as shown to a user. */
  log: string;
}

export interface BumpOptions {
  /** Environment variables of the bundle; only used on the host. */
  env?: Record<string, string>;
  /** Further flags of `docker run`. */
  docker?: readonly string[];
}

/** Whose compose checks the bump: that of the image, or that of the host if the bundle runs without the image. */
export type Where = 'image' | 'host';

const bundle = new URL('../../../dist/agent.mjs', import.meta.url).pathname;

/** Runs `bump` in a directory without an engine: the image gets no socket and no network. */
export async function bump(
  directory: string,
  args: readonly string[],
  where: Where = 'image',
  { env = {}, docker = [] }: BumpOptions = {},
): Promise<BumpResult> {
  const image = ['run', '--rm', '--network', 'none', '-v', `${directory}:${directory}`, '-w', directory];
  // Without the dashes, Node would parse --env-file as its own option, wherever it appears.
  const result =
    where === 'image'
      ? await execa('docker', [...image, ...docker, updaterImage, 'bump', ...args], {
          all: true,
          reject: false,
        })
      : await execa(process.execPath, ['--', bundle, 'bump', ...args], {
          all: true,
          reject: false,
          cwd: directory,
          env,
        });
  return { exitCode: result.exitCode ?? -1, log: result.all };
}

/** Calls `use` with a temporary directory, and removes the directory afterwards. */
export async function inDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'svct-bump-')));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
