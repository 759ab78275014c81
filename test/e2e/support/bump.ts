import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { updaterImage } from '../../rig/updater-run.ts';

export interface BumpResult {
  exitCode: number;
  /** The whole output, as a person sees it. */
  log: string;
}

export interface BumpOptions {
  /** On the host. */
  env?: Record<string, string>;
  /** Further flags of `docker run`. */
  docker?: readonly string[];
}

/** Whose compose proves the bump: that of the image, or, where the bundle runs without it, the host's own. */
export type Where = 'image' | 'host';

const bundle = new URL('../../../dist/agent.mjs', import.meta.url).pathname;

/** `bump` in a directory, without an engine: the image gets no socket and no network. */
export async function bump(
  directory: string,
  args: readonly string[],
  where: Where = 'image',
  { env = {}, docker = [] }: BumpOptions = {},
): Promise<BumpResult> {
  const image = ['run', '--rm', '--network', 'none', '-v', `${directory}:${directory}`, '-w', directory];
  // Without the dashes Node takes --env-file for itself, wherever it stands.
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

/** A directory of its own that is gone when `use` ends. */
export async function inDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'svct-bump-')));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
