import { isUp } from '../../engine/container.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import { unreachable } from '../place/home-not-found.ts';
import type { SurroundingsCache } from '../place/surroundings.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ServerMark } from '../store/open-run.ts';

/** Which boot of which server of the instance this is, and what became of another one. */
export class ServerMarks {
  readonly #ledger: Ledger;
  readonly #engine: EngineSocket;
  readonly #place: SurroundingsCache;
  readonly #word = crypto.randomUUID();
  #isAnnounced = false;

  constructor({ ledger, engine, place }: { ledger: Ledger; engine: EngineSocket; place: SurroundingsCache }) {
    this.#ledger = ledger;
    this.#engine = engine;
    this.#place = place;
  }

  /** Of this server. No run is accepted by one that has not found its own container. */
  get own(): ServerMark {
    return { container: this.#place.home?.containerId ?? '', word: this.#word };
  }

  /** Tells the other servers which boot this is; once. @throws HostFailure */
  async announce(): Promise<void> {
    if (this.#isAnnounced || this.own.container === '') return;
    await this.#ledger.addServer(this.own);
    this.#isAnnounced = true;
  }

  /** @throws HostFailure, HomeNotFound where nobody tells */
  async stateOf({ container, word }: ServerMark): Promise<'this' | 'lives' | 'gone'> {
    const { own } = this;
    if (container === own.container) return word === own.word ? 'this' : 'gone';
    const found = await this.#engine.inspect(container).catch((error) => {
      throw unreachable(this.#engine, error);
    });
    if (found === null || !isUp(found)) return 'gone';
    const last = await this.#ledger.wordOf(container);
    return last === null || last === word ? 'lives' : 'gone';
  }
}
