import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

const script = fileURLToPath(new URL('../../scripts/swarm', import.meta.url));
export const openRegistry = '10.77.0.1:5000';
/** User `u`, password `p`. */
export const closedRegistry = '10.77.0.1:5001';
export const nodes = ['n1', 'n2', 'n3'] as const;
export type Node = (typeof nodes)[number];

export interface Answer {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** Runs `scripts/swarm` with these arguments; never rejects because of the exit code. */
export async function swarm(...args: string[]): Promise<Answer> {
  const { stdout, stderr, exitCode } = await execa(script, args, {
    reject: false,
    stdin: 'ignore',
    timeout: 180_000,
  });
  return { stdout, stderr, exitCode: exitCode ?? -1 };
}

export const on = (node: Node, ...command: string[]): Promise<Answer> => swarm('on', node, ...command);

/** Runs `docker` on that node and returns its output; rejects if it fails. */
export async function docker(node: Node, ...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await on(node, 'docker', ...args);
  if (exitCode !== 0)
    throw new Error(`docker ${args.join(' ')} on ${node} ended with ${exitCode}:\n${stderr}`);
  return stdout;
}

/** Polls every 200 ms until the condition is true. */
export async function until(what: string, isSo: () => Promise<boolean>, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`${seconds} s passed without: ${what}`);
    await sleep(200);
  }
}

export interface ServiceOptions {
  /** The whole reference; default `acme/svc` of the open registry, with the stack's version. */
  image?: string;
  replicas?: number | 'global';
  /** Additional keys under `deploy:`, such as `update_config` or `placement`. */
  deploy?: Readonly<Record<string, unknown>>;
  /** Additional keys of the service, such as `healthcheck`, `environment` or `ports` (in `mode: host`). */
  more?: Readonly<Record<string, unknown>>;
}

export interface StackOptions {
  name?: string;
  version?: string;
  registry?: string;
  /** Changes of the defaults of `app` (2 replicas), `worker` (1) and `db` (1, on n1), or additional services. */
  services?: Readonly<Record<string, ServiceOptions>>;
}

/** A stack with its own directory, whose `data` is `/data` in all services except `db`. */
export class Stack {
  readonly name: string;
  readonly directory: string;
  /** The manager for requests: another manager if a test disconnects n1. */
  manager: Node = 'n1';
  options: StackOptions;

  constructor(directory: string, options: StackOptions) {
    this.name = options.name ?? `t${randomBytes(3).toString('hex')}`;
    this.directory = directory;
    this.options = options;
  }

  /** Writes the stack file, with another version if given, and deploys it. */
  async deploy(version?: string): Promise<void> {
    if (version !== undefined) this.options = { ...this.options, version };
    const file = join(this.directory, 'stack.yaml');
    await writeFile(file, JSON.stringify(stackFile(this.directory, this.options), null, 2));
    // With the node's credentials, if it has any.
    const words = ['stack', 'deploy', '--detach=true', '--with-registry-auth', '-c', file, this.name];
    await docker(this.manager, ...words);
  }

  /** Waits until every wanted task is running with the current image of its service. */
  runs(seconds = 60): Promise<void> {
    return until(`all tasks of ${this.name} run`, () => this.#runs(), seconds);
  }

  async #runs(): Promise<boolean> {
    const rows = await this.list('service', '{{.Name}} {{.Replicas}}');
    const checks = rows.map(async (row) => {
      const [name = '', count = ''] = row.split(' ');
      const [running, wanted] = count.split('/');
      const image = await docker(this.manager, 'service', 'inspect', '--format', imageFormat, name);
      const tasks = await this.tasks(name, '{{.Image}} {{.CurrentState}}');
      return running === wanted && tasks.every((task) => task.startsWith(`${image} Running`));
    });
    return rows.length > 0 && (await Promise.all(checks)).every(Boolean);
  }

  /** The tasks with the desired state `running`. */
  async tasks(service: string, format: string): Promise<string[]> {
    const filter = ['--no-trunc', '--filter', 'desired-state=running', '--format', format];
    return linesOf(await docker(this.manager, 'service', 'ps', ...filter, service));
  }

  async list(kind: 'service' | 'network', format: string): Promise<string[]> {
    const filter = `label=com.docker.stack.namespace=${this.name}`;
    return linesOf(await docker(this.manager, kind, 'ls', '--filter', filter, '--format', format)).toSorted();
  }

  async boots(): Promise<string[]> {
    return linesOf(await readFile(join(this.directory, 'data/boots'), 'utf8'));
  }

  /** Removes all objects of the stack, and those of the updater for it. */
  async remove(): Promise<void> {
    await docker(this.manager, 'stack', 'rm', this.name);
    await on(this.manager, 'docker', 'config', 'rm', `svc-updater.${this.name}`);
    const gone = async () => (await this.list('network', '{{.ID}}')).length === 0;
    await until(`${this.name} is gone`, gone);
    for (const node of nodes) {
      const volumes = await on(node, 'docker', 'volume', 'ls', '-q', '--filter', `name=^${this.name}_`);
      for (const volume of linesOf(volumes.stdout)) await on(node, 'docker', 'volume', 'rm', volume);
    }
    await rm(this.directory, { recursive: true, force: true });
  }
}

const imageFormat = '{{.Spec.TaskTemplate.ContainerSpec.Image}}';
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** Deploys a stack, and waits until all of it is running. If that fails, the stack is removed. */
export async function deployStack(options: StackOptions = {}): Promise<Stack> {
  const directory = await mkdtemp(join(tmpdir(), 'swarm-'));
  await mkdir(join(directory, 'data'));
  await writeFile(join(directory, 'data/boots'), '');
  // The user of an image may be nobody.
  for (const path of ['.', 'data']) await chmod(join(directory, path), 0o777);
  await chmod(join(directory, 'data/boots'), 0o666);
  const stack = new Stack(directory, options);
  try {
    await stack.deploy();
    await stack.runs();
  } catch (error) {
    await stack.remove();
    throw error;
  }
  return stack;
}

function stackFile(directory: string, options: StackOptions): object {
  const given: Readonly<Record<string, ServiceOptions>> = {
    app: { replicas: 2 },
    worker: {},
    db: { image: `${openRegistry}/acme/db:16`, deploy: onFirst },
    ...options.services,
  };
  const image = `${options.registry ?? openRegistry}/acme/svc:${options.version ?? '1.4.2'}`;
  const services = Object.entries(given).map(([name, service]) => [
    name,
    {
      image: service.image ?? image,
      command: [name],
      ...(name === 'db' ? {} : { volumes: [`${directory}/data:/data`] }),
      ...service.more,
      deploy: {
        // The kernel may lack IPVS.
        endpoint_mode: 'dnsrr',
        ...(service.replicas === 'global' ? { mode: 'global' } : { replicas: service.replicas ?? 1 }),
        ...service.deploy,
      },
    },
  ]);
  return { version: '3.8', services: Object.fromEntries(services) };
}

const onFirst = { placement: { constraints: ['node.hostname==n1'] } };
