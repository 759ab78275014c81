import { isUp } from '../../engine/container.ts';
import { engineUnreachable } from '../place/home-not-found.ts';
import type { ServerBoot } from '../store/open-run.ts';
import type { ServerContext } from './server-context.ts';

/** Whether a server is this one, another one that is alive, or gone. */
export type ServerState = 'this' | 'lives' | 'gone';

/** Identifies this boot of this server, and checks whether another one is still alive. */
export class BootRegistry {
  readonly #context: ServerContext;
  readonly #word = crypto.randomUUID();
  #isRegistered = false;

  constructor(context: ServerContext) {
    this.#context = context;
  }

  /** This boot. The container is empty until it has been found; before that no run is accepted. */
  get own(): ServerBoot {
    return { container: this.#context.place.home?.container.id ?? '', word: this.#word };
  }

  /** Registers this boot for the other servers, once. @throws HostFailure */
  async register(): Promise<void> {
    if (this.#isRegistered || this.own.container === '') return;
    await this.#context.ledger.addBoot(this.own);
    this.#isRegistered = true;
  }

  /** @throws HostFailure or HomeNotFound if the store or the engine does not respond */
  async stateOf({ container, word }: ServerBoot): Promise<ServerState> {
    const { own } = this;
    if (container === own.container) return word === own.word ? 'this' : 'gone';
    const { engine, ledger } = this.#context;
    const found = await engine.inspectContainer(container).catch((error) => {
      throw engineUnreachable(engine, error);
    });
    if (found === null || !isUp(found)) return 'gone';
    const last = await ledger.lastBootOf(container);
    return last === null || last.word === word ? 'lives' : 'gone';
  }
}
