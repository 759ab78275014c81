import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { type ContainerInspection, findContainers, inspectAgain, removeNamed } from './engine-api.ts';
import { freePort } from './free-port.ts';
import type { InstanceOptions } from './instance-options.ts';
import { type Layout, layouts } from './layout.ts';
import { publish } from './registry.ts';
import { type ReleaseOptions, releases } from './releases.ts';
import { containerStates, fileStates, type Snapshot } from './snapshot.ts';
import type { TestHost } from './test-host.ts';
import { imagesCompose, type UpdateResult, type UpdaterOptions, UpdaterRun } from './updater-run.ts';

const keptText = 'Written before the update; must be there after it.\n';
const floating: Record<string, ReleaseOptions> = {
  latest: { version: '1.0.0' },
  canary: { version: '1.1.0-canary.1' },
};

/** Creates a compose directory and starts it with `docker compose up -d`, like an operator. */
export async function startInstance(host: TestHost, options: InstanceOptions = {}): Promise<Instance> {
  const name = options.name ?? `${host.run}-${randomBytes(3).toString('hex')}`;
  return started(new Instance(host, name, await freePort(), options));
}

/** Starts an instance, and removes it if the start fails. */
export async function started<T extends Instance>(instance: T): Promise<T> {
  try {
    await instance.start();
  } catch (error) {
    await instance.dispose();
    throw error;
  }
  return instance;
}

export class Instance {
  /** The last part of the directory, and part of the name of all its objects. */
  readonly name: string;
  readonly directory: string;
  readonly project: string;
  readonly port: number;
  /** The repository of app and worker, including the registry; no other instance uses it. */
  readonly image: string;
  readonly #host: TestHost;
  readonly #options: InstanceOptions;
  readonly #layout: Layout;

