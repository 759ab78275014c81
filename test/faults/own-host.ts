import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { busybox } from '../rig/busybox.ts';
import { startRegistry } from '../rig/registry.ts';
import { openTestHost, type TestHost } from '../rig/test-host.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { SmallDisk } from './full-disk.ts';
import { loadImage, missingPrograms, OwnEngine } from './own-engine.ts';

/** A machine of the tests' own: whatever happens to it, everybody else's containers run on. */
export interface OwnHost {
  host: TestHost;
  engine: OwnEngine;
  /** What the engine keeps its data on. */
  engineDisk: SmallDisk;
  /** What the compose directories are on, but for their `data`, which is on a disk of its own. */
  composeDisk: SmallDisk;
  close(): Promise<void>;
}

const variable = 'SVC_FAULTS_OWN_HOST';
const outerEngine = 'SVC_FAULTS_OUTER_ENGINE';
const cgroups = '/sys/fs/cgroup';

let current: OwnHost | undefined;

/** Its folder, in a process that `runInOwnHost` has started. */
export function ownDirectory(): string {
  const directory = process.env[variable];
  if (directory === undefined) throw new Error('not in a network of its own: see runInOwnHost');
  return directory;
}

/** The one that this process has opened. */
export function ownHost(): OwnHost {
  if (current === undefined) throw new Error('this fault needs an engine of its own: see openOwnHost');
  return current;
}

/**
 * Runs a script of Node's in a network and a table of mounts of its own, where `openOwnHost` may be called; gives its exit
 * code. When this process ends, it ends too, and takes everything with it.
 */
export async function runInOwnHost(script: string, args: readonly string[]): Promise<number> {
  const missing = missingPrograms();
  if (process.getuid?.() !== 0 || missing.length > 0) {
    const what = missing.length > 0 ? `${missing.join(', ')} installed (scripts/engine up does it)` : 'root';
    throw new Error(`an engine of the tests' own needs ${what}`);
  }
  // As the names of test runs are: the folder of one that was killed is swept by the next.
  const directory = await mkdtemp(join(tmpdir(), `svct-${process.pid}-${Date.now().toString(36)}-own-`));
  const { DOCKER_HOST } = process.env;
  const child = spawn('unshare', ['--mount', '--net', '--', process.execPath, script, ...args], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: {
      ...process.env,
      ...(DOCKER_HOST === undefined ? {} : { [outerEngine]: DOCKER_HOST }),
      [variable]: directory,
      DOCKER_HOST: `unix://${join(directory, 'docker.sock')}`,
    },
  });
  let received: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals) => {
    received = signal;
    child.stdin?.end();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    for (const signal of signals) process.off(signal, stop);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    await sweepCgroups(basename(directory));
    if (received !== undefined) process.kill(process.pid, received);
  }
}

/**
 * Starts the engine, a registry and the test host, in a process that `runInOwnHost` has started.
 * @param flags more of them for the daemon
 */
export async function openOwnHost(flags: readonly string[] = []): Promise<OwnHost> {
  const directory = ownDirectory();
  endWithParent();
  await bringUpLoopback(directory);
  // What is mounted here later is seen by the machine, which was started before.
  await execa('mount', ['--make-rshared', '/'], { timeout: 10_000 });
  const engineDisk = await SmallDisk.mount(join(directory, 'data'), 4_000_000_000);
  const composeDisk = await SmallDisk.mount(join(directory, 'compose'), 64_000_000);
  const engine = new OwnEngine(directory, basename(directory), flags);
  await engine.start();
  await loadImage(updaterImage, process.env[outerEngine], `unix://${engine.socket}`);
  const registry = await startRegistry(join(directory, 'registry'));
  const { host } = await openTestHost({ directory: composeDisk.directory, registry: registry.host });
  current = {
    host,
    engine,
    engineDisk,
    composeDisk,
    // Nothing has to be removed from an engine that goes away with all its data.
    close: async () => {
      await engine.cut();
      await registry.close();
    },
  };
  return current;
}

/** The other end of the input is held by the process that has started this one. */
function endWithParent(): void {
  process.stdin.resume();
  process.stdin.once('end', () => process.exit(130));
  process.stdin.unref?.();
}

async function bringUpLoopback(directory: string): Promise<void> {
  // Not every machine has a program for it.
  const program = join(directory, 'busybox');
  await writeFile(program, await busybox());
  await chmod(program, 0o755);
  await execa(program, ['ip', 'link', 'set', 'lo', 'up'], { timeout: 10_000 });
}

/** A killed engine leaves the empty groups of its containers, in each hierarchy: those of dead processes, too. */
async function sweepCgroups(own: string): Promise<void> {
  const hierarchies = [cgroups, ...(await folders(cgroups)).map((name) => join(cgroups, name))];
  for (const hierarchy of hierarchies) {
    for (const name of await folders(hierarchy)) {
      const pid = /^svct-(\d+)-[a-z0-9]+-own-/.exec(name)?.[1];
      const over = name === own || (pid !== undefined && !existsSync(`/proc/${pid}`));
      if (over) await removeTree(join(hierarchy, name));
    }
  }
}

async function removeTree(directory: string): Promise<void> {
  for (const name of await folders(directory)) await removeTree(join(directory, name));
  // Its last process may be going at this moment.
  for (let tries = 0; tries < 20; tries++) {
    const gone = await rmdir(directory).then(
      () => true,
      ({ code }) => code !== 'EBUSY',
    );
    if (gone) return;
    await sleep(50);
  }
}

async function folders(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}
