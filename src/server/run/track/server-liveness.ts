import { isUp } from '../../../engine/objects/container.ts';
import { createEngineUnreachableError } from '../../deployment/deployment-not-found-error.ts';
import type { ServerProcess } from '../../store/stored-entries.ts';
import type { ServerContext } from '../server-context.ts';

/**
 * State of a server process: `this` process, another process that is running (`lives`), or a process that has ended
 * (`gone`).
 */
export type ServerProcessState = 'this' | 'lives' | 'gone';

/** Identifies this server process, and checks whether another server process is still running. */
export class ServerLiveness {
  readonly #context: ServerContext;
  readonly #word = crypto.randomUUID();
  #isRegistered = false;

  constructor(context: ServerContext) {
    this.#context = context;
  }

  /**
   * Id of this server process. `container` is empty until the server's container is found. Until then, no run starts.
   */
  get own(): ServerProcess {
    return { container: this.#context.place.home?.container.id ?? '', word: this.#word };
  }

  /** Stores this server process, so that other servers can check whether it is running. @throws ApplicationError */
  async register(): Promise<void> {
    if (this.#isRegistered || this.own.container === '') return;
    await this.#context.ledger.addServerProcess(this.own);
    this.#isRegistered = true;
  }

  /**
   * Returns the state of a server process.
   * @throws ApplicationError or DeploymentNotFoundError if the store or the engine does not respond
   */
  async stateOf({ container, word }: ServerProcess): Promise<ServerProcessState> {
    const { own } = this;
    if (container === own.container) return word === own.word ? 'this' : 'gone';
    const { engine, ledger } = this.#context;
    const found = await engine.inspectContainer(container).catch((error) => {
      throw createEngineUnreachableError(engine, error);
    });
    if (found === null || !isUp(found)) return 'gone';
    const last = await ledger.findServerProcess(container);
    return last === null || last.word === word ? 'lives' : 'gone';
  }
}
