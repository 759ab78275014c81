import { retryWithBackoff } from '../../application/retry-with-backoff.ts';
import type { OpenRun } from '../../store/stored-entries.ts';
import type { ServerContext } from '../server-context.ts';

/** Writes the outcomes of runs. Each write is retried until it succeeds or the server closes. */
export class ResultWriter {
  readonly #context: ServerContext;
  /** Ids of finished runs that are still open in the store. */
  readonly #unwritten = new Set<string>();

  constructor(context: ServerContext) {
    this.#context = context;
  }

  isUnwritten(id: string): boolean {
    return this.#unwritten.has(id);
  }

  /**
   * Returns the open run in the store; null if no run is open or its outcome is being written.
   * @throws ApplicationError
   */
  async openRun(): Promise<OpenRun | null> {
    // The read may return a run as open while its outcome is being written. So also ignore runs whose outcome was not
    // written before the read.
    const before = new Set(this.#unwritten);
    const open = await this.#context.ledger.read('run');
    return open === null || before.has(open.run.id) || this.isUnwritten(open.run.id) ? null : open;
  }

  /**
   * Writes a run's outcome in the background. `tried` resolves after the first attempt. `written` resolves to true
   * after a successful write, or to false if the server closes first.
   */
  write(id: string, how: () => Promise<unknown>): { tried: Promise<void>; written: Promise<boolean> } {
    const { settings, timing, closing } = this.#context;
    const { promise: tried, resolve } = Promise.withResolvers<void>();
    this.#unwritten.add(id);
    const attempt = async () => {
      await how();
      // Stop ignoring the run. If it is open in the store after this write, its updater was restarted or the store was
      // restored.
      this.#unwritten.delete(id);
      resolve();
      return true;
    };
    const failed = (cause: unknown) => {
      resolve();
      const message = 'failed to record the end of an update in the store; retrying';
      settings.log({ level: 'error', message, cause });
      return true;
    };
    return {
      tried,
      written: retryWithBackoff(attempt, failed, timing, closing).then((done) => done === true),
    };
  }
}
