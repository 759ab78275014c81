import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, readdir, readFile, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { askEngine } from '../rig/engine-api.ts';

/**
 * The engine gives its containers the longest stop timeout of all (the updater's 120 s) and some more: when it is
 * stopped, and when it starts after it was killed, for containers that are still running.
 */
const patienceMs = 150_000;

/**
 * A container engine of the tests on a machine of its own: its processes and `/run` are in namespaces that end when
 * the machine is switched off, with everything in them. The network is that of the caller, which must be in a network
 * namespace of its own (`own-host.ts`): there is one `docker0` for each network, and a second engine would take over
 * that of the first.
 */
export class OwnEngine {
  readonly socket: string;
  readonly #directory: string;
  readonly #cgroup: string;
  readonly #more: readonly string[];
  readonly #command: readonly string[] | null;
  #machine: Machine | undefined;
  #daemon: ChildProcess | undefined;

  /**
   * The data is stored in `data` of that directory, and survives all restarts and power cuts.
   * @param more flags of the daemon
   * @param command that serves the engine's API, instead of the daemon
   */
  constructor(
    directory: string,
    cgroup: string,
    more: readonly string[] = [],
    command: readonly string[] | null = null,
  ) {
    this.#command = command;
    this.#more = more;
    this.#directory = directory;
    this.#cgroup = cgroup;
    this.socket = join(directory, 'docker.sock');
  }

  get logFile(): string {
    return join(this.#directory, 'dockerd.log');
  }

  /** Switches the machine on if it is off, starts the daemon, and waits until it responds. */
  async start(): Promise<void> {
    this.#machine ??= await switchOn();
    const log = await open(this.logFile, 'a');
    const daemon = spawn(
      'nsenter',
      [...this.#machine.enter, '--', ...(this.#command ?? ['dockerd', ...this.#flags()])],
      {
        stdio: ['ignore', log.fd, log.fd],
      },
    );
    daemon.unref();
    await log.close();
    this.#daemon = daemon;
    const end = Date.now() + patienceMs;
    while (!(await this.answers())) {
      if (hasEnded(daemon) || Date.now() > end) {
        throw new Error(`the engine of the tests' own does not start:\n${await this.#lastWords()}`);
      }
      await sleep(50);
    }
  }

  async answers(): Promise<boolean> {
    const answer = await askEngine('GET', '/_ping', this.socket).catch(() => null);
    return answer?.status === 200;
  }

  /** Sends SIGKILL to the daemon only: shims and containers keep running. */
  kill(): Promise<void> {
    return this.#endDaemon('SIGKILL', 10_000);
  }

  /** Sends SIGTERM to the daemon, which stops its containers first. */
  stop(): Promise<void> {
    return this.#endDaemon('SIGTERM', patienceMs);
  }

  /** Kills daemon, containerd, shims and containers at once, like a power failure. */
  async cut(): Promise<void> {
    const machine = this.#machine;
    const daemon = this.#daemon;
    this.#machine = undefined;
    this.#daemon = undefined;
    await machine?.off();
    if (daemon !== undefined) await ended(daemon, 10_000);
    await rm(this.socket, { force: true });
  }

  #flags(): string[] {
    return [
      ...['--host', `unix://${this.socket}`],
      ...['--data-root', join(this.#directory, 'data')],
      ...['--exec-root', '/run/docker'],
      ...['--pidfile', '/run/dockerd.pid'],
      ...(this.#more.includes('--rootless') ? [] : ['--cgroup-parent', `/${this.#cgroup}`]),
      // Published ports are on loopback only, and the engine's proxy serves them.
      ...['--iptables=false', '--ip-masq=false'],
      ...this.#more,
    ];
  }

  async #endDaemon(signal: NodeJS.Signals, withinMs: number): Promise<void> {
    const daemon = this.#daemon;
    if (daemon?.pid === undefined) throw new Error('the daemon does not run');
    this.#daemon = undefined;
    for (const pid of await childrenOf(daemon.pid)) process.kill(pid, signal);
    await ended(daemon, withinMs);
  }

  async #lastWords(): Promise<string> {
    return (await readFile(this.logFile, 'utf8')).split('\n').slice(-15).join('\n');
  }
}

/** Programs without which no engine can run here. */
export function missingPrograms(path = ''): string[] {
  const folders = path.split(':');
  const wanted = ['dockerd', 'containerd', 'unshare', 'nsenter', 'mount', 'docker-registry'];
  return wanted.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
}

interface Machine {
  /** Flags of `nsenter`. */
  enter: string[];
  off(): Promise<void>;
}

/**
 * The first process of the machine reaps orphaned processes, and ends when its input is closed, which happens when the
 * process of the tests ends for any reason. The kernel then ends everything else there. Later mounts of the tests are
 * visible inside.
 */
async function switchOn(): Promise<Machine> {
  const script = 'mount -t tmpfs tmpfs /run && echo on && cat >/dev/null; exit 0';
  const shell = spawn(
    'unshare',
    ['--mount', '--propagation', 'slave', '--pid', '--fork', '--mount-proc', 'sh', '-c', script],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  shell.unref();
  const output = shell.stdout as Readable & { unref?(): void };
  await new Promise<void>((resolve, reject) => {
    output.once('data', () => resolve());
    shell.once('error', reject);
    shell.once('exit', () =>
      reject(new Error("no machine of the tests' own can be started: root is needed")),
    );
  });
  output.unref?.();
  (shell.stdin as Socket | null)?.unref();
  const [first] = shell.pid === undefined ? [] : await childrenOf(shell.pid);
  if (first === undefined) throw new Error('the machine has no first process');
  return {
    enter: ['--target', `${first}`, '--pid', '--mount'],
    off: async () => {
      process.kill(first, 'SIGKILL');
      await ended(shell, 10_000);
    },
  };
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const own = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      // The program's name is in parentheses and may contain any character.
      const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(ppid) === parent ? [Number(pid)] : [];
    }),
  );
  return own.flat();
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function ended(child: ChildProcess, withinMs: number): Promise<void> {
  const end = Date.now() + withinMs;
  while (!hasEnded(child)) {
    if (Date.now() > end) throw new Error(`${child.spawnfile} does not end within ${withinMs / 1000} s`);
    await sleep(20);
  }
}

/** Copies the updater's image from the engine of `scripts/image`. */
export async function loadImage(image: string, from: string | undefined, to: string): Promise<void> {
  const options = { extendEnv: false, stdin: 'ignore', timeout: 120_000 } as const;
  const { DOCKER_HOST: _, ...env } = process.env;
  const source = { ...env, ...(from === undefined ? {} : { DOCKER_HOST: from }) };
  await execa('docker', ['save', image], { ...options, env: source, buffer: false }).pipe(
    'docker',
    ['load', '--quiet'],
    { extendEnv: false, env: { ...env, DOCKER_HOST: to }, timeout: 120_000 },
  );
}
