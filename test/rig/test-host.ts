import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { findNamed, removeNamed } from './engine-api.ts';
import { buildPart } from './image.ts';
import { push, startRegistry } from './registry.ts';

/** What the instances of one run share. Plain data, so that it can be handed to other processes. */
export interface TestHost {
  /** Stands in the name of everything that the run makes, so that its traces can be found. */
  run: string;
  /** For everything on disk. */
  directory: string;
  /** `127.0.0.1:port` of the run's own registry. */
  registry: string;
  /** What stands before `/db:1`, `/proxy:1` and `/tunnel:1`. */
  parts: string;
}

const prefix = 'svct';

export interface TestHostOptions {
  /** In place of a name that only this process has; traces of other names than those are never swept. */
  run?: string;
  /** In place of a temporary directory. */
  directory?: string;
  /** A registry that answers already, in place of one of the run's own. */
  registry?: string;
}

/** Removes what killed runs left, then starts a registry with the images of db, proxy and tunnel in it. */
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

/** Removes the traces of runs whose process is gone; those of runs that go on beside this one stay. */
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

/** What is mounted in the folder of a run that was killed: a file system of its own, for one test. */
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
    // Somebody else's process is a living one.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
