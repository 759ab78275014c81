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

/** Makes a compose directory and starts it with plain `docker compose up -d`, as a person does. */
export async function startInstance(host: TestHost, options: InstanceOptions = {}): Promise<Instance> {
  const name = options.name ?? `${host.run}-${randomBytes(3).toString('hex')}`;
  return started(new Instance(host, name, await freePort(), options));
}

/** Starts it; one that cannot be started leaves nothing. */
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
  /** The last part of the directory, and part of the name of everything that belongs to the instance. */
  readonly name: string;
  readonly directory: string;
  readonly project: string;
  readonly port: number;
  /** The repository of app and worker, registry included; no other instance uses it. */
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

  /** Puts a release under a tag of this instance's repository and returns its digest; a tag that exists moves. */
  publish(tag: string, options: ReleaseOptions = releases[tag] ?? {}): Promise<string> {
    return publish(this.#host.registry, `${this.name}/${this.#options.repository ?? 'svc'}`, tag, options);
  }

  /** `docker compose …` with the flags of this instance, typed in its directory; returns what it printed. */
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

  /** Every container of the project runs, and those with a health check are healthy. */
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
      // A list takes an engine with the containerd store some five milliseconds for each container in it.
      const again = await inspectAgain(containers);
      containers =
        again.length > 0 && again.length === containers.length ? again : await findContainers(this.project);
    }
  }

  /** What the app answers, such as `v1.0.0`; null where it does not answer. */
  version(): Promise<string | null> {
    return this.#get('/version');
  }

  /** The project's containers by name. */
  async containers(): Promise<Snapshot['containers']> {
    return (await containerStates(this.project, this.name)).containers;
  }

  /** What a worker writes from now on; null where none runs. */
  async workerVersion(): Promise<string | null> {
    const runs = ({ Config, State }: ContainerInspection) =>
      Config.Cmd?.[0] === 'worker' && State.Status === 'running';
    let workers = (await findContainers(this.project)).filter(runs);
    const path = join(this.directory, 'data', 'worker');
    await rm(path, { force: true });
    // It writes four times a second, if the machine lets it.
    const end = Date.now() + 30_000;
    while (workers.length > 0 && Date.now() < end) {
      await sleep(50);
      const text = await readFile(path, 'utf8').catch(() => null);
      if (text !== null) return text.trim();
      workers = (await inspectAgain(workers)).filter(runs);
    }
    return null;
  }

  /** Every start of app and worker so far, such as `app v1.0.0`, in order. */
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

  /** Runs the updater to its end by `docker run`. */
  update(args: readonly string[] = [], options: UpdaterOptions = {}): Promise<UpdateResult> {
    return this.startUpdate(args, options).done;
  }

  /** Starts the updater and leaves it running. */
  startUpdate(args: readonly string[] = [], options: UpdaterOptions = {}): UpdaterRun {
    return new UpdaterRun(this, args, options);
  }

  /** Removes every trace of the instance, in whatever state it is. */
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
    // An owner and a mode that an update would lose if it did not care.
    await chmod(join(this.directory, '.env'), 0o640);
    if (process.getuid?.() === 0) await chown(join(this.directory, '.env'), 1000, 1000);
  }

  async #get(path: string): Promise<string | null> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, {
        // Where nobody listens, the kernel says so at once.
        signal: AbortSignal.timeout(30_000),
      });
      const text = await answer.text();
      return answer.ok ? (path === '/version' ? text.trim() : text) : null;
    } catch {
      return null;
    }
  }
}
