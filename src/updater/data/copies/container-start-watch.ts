import { watchContainerStarts } from '../../../engine/containers/container-events.ts';
import { projectFilterOf } from '../../../engine/containers/project-containers.ts';
import { type Container, hasStarted, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import type { DataContext } from '../data-context.ts';
import type { SavedMount } from '../restore-point.ts';
import {
  evaluateRunningWriters,
  isServiceContainer,
  type MountSelectionContext,
} from '../selection/choose-mounts.ts';

/** Container that was started while the data must not change. */
export interface StartedContainer {
  id: string;
  name: string;
  /** Service of this project to which the container belongs; empty if there is none. */
  service: string;
}

interface Watched {
  project: { name: string; directory: string };
  covered: readonly string[];
  mounts: readonly SavedMount[];
}

/**
 * Watches for containers that start while the data must not change. Events report each start at once, even of a
 * container that is soon removed. Polls compare ids and start times, to find starts that the events missed.
 */
export class ContainerStartWatch {
  readonly #doors: DataContext;
  readonly #watched: Watched;
  readonly #around: MountSelectionContext;
  readonly #end: () => void;
  /**
   * Ids of containers that cannot write to the data. These containers are not inspected again, because a container's
   * mounts never change.
   */
  readonly #harmless = new Set<string>();
  #known = new Map<string, string>();
  #heard = new Map<string, StartedContainer>();
  #work = new AbortController();

  private constructor(dataContext: DataContext, watched: Watched, dataRoot: string) {
    this.#doors = dataContext;
    this.#watched = watched;
    const { name, directory } = watched.project;
    this.#around = {
      project: name,
      directory,
      files: [],
      restorePointsDirectory: '',
      dataRoot,
      options: new Map(),
    };
    this.#end = watchContainerStarts(dataContext.engine, (id, attributes) => void this.#hear(id, attributes));
  }

  static async open(dataContext: DataContext, watched: Watched): Promise<ContainerStartWatch> {
    const info = await dataContext.engine.getInfo();
    const watch = new ContainerStartWatch(dataContext, watched, String(info.DockerRootDir ?? ''));
    // Inspect all containers before the downtime. There may be a hundred, and harmless ones can then be skipped.
    await watch.#look();
    return watch;
  }

  close(): void {
    this.#end();
  }

  /**
   * Call this after all services that use the data have stopped. The first start of a container that may write to the
   * data then aborts `work`.
   */
  async begin(work: AbortController): Promise<void> {
    this.#heard = new Map();
    this.#work = work;
    this.#known = new Map((await this.#look()).map(({ id, startedAt }) => [id, startedAt]));
  }

  /** Returns the containers that may write to the data and are running, or have started since `begin`. */
  async listStartedContainers(): Promise<StartedContainer[]> {
    const now = await this.#look();
    const seen = now.filter((each) => {
      const before = this.#known.get(each.id);
      return isUp(each) || (hasStarted(each) && before !== each.startedAt);
    });
    const gone = [...this.#heard.values()].filter(({ id }) => !now.some((each) => each.id === id));
    return [...seen.map(({ id, name, labels }) => this.#told(id, name, labels)), ...gone];
  }

  /** @param attributes - labels and name of the container */
  async #hear(id: string, attributes: Container['labels']): Promise<void> {
    if (!this.#isCovered({ labels: attributes })) {
      // A container that was already removed cannot be inspected and is ignored.
      const [container] = await this.#doors.engine.inspectContainers([id]).catch(() => []);
      if (container === undefined || !(await this.#isWriter(container).catch(() => false))) return;
    }
    this.#heard.set(id, this.#told(id, attributes.name ?? id.slice(0, 12), attributes));
    this.#work.abort(new ContainerStartedError());
  }

  /**
   * Returns all containers of covered services, even stopped containers, and other containers that can write to the
   * data.
   */
  async #look(): Promise<Container[]> {
    const { engine, project } = this.#doors;
    const [running, own] = await Promise.all([
      engine.listContainers({ status: ['running', 'restarting', 'paused'] }),
      engine.listContainers(projectFilterOf(project)),
    ]);
    const all = new Set([...running, ...own].map(({ id }) => id));
    const ids = [...all].filter((id) => !this.#harmless.has(id));
    const found: Container[] = [];
    for (const container of await engine.inspectContainers(ids)) {
      if (this.#isCovered(container) || (await this.#isWriter(container))) found.push(container);
      else if (isUp(container)) this.#harmless.add(container.id);
    }
    return found;
  }

  #isCovered(container: Pick<Container, 'labels'>): boolean {
    const isOwn = container.labels[composeLabels.project] === this.#doors.project;
    return isOwn && this.#watched.covered.includes(serviceOf(container));
  }

  async #isWriter(container: Container): Promise<boolean> {
    const volumes = container.storage.flatMap(({ type, source }) => (type === 'volume' ? [source] : []));
    const options = await this.#doors.engine.listVolumes(volumes);
    const around = { ...this.#around, options: new Map(options.map((each) => [each.name, each.options])) };
    const isTools = ({ imageId }: Container) => imageId === this.#doors.helperImageId;
    return evaluateRunningWriters(this.#watched.mounts, [container], around, isTools).refusals.length > 0;
  }

  #told(id: string, name: string, labels: Container['labels']): StartedContainer {
    const isService = isServiceContainer({ labels }, this.#doors.project);
    return { id, name, service: isService ? serviceOf({ labels }) : '' };
  }
}

/**
 * Once this many different containers have started, no further start is tolerated. A limit per container is not
 * sufficient: each `docker compose run` starts a new container.
 */
const mostStarted = 10;

/**
 * Counts the unwanted starts of each container, keyed by name. Starts of different containers are not added up, because
 * one `docker compose up` may start several containers in turn.
 */
export class RepeatedStartCounter {
  readonly #stops = new Map<string, { count: number; at: number }>();
  readonly #most: number;
  readonly #restlessMs: number;

  /**
   * @param most - tolerated starts of one container
   * @param restlessMs - a container that starts again within this many ms of its stop counts as being in a restart loop
   */
  constructor(most: number, restlessMs = 0) {
    this.#most = most;
    this.#restlessMs = restlessMs;
  }

  /** Returns the names of containers whose starts are no longer tolerated. */
  findRepeatedlyStarted(started: readonly StartedContainer[]): string[] {
    const names = started.map(({ name }) => name);
    if (this.#stops.size >= mostStarted) return names;
    return names.filter((name) => {
      const { count = 0, at = Number.NEGATIVE_INFINITY } = this.#stops.get(name) ?? {};
      return count >= this.#most || performance.now() - at < this.#restlessMs;
    });
  }

  /** Records that these containers were stopped again after an unwanted start. */
  recordStops(started: readonly StartedContainer[]): void {
    const at = performance.now();
    for (const { name } of started)
      this.#stops.set(name, { count: (this.#stops.get(name)?.count ?? 0) + 1, at });
  }
}

/** Reason for aborting a copy: a container was started that may write to the data. */
export class ContainerStartedError extends Error {}
