import { hasTemporaryName, isHook } from '../../engine/api/project-containers.ts';
import { isUp } from '../../engine/container.ts';
import { findForeign } from '../../engine/foreign-containers.ts';
import { composeLabels } from '../../engine/labels.ts';
import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import type { Reason } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import { findHome } from './find-home.ts';
import type { Home } from './home.ts';
import { HomeNotFound, unreachable } from './home-not-found.ts';
import { isAbout } from './updater-container.ts';

/** What the engine tells of where the server lives, and of who else is there. */
export interface Surroundings {
  home: Home | null;
  noHome: HomeNotFound | null;
  /** The container of the updater's name, and whether it is this instance's; null where there is none. */
  updater: { container: ContainerDetails; isOurs: boolean } | null;
  /** Containers that compose would take for the instance's, and that are somebody else's (docs/contract.md 4.10). */
  foreign: Reason | null;
}

/** Asks the engine for what may change with each look, and once for what stays. */
export class SurroundingsCache {
  readonly #engine: EngineSocket;
  readonly #settings: Settings;
  #finding: Promise<Home> | null = null;
  #home: Home | null = null;

  constructor(engine: EngineSocket, settings: Settings) {
    this.#engine = engine;
    this.#settings = settings;
  }

  /** Null while it has not been found. */
  get home(): Home | null {
    return this.#home;
  }

  /**
   * Asks once: a server stays where it is.
   * @throws HomeNotFound
   */
  findHome(): Promise<Home> {
    this.#finding ??= this.#find();
    return this.#finding;
  }

  /** Has it found anew, as a directory may have come or gone. */
  forgetHome(): void {
    this.#finding = null;
  }

  async observe(): Promise<Surroundings> {
    try {
      const home = await this.findHome();
      const [container, foreign] = await Promise.all([
        this.#engine.inspect(this.#settings.containerName),
        this.#foreignReason(home),
      ]).catch((error) => {
        throw unreachable(this.#engine, error);
      });
      const updater = container && { container, isOurs: isAbout(container, home) };
      return { home, noHome: null, updater, foreign };
    } catch (error) {
      if (error instanceof HomeNotFound) return { home: null, noHome: error, updater: null, foreign: null };
      throw error;
    }
  }

  async #find(): Promise<Home> {
    try {
      this.#home = await findHome(this.#engine, this.#settings);
      return this.#home;
    } catch (error) {
      // An engine may come later, and a proxy may be told to let more through.
      const isLasting = error instanceof HomeNotFound && error.code !== 'no-engine';
      if (!isLasting) this.#finding = null;
      throw error;
    }
  }

  /** Why no update may meet the project's containers as they are; null where all seem to be the instance's. */
  async #foreignReason({ containerId, project, directory, claim, service }: Home): Promise<Reason | null> {
    const listed = await this.#engine.list({ label: [`${composeLabels.project}=${project}`] });
    const containers = listed.filter(
      (each) =>
        each.labels[composeLabels.oneOff] !== 'True' &&
        !isHook(each) &&
        // Not a container that a compose call has made and not started yet, or was killed over.
        (isUp(each) || !hasTemporaryName(each)),
    );
    const foreign = findForeign(containers, {
      project,
      directory,
      app: this.#settings.app ?? service,
      claims: new Set([claim]),
      serverId: containerId,
      isHalfReplaced: false,
    });
    return foreign && { code: 'unrelated-container', message: `${foreign.message}. ${foreign.advice}` };
  }
}
