import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import type { Settings } from '../contract/options.ts';
import { findHome, type Home, HomeNotFound, unreachable } from './home.ts';
import { isAbout } from './updater-container.ts';

/** What the engine tells. */
export interface Surroundings {
  home: Home | null;
  homeless: HomeNotFound | null;
  /** The container of the updater's name, and whose it is; null where there is none. */
  updater: { container: ContainerDetails; isOurs: boolean } | null;
}

const freshMs = 1_000;
const staleMs = 10_000;

/** Looks at the surroundings: a question or two to the engine. */
export class SurroundingsCache {
  readonly #engine: EngineSocket;
  readonly #settings: Settings;
  #home: Home | null = null;
  #last: { at: number; seen: Surroundings } | null = null;
  #looking: Promise<Surroundings> | null = null;

  constructor(engine: EngineSocket, settings: Settings) {
    this.#engine = engine;
    this.#settings = settings;
  }

  /** Null while it has not been found. */
  get home(): Home | null {
    return this.#home;
  }

  /** A server stays where it is: found once, it is not looked for again. @throws HomeNotFound */
  async findHome(): Promise<Home> {
    this.#home ??= await findHome(this.#engine, this.#settings);
    return this.#home;
  }

  /** Looks now, and sees nothing from before. */
  async look(): Promise<Surroundings> {
    const seen = await this.#place();
    this.#last = { at: performance.now(), seen };
    return seen;
  }

  /**
   * What was seen last, where that is younger than a second. Older, it is looked at again; up to ten seconds nobody
   * waits for that.
   */
  async recent(): Promise<Surroundings> {
    const age = this.#last === null ? Number.POSITIVE_INFINITY : performance.now() - this.#last.at;
    if (this.#last !== null && age < freshMs) return this.#last.seen;
    this.#looking ??= this.look().finally(() => {
      this.#looking = null;
    });
    return this.#last === null || age > staleMs ? this.#looking : this.#last.seen;
  }

  async #place(): Promise<Surroundings> {
    try {
      const home = await this.findHome();
      const container = await this.#engine.inspect(this.#settings.containerName).catch((error) => {
        throw unreachable(this.#engine, error);
      });
      const updater = container && { container, isOurs: isAbout(container, home) };
      return { home, homeless: null, updater };
    } catch (error) {
      if (error instanceof HomeNotFound) return { home: null, homeless: error, updater: null };
      throw error;
    }
  }
}
