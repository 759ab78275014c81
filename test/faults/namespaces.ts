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
  /** The parent of the process's directory. Default: the machine's temporary directory. */
  parent?: string;
  /** Also in a separate user namespace, in which all ids are mapped to themselves. */
  ownUsers?: boolean;
  /**
   * As an ordinary user, who is root in a user namespace: `whyNotRootless` returns the reason if this is impossible.
   */
  rootless?: boolean;
  /** Additional environment, given the directory. */
  env: (directory: string) => Record<string, string>;
}

const cgroups = '/sys/fs/cgroup';

/**
 * Runs a Node script in separate network and mount namespaces, and returns its exit code. Its directory is removed
 * afterwards. When this process ends, the script and everything in its namespaces end, too (`endWithParent`).
 */
export async function runInNamespaces(
  script: string,
  args: readonly string[],
  { parent = tmpdir(), ownUsers = false, rootless: isRootless = false, env }: Surroundings,
): Promise<number> {
  if (process.getuid?.() !== 0) throw new Error("an engine of the tests' own needs root");
  // Named like test runs: the directory of a killed run is removed by the next run.
  const directory = await mkdtemp(join(parent, `svct-${process.pid}-${Date.now().toString(36)}-own-`));
  const surroundings = { ...process.env, ...env(directory) };
  const missing = missingPrograms(surroundings.PATH);
  if (missing.length > 0) {
    await rm(directory, { recursive: true });
    const what = `${missing.join(', ')} installed (scripts/engine up does it)`;
    throw new Error(`an engine of the tests' own needs ${what}`);
  }
  // Nothing can be downloaded in the new network.
  await busybox();
  const plain = [process.execPath, script, ...args];
  const command = isRootless ? rootless(directory, plain) : plain;
  // Nobody is root there until a line on the input reports that the map is written.
  const mapped = ownUsers ? ['sh', '-c', 'read -r _ && exec "$@"', 'sh', ...command] : command;
  const flags = [...(ownUsers ? ['--user'] : []), '--mount', '--net'];
  const child = spawn('unshare', [...flags, '--', ...mapped], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: surroundings,
  });
  // If the child has already exited, its exit code explains the error.
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

/**
 * One id less than all: engines treat a map of all ids as no map, and try operations that need the machine's real
 * root.
 */
async function mapAll({ pid, stdin }: ChildProcess): Promise<void> {
  await mapIds(pid, '0 0 4294967294');
  stdin?.write('\n');
}

/** The parent process holds the other end of the standard input. */
export function endWithParent(): void {
  process.stdin.resume();
  process.stdin.once('end', () => process.exit(130));
  process.stdin.unref?.();
}

/** For a new network namespace. */
export async function bringUpLoopback(directory: string): Promise<void> {
  // Some machines have no program for it.
  const program = join(directory, 'busybox');
  await writeFile(program, await busybox());
  await chmod(program, 0o755);
  await execa(program, ['ip', 'link', 'set', 'lo', 'up'], { timeout: 10_000 });
}

/** A killed engine leaves empty cgroups of its containers in each hierarchy. Also removes those of dead processes. */
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
  // The last process may be exiting at this moment.
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
