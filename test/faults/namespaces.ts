import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { busybox } from '../rig/busybox.ts';
import { mapIds } from '../rig/id-maps.ts';
import { missingPrograms } from './own-engine.ts';
import { rootless } from './rootless.ts';

export interface Surroundings {
  /** Where the folder of the process is made. Default the machine's temporary one. */
  parent?: string;
  /** Also in a user namespace of its own, in which everybody is who they are here. */
  ownUsers?: boolean;
  /** As an ordinary user, who is root in a user namespace of his own: `whyNotRootless` says where that cannot be had. */
  rootless?: boolean;
  /** Its environment beside this process's own, given its folder. */
  env: (directory: string) => Record<string, string>;
}

const cgroups = '/sys/fs/cgroup';

/**
 * Runs a script of Node's in a network and a table of mounts of its own, and gives its exit code. It has a folder that goes
 * with it. When this process ends, it ends too, and takes everything with it (`endWithParent`).
 */
export async function runInNamespaces(
  script: string,
  args: readonly string[],
  { parent = tmpdir(), ownUsers = false, rootless: isRootless = false, env }: Surroundings,
): Promise<number> {
  if (process.getuid?.() !== 0) throw new Error("an engine of the tests' own needs root");
  // As the names of test runs are: the folder of one that was killed is swept by the next.
  const directory = await mkdtemp(join(parent, `svct-${process.pid}-${Date.now().toString(36)}-own-`));
  const surroundings = { ...process.env, ...env(directory) };
  const missing = missingPrograms(surroundings.PATH);
  if (missing.length > 0) {
    await rm(directory, { recursive: true });
    const what = `${missing.join(', ')} installed (scripts/engine up does it)`;
    throw new Error(`an engine of the tests' own needs ${what}`);
  }
  // Behind it nothing can be fetched.
  await busybox();
  const plain = [process.execPath, script, ...args];
  const command = isRootless ? rootless(directory, plain) : plain;
  // Nobody there is root before the line comes that the map is written.
  const mapped = ownUsers ? ['sh', '-c', 'read -r _ && exec "$@"', 'sh', ...command] : command;
  const flags = [...(ownUsers ? ['--user'] : []), '--mount', '--net'];
  const child = spawn('unshare', [...flags, '--', ...mapped], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: surroundings,
  });
  // What has ended by then says so itself.
  if (ownUsers) mapAll(child).catch(() => child.kill());
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

/** One less than all: engines take a map of all for none, and ask for what only the machine's own root may do. */
async function mapAll({ pid, stdin }: ChildProcess): Promise<void> {
  await mapIds(pid, '0 0 4294967294');
  stdin?.write('\n');
}

/** The other end of the input is held by the process that has started this one. */
export function endWithParent(): void {
  process.stdin.resume();
  process.stdin.once('end', () => process.exit(130));
  process.stdin.unref?.();
}

/** In a network that has just been made. */
export async function bringUpLoopback(directory: string): Promise<void> {
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
