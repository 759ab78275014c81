import { retry } from '../host/retry.ts';
import type { OpenRun } from '../store/open-run.ts';
import type { ServerContext } from './server-context.ts';

/** Writes to the store that runs have ended, again and again until the store takes it or the server closes. */
export class EndWriter {
  readonly #context: ServerContext;
  /** Runs that have ended here, and stand open in the store until that is written. */
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
    const open = await this.#context.ledger.openRun();
    return open === null || before.has(open.run.id) || this.isUnwritten(open.run.id) ? null : open;
  }

  /** `tried` resolves after the first try, `written` says in the end whether the store has taken it. */
  write(id: string, how: () => Promise<unknown>): { tried: Promise<void>; written: Promise<boolean> } {
    const { settings, timing, closing } = this.#context;
    const { promise: tried, resolve } = Promise.withResolvers<void>();
    this.#unwritten.add(id);
    const attempt = async () => {
      await how();
      // If the store has it as open again, it was begun anew, or the store was set back: then it is open.
      this.#unwritten.delete(id);
      resolve();
      return true;
    };
    const failed = (cause: unknown) => {
      resolve();
      const message = 'failed to write the end of an update to the store; retrying';
      settings.log({ level: 'error', message, cause });
      return true;
    };
    return { tried, written: retry(attempt, failed, timing, closing).then((done) => done === true) };
  }
}
