import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import type { Channel } from '../../release/channel.ts';
import { isChannel, type Job, type Settings } from '../contract/options.ts';
import { findHome, type Home, HomeNotFound, unreachable } from './home.ts';
import { isAbout } from './updater-container.ts';

/** Everything outside the process that a status is made of. */
export interface Surroundings {
  home: Home | null;
  homeless: HomeNotFound | null;
  /** The container of the updater's name, and whose it is; null where there is none. */
  updater: { container: ContainerDetails; isOurs: boolean } | null;
  jobs: readonly Job[];
  channel: Channel;
}

const freshMs = 1_000;
const staleMs = 10_000;

/** Looks at the surroundings: a question or two to the engine, and what the host tells. */
export class SurroundingsCache {
  readonly #engine: EngineSocket;
  readonly #settings: Settings;
  #home: Home | null = null;
  #last: { at: number; seen: Surroundings } | null = null;
  #looking: Promise<Surroundings> | null = null;
  #channel: Channel = 'stable';

  constructor(engine: EngineSocket, settings: Settings) {
    this.#engine = engine;
    this.#settings = settings;
  }

  /** A server stays where it is: found once, it is not looked for again. @throws Homeless */
  async home(): Promise<Home> {
    this.#home ??= await findHome(this.#engine, this.#settings);
    return this.#home;
  }

  /** The channel that was seen last. */
  get channel(): Channel {
    return this.#channel;
  }

  /** Looks now, and sees nothing from before. */
  async look(): Promise<Surroundings> {
    const [place, jobs, stored] = await Promise.all([
      this.#place(),
      this.#settings.queue.jobs(),
      this.#settings.channel.read(),
    ]);
    const seen: Surroundings = { ...place, jobs, channel: isChannel(stored) ? stored : 'stable' };
    this.#channel = seen.channel;
    this.#last = { at: Date.now(), seen };
    return seen;
  }

  /**
   * What was seen last, where that is younger than a second. Older, it is looked at again; up to ten seconds nobody
   * waits for that.
   */
  async recent(): Promise<Surroundings> {
    const age = this.#last === null ? Number.POSITIVE_INFINITY : Date.now() - this.#last.at;
    if (this.#last !== null && age < freshMs) return this.#last.seen;
    this.#looking ??= this.#lookInPassing();
    return this.#last === null || age > staleMs ? this.#looking : this.#last.seen;
  }

  /** Things have changed: whoever asks next waits for a look. */
  forget(): void {
    this.#last = null;
  }

  #lookInPassing(): Promise<Surroundings> {
    const looking = this.look().finally(() => {
      this.#looking = null;
    });
    // A caller may not be waiting for the look: then the log alone tells of its failure.
    looking.catch((cause) => {
      this.#settings.log({ level: 'warn', message: 'the queue or the channel cannot be read', cause });
    });
    return looking;
  }

  async #place(): Promise<Pick<Surroundings, 'home' | 'homeless' | 'updater'>> {
    try {
      const home = await this.home();
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
