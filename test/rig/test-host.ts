import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { findNamed, removeNamed } from './engine-api.ts';
import { buildPart } from './image.ts';
import { push, startRegistry } from './registry.ts';

/** Shared by the instances of one test run. Plain data, so that other processes can use it. */
export interface TestHost {
  /** Part of the name of everything that the run creates, so that its traces can be found. */
  run: string;
  /** The directory for all files. */
  directory: string;
  /** `127.0.0.1:port` of the run's registry. */
  registry: string;
  /** The prefix of `/db:1`, `/proxy:1` and `/tunnel:1`. */
  parts: string;
}

const prefix = 'svct';

export interface TestHostOptions {
  /**
   * Instead of a name unique to this process. Traces with other names than the usual ones are never removed by
   * `sweep`.
   */
  run?: string;
  /** Instead of a temporary directory. */
  directory?: string;
  /** A running registry, instead of a new one for the run. */
  registry?: string;
}

/** Removes the traces of killed runs, then starts a registry with the images of db, proxy and tunnel. */
export async function openTestHost(
  options: TestHostOptions = {},
): Promise<{ host: TestHost; close(): Promise<void> }> {
  await sweep();
  const run = options.run ?? `${prefix}-${process.pid}-${Date.now().toString(36)}`;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), `${run}-`)));
  const registry =
    options.registry === undefined
      ? await startRegistry(join(directory, 'registry'))
      : { host: options.registry, close: async () => {} };
  const close = async () => {
    try {
      await removeNamed(run);
    } finally {
      await registry.close();
      await rm(directory, { recursive: true, force: true });
    }
  };
  try {
    const names = ['db', 'proxy', 'tunnel'];
    await Promise.all(
      names.map(async (name) => push(registry.host, `${run}/${name}`, '1', await buildPart(name))),
    );
  } catch (error) {
    await close();
    throw error;
  }
  return { host: { run, directory, registry: registry.host, parts: `${registry.host}/${run}` }, close };
}

/** Removes the traces of runs whose process has ended; concurrent runs are unaffected. */
export async function sweep(): Promise<void> {
  const found = await findNamed(`${prefix}-`);
  const folders = (await readdir(tmpdir())).filter((name) => name.startsWith(`${prefix}-`));
  const names = [
    ...found.containers.map(({ name }) => name),
    ...found.networks.map(({ name }) => name),
    ...found.volumes,
    ...found.images,
    ...folders,
  ];
  const runs = new Map(
    names.flatMap((name) => {
      const [run, pid] = new RegExp(`${prefix}-(\\d+)-[a-z0-9]+`).exec(name) ?? [];
      return run === undefined ? [] : [[run, Number(pid)] as const];
    }),
  );
  for (const [run, pid] of runs) {
    if (alive(pid)) continue;
    await removeNamed(run);
    for (const folder of folders.filter((name) => name.startsWith(run))) {
      await unmountBelow(join(tmpdir(), folder));
      await rm(join(tmpdir(), folder), { recursive: true, force: true });
    }
  }
}

/** Unmounts file systems that a killed run has left mounted in its directory. */
async function unmountBelow(folder: string): Promise<void> {
  const mounts = (await readFile('/proc/mounts', 'utf8').catch(() => '')).split('\n');
  const below = mounts
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of below.reverse()) await execa('umount', ['--lazy', path], { timeout: 10_000 });
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