  constructor(host: TestHost, name: string, port: number, options: InstanceOptions) {
    this.name = name;
    this.port = port;
    this.directory = join(host.directory, options.folder ?? '', name);
    this.project = options.project === undefined ? name : `${name}-${options.project}`;
    this.image = `${options.registry ?? host.registry}/${name}/${options.repository ?? 'svc'}`;
    this.#host = host;
    this.#options = options;
    const { tag = 'v1.0.0', text = {} } = options;
    const context = { image: this.image, parts: host.parts, port, tag, text };
    const { files, flags } = options.layout?.(context) ?? layouts[options.kind ?? 'variable'](context);
    const changed = { ...files, ...options.files?.(context) };
    this.#layout = {
      files: Object.fromEntries(
        Object.entries(changed).flatMap(([path, text]) => (text === null ? [] : [[path, text]])),
      ),
      flags: [
        ...flags,
        ...(options.project === undefined ? [] : ['-p', this.project]),
        ...(options.flags ?? []),
      ],
    };
  }

  async start(): Promise<void> {
    const { tag = 'v1.0.0', release, publish: others = ['v1.1.0'] } = this.#options;
    await Promise.all([
      this.publish(tag, release ?? floating[tag]),
      ...others.filter((other) => other !== tag).map((other) => this.publish(other)),
      this.#writeFiles(),
    ]);
    if (this.#options.pullFirst) await this.compose('pull', '--quiet');
    await this.compose('up', '-d', ...(this.#options.up ?? []));
    if (!this.#options.impatient) await this.waitUntilHealthy();
  }

  /**
   * Publishes a release with a tag of this instance's repository and returns its digest. An existing tag then points
   * to it.
   */
  publish(tag: string, options: ReleaseOptions = releases[tag] ?? {}): Promise<string> {
    return publish(this.#host.registry, `${this.name}/${this.#options.repository ?? 'svc'}`, tag, options);
  }

  /** Runs `docker compose …` with the flags of this instance in its directory, and returns its output. */
  async compose(...args: string[]): Promise<string> {
    const { PATH = '', HOME = '/', DOCKER_HOST } = process.env;
    const { byImagesCompose, shell = {} } = this.#options;
    const command = byImagesCompose ? imagesCompose(this.directory, shell) : ['compose'];
    const result = await execa('docker', [...command, ...this.#layout.flags, ...args], {
      cwd: this.directory,
      env: { PATH, HOME, ...(DOCKER_HOST === undefined ? {} : { DOCKER_HOST }), ...shell },
      extendEnv: false,
      stdin: 'ignore',
      all: true,
      timeout: 120_000,
    });
    return result.all;
  }

  /** Waits until every container of the project is running, and those with a health check are healthy. */
  async waitUntilHealthy(seconds = 120): Promise<void> {
    const end = Date.now() + seconds * 1000;
    let containers = await findContainers(this.project);
    for (;;) {
      const unwell = containers.filter(
        ({ State }) => State.Status !== 'running' || (State.Health?.Status || 'healthy') !== 'healthy',
      );
      if (containers.length > 0 && unwell.length === 0) return;
      if (Date.now() > end) {
        const names = unwell.map(
          ({ Name, State }) => `${Name.slice(1)} ${State.Health?.Status ?? State.Status}`,
        );
        throw new Error(`not healthy after ${seconds} s: ${names.join(', ')}\n${await this.compose('logs')}`);
      }
      await sleep(50);
      // For a list, an engine with the containerd store needs about five milliseconds for each container.
      const again = await inspectAgain(containers);
      containers =
        again.length > 0 && again.length === containers.length ? again : await findContainers(this.project);
    }
  }

  /** The response of the app, such as `v1.0.0`; null if there is none. */
  version(): Promise<string | null> {
    return this.#get('/version');
  }

  /** The project's containers by name. */
  async containers(): Promise<Snapshot['containers']> {
    return (await containerStates(this.project, this.name)).containers;
  }

  /** The version that a worker writes from now on; null if none is running. */
  async workerVersion(): Promise<string | null> {
    const runs = ({ Config, State }: ContainerInspection) =>
      Config.Cmd?.[0] === 'worker' && State.Status === 'running';
    let workers = (await findContainers(this.project)).filter(runs);
    const path = join(this.directory, 'data', 'worker');
    await rm(path, { force: true });
    // The worker writes four times a second, unless the machine is busy.
    const end = Date.now() + 30_000;
    while (workers.length > 0 && Date.now() < end) {
      await sleep(50);
      const text = await readFile(path, 'utf8').catch(() => null);
      if (text !== null) return text.trim();
      workers = (await inspectAgain(workers)).filter(runs);
    }
    return null;
  }

  /** All starts of app and worker so far, such as `app v1.0.0`, in order. */
  async boots(): Promise<string[]> {
    return (await readFile(join(this.directory, 'data', 'boots'), 'utf8')).trim().split('\n');
  }

  async snapshot(): Promise<Snapshot> {
    const onDisk = readFile(join(this.directory, 'data', 'kept.txt'), 'utf8').catch(() => null);
    const [version, workerVersion, kept, served, containers, files] = await Promise.all([
      this.version(),
      this.workerVersion(),
      onDisk,
      this.#get('/data/kept.txt'),
      containerStates(this.project, this.name),
      fileStates(this.directory),
    ]);
    return { version, workerVersion, kept: { onDisk: kept, served }, ...containers, files };
  }

  /** The text of a file of the compose directory. */
  read(path: string): Promise<string> {
    return readFile(join(this.directory, path), 'utf8');
  }

  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.directory, path)), { recursive: true });
    await writeFile(join(this.directory, path), text);
  }

  /** Runs the updater with `docker run`, and waits until it ends. */
  update(args: readonly string[] = [], options: UpdaterOptions = {}): Promise<UpdateResult> {
    return this.startUpdate(args, options).done;
  }

  /** Starts the updater without waiting for its end. */
  startUpdate(args: readonly string[] = [], options: UpdaterOptions = {}): UpdaterRun {
    return new UpdaterRun(this, args, options);
  }

  /** Removes all traces of the instance in any state. */
  async dispose(): Promise<void> {
    await removeNamed(this.name);
    await rm(this.directory, { recursive: true, force: true });
  }

  async #writeFiles(): Promise<void> {
    await mkdir(join(this.directory, 'data'), { recursive: true });
    await this.write('data/kept.txt', keptText);
    await this.write('svc.yaml', 'theme: dark\n');
    for (const [path, text] of Object.entries(this.#layout.files)) {
      await this.write(path, path === '.env' ? text + (this.#options.env ?? '') : text);
    }
    if (this.#layout.files['.env'] === undefined || this.#options.keepsNoOwners) return;
    // An owner and a mode that a careless update would lose.
    await chmod(join(this.directory, '.env'), 0o640);
    if (process.getuid?.() === 0) await chown(join(this.directory, '.env'), 1000, 1000);
  }

  async #get(path: string): Promise<string | null> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, {
        // If nobody is listening, the kernel rejects the connection at once.
        signal: AbortSignal.timeout(30_000),
      });
      const text = await answer.text();
      return answer.ok ? (path === '/version' ? text.trim() : text) : null;
    } catch {
      return null;
    }
  }
}
