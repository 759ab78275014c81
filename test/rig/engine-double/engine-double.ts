// An engine for moments that a real engine cannot be forced into. Its responses, and the life of its containers, were
// recorded from a real engine; tests plan the faults.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerSpec } from '../../../src/engine/api-objects.ts';
import { ContainerDouble } from './container-double.ts';
import { type Asked, Door } from './door.ts';
import { type Fault, type FaultHandle, FaultPlan } from './faults.ts';
import { Images } from './images.ts';
import type { Reply } from './reply.ts';
import { answer, type EngineState } from './routes.ts';
import type { Script } from './script.ts';
import { type ServerDouble, type ServerOptions, serverSpec } from './server.ts';

const mainDoor = 'main';

/** Names that this process may take for its own container's, wherever the tests run. */
async function ownNames(): Promise<string[]> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return [...(/\b[0-9a-f]{64}\b/g.exec(mounts) ?? []), hostname()];
}

export class EngineDouble {
  readonly images = new Images();
  /** All requests so far: `GET /v1.45/containers/svc-updater/json`. */
  readonly requests: { line: string; door: string }[] = [];
  readonly #directory: string;
  readonly #doors = new Map<string, Door>();
  readonly #servers = new Map<string, ContainerDouble>();
  readonly #faults = new FaultPlan();
  readonly #state: EngineState;
  readonly #watching = new Set<(container: ContainerDouble) => void>();
  #scripts: readonly Script[] = [];
  /** For new containers: the pause before a failed container is restarted. */
  restartPauseMs = 100;

  private constructor(directory: string, ownNames: readonly string[]) {
    this.#directory = directory;
    this.#state = {
      images: this.images,
      containers: [],
      find: (name, door) =>
        this.find(name) ?? (ownNames.includes(name) ? (this.#servers.get(door) ?? null) : null),
      create: (spec, imageId) => this.create(spec, imageId),
      remove: (container) => container.vanish(),
    };
  }

  static async start(): Promise<EngineDouble> {
    const directory = await mkdtemp(join(tmpdir(), 'engine-double-'));
    const engine = new EngineDouble(directory, await ownNames());
    await engine.#addDoor(mainDoor);
    return engine;
  }

  /** A socket that is not mounted in any server. */
  get path(): string {
    return this.#door(mainDoor).path;
  }

  get containers(): readonly ContainerDouble[] {
    return this.#state.containers;
  }

  /** The newest container that is not a server's. */
  get updater(): ContainerDouble {
    const found = this.containers.findLast((each) => this.isUpdater(each));
    if (!found) throw new Error('nobody has made a container');
    return found;
  }

  /**
   * Whether a container is an updater: not a server, and not one that a server uses to test mounts, prefetch, rehearse,
   * or get a rollback preview or a report.
   */
  isUpdater(container: ContainerDouble): boolean {
    const isProbe = container.spec.Labels?.['svc-updater.probe'] !== undefined;
    const [command, option] = container.spec.Cmd ?? [];
    const isAsked = command === 'report' || (command === 'rollback' && option !== '--yes');
    const isAhead = command === 'fetch' || command === 'rehearse';
    return !isProbe && !isAsked && !isAhead && ![...this.#servers.values()].includes(container);
  }

  /** The scripts of new containers, one for each start. */
  updaterDoes(...starts: readonly Script[]): void {
    this.#scripts = starts;
  }

  /** Calls the function at each start of a container, including restarts. */
  onStart(tell: (container: ContainerDouble) => void): void {
    this.#watching.add(tell);
  }

  find(name: string): ContainerDouble | null {
    return (
      this.containers.find((each) => each.id === name || each.name === name) ??
      (/^[0-9a-f]{12,}$/.test(name) ? this.containers.find((each) => each.id.startsWith(name)) : undefined) ??
      null
    );
  }

  /** Creates a container like an operator. */
  create(spec: ContainerSpec, imageId = this.images.add(spec.Image).id): ContainerDouble {
    return this.#add(spec, { imageId, scripts: this.#scripts });
  }

  async addServer(options: ServerOptions = {}): Promise<ServerDouble> {
    const spec = serverSpec(options);
    const door = await this.#addDoor(spec.name);
    const mounts = [{ Source: '/var/run/docker.sock', Destination: door.path, RW: true }];
    const container = this.#add(spec, { imageId: this.images.add(spec.Image).id, mounts });
    this.#servers.set(door.name, container);
    if (options.isRunning ?? true) container.start();
    return { container, socketPath: door.path, door: door.name };
  }

  #add(
    spec: ContainerSpec,
    how: Pick<ConstructorParameters<typeof ContainerDouble>[0], 'imageId' | 'mounts' | 'scripts'>,
  ): ContainerDouble {
    const container = new ContainerDouble({
      ...how,
      spec,
      restartPauseMs: this.restartPauseMs,
      onGone: (gone) => {
        this.#state.containers = this.#state.containers.filter((each) => each !== gone);
      },
      onBegin: (begun) => {
        for (const tell of [...this.#watching]) tell(begun);
      },
    });
    this.#state.containers.push(container);
    return container;
  }

  fault(fault: Fault): FaultHandle {
    return this.#faults.add(fault);
  }

  /** Ends all faults; hanging requests continue. */
  clearFaults(): void {
    this.#faults.clear();
  }

  /** Stops listening at one door or at all; containers keep running. */
  async down({ file = 'stays', door }: { file?: 'stays' | 'goes'; door?: string } = {}): Promise<void> {
    await Promise.all(this.#doorsOf(door).map((each) => each.close({ file })));
  }

  async up(door?: string): Promise<void> {
    await Promise.all(this.#doorsOf(door).map((each) => each.open()));
  }

  async close(): Promise<void> {
    this.clearFaults();
    for (const container of [...this.containers]) container.vanish();
    await this.down({ file: 'goes' });
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #addDoor(name: string): Promise<Door> {
    const door = new Door({
      name,
      path: join(this.#directory, `${name}.sock`),
      faults: this.#faults,
      answer: (asked: Asked, reply: Reply) => answer(this.#state, asked, reply),
      onRequest: ({ line }) => void this.requests.push({ line, door: name }),
    });
    this.#doors.set(name, door);
    await door.open();
    return door;
  }

  #door(name: string): Door {
    const door = this.#doors.get(name);
    if (!door) throw new Error(`the engine has no door ${name}`);
    return door;
  }

  #doorsOf(name: string | undefined): Door[] {
    return name === undefined ? [...this.#doors.values()] : [this.#door(name)];
  }
}
