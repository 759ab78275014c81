import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { closedRegistry, docker, type Node, on, until } from './swarm.ts';
import { updaterImage } from './updater-run.ts';

const swarmScript = fileURLToPath(new URL('../../scripts/swarm', import.meta.url));
const holdScript = fileURLToPath(new URL('swarm-hold.ts', import.meta.url));

export interface SwarmRunOptions {
  /** The directory to mount under its own path. */
  mount?: string;
  /** Whether the operator has credentials for the closed registry. */
  login?: boolean;
  /** Additional flags of `docker run`. */
  flags?: readonly string[];
  /** The socket on the node. Default: the engine's. */
  socket?: string;
  /** Seconds until the run is killed. Default 180. */
  patience?: number;
}

export interface SwarmRunResult {
  /** Null if the exit code is unknown because the node was killed. */
  exitCode: number | null;
  lines: string[];
}

/** Starts an updater on a node, like an operator. Await `done`, or act on the running updater. */
export async function runUpdater(
  node: Node,
  args: readonly string[],
  options: SwarmRunOptions = {},
): Promise<SwarmRun> {
  const { socket = '/var/run/docker.sock' } = options;
  const flags = ['-v', `${socket}:/var/run/docker.sock`, ...(options.flags ?? [])];
  if (options.mount !== undefined) flags.push('-v', `${options.mount}:${options.mount}`);
  if (options.login === true) {
    await docker(node, 'login', '--username', 'u', '--password', 'p', closedRegistry);
    const folder = (await on(node, 'printenv', 'DOCKER_CONFIG')).stdout;
    flags.push('-v', `${folder}/config.json:/root/.docker/config.json:ro`);
  }
  return new SwarmRun(node, flags, args, options.patience ?? 180);
}

/** Starts an updater that is killed after its first write to a service, before it can send another request. */
export async function runKilledAfterOneWrite(node: Node, args: readonly string[]): Promise<SwarmRunResult> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-updater-hold-'));
  const socket = join(folder, 'docker.sock');
  const hold = execa(swarmScript, ['on', node, process.execPath, holdScript, socket], { buffer: false });
  let said = '';
  hold.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  try {
    await until('the hold listens', async () => said.includes('listening'));
    const run = await runUpdater(node, args, { socket });
    await until('the first write is held', async () => said.includes('held') || run.ended);
    await run.kill();
    return await run.done;
  } finally {
    hold.stdin.end();
    await hold;
    await rm(folder, { recursive: true });
  }
}

export class SwarmRun {
  readonly name = `updater-${randomBytes(3).toString('hex')}`;
  readonly node: Node;
  log = '';
  /** Resolves with the result when the container has ended; never rejects because of the exit code. */
  readonly done: Promise<SwarmRunResult>;
  #listeners = new Set<() => void>();
  ended = false;

  constructor(node: Node, flags: readonly string[], args: readonly string[], patience: number) {
    this.node = node;
    const run = [
      'run',
      '--rm',
      '--name',
      this.name,
      '--stop-timeout',
      '120',
      ...flags,
      updaterImage,
      ...args,
    ];
    const child = execa(swarmScript, ['on', node, 'docker', ...run], {
      all: true,
      reject: false,
      stdin: 'ignore',
      buffer: false,
    });
    child.all.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
      this.#tell();
    });
    const impatience = setTimeout(() => this.kill(), patience * 1000);
    this.done = child.then(({ exitCode }) => {
      clearTimeout(impatience);
      this.ended = true;
      this.#tell();
      return { exitCode: exitCode ?? null, lines: this.log.split('\n').filter((line) => line !== '') };
    });
  }

  /** Resolves once a line matches. Throws with the log if the run ends or the time is over before. */
  async waitFor(pattern: RegExp, seconds = 60): Promise<string> {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const line = this.log.split('\n').find((each) => pattern.test(each));
      if (line !== undefined) return line;
      if (this.ended || Date.now() > end) {
        throw new Error(
          `${this.ended ? 'it ended' : `${seconds} s passed`} without ${pattern}:\n${this.log}`,
        );
      }
      await this.#next(end - Date.now());
    }
  }

  /** Runs `docker kill -s`: by default KILL; STOP and CONT pause and continue the updater. */
  async kill(signal = 'KILL'): Promise<void> {
    await on(this.node, 'docker', 'kill', '-s', signal, this.name);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #next(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer);
        this.#listeners.delete(settle);
        resolve();
      };
      const timer = setTimeout(settle, withinMs);
      this.#listeners.add(settle);
    });
  }
}
