import { retry } from '../host/retry.ts';
import type { OpenRun } from '../store/open-run.ts';
import type { ServerContext } from './server-context.ts';

/** Writes the ends of runs to the store, and retries until this succeeds or the server closes. */
export class EndWriter {
  readonly #context: ServerContext;
  /** Finished runs that are still open in the store. */
  readonly #unwritten = new Set<string>();

  constructor(context: ServerContext) {
    this.#context = context;
  }

  isUnwritten(id: string): boolean {
    return this.#unwritten.has(id);
  }

  /** The open run of the store; null for one whose end is still to be written. @throws HostFailure */
  async openRun(): Promise<OpenRun | null> {
    // An end that is written while the store is read may be missing in what was read.
    const before = new Set(this.#unwritten);
    const open = await this.#context.ledger.read('run');
    return open === null || before.has(open.run.id) || this.isUnwritten(open.run.id) ? null : open;
  }

  /**
   * The first promise resolves after the first attempt.
   * The second promise resolves to whether the end was written.
   */
  write(id: string, how: () => Promise<unknown>): { tried: Promise<void>; written: Promise<boolean> } {
    const { settings, timing, closing } = this.#context;
    const { promise: tried, resolve } = Promise.withResolvers<void>();
    this.#unwritten.add(id);
    const attempt = async () => {
      await how();
      // If the run is open in the store again, it was restarted or the store was restored.
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
    return { tried, written: retry(attempt, failed, timing, closing).then((done) => done === true) };
  }
}
