import type { Run } from '../../../wire/status.ts';
import type { StateStore } from '../../store/state-store.ts';
import { RunRecord } from '../run-record.ts';
import type { RunController } from './run-controller.ts';

/** Runs of the instance, including runs that only other servers have followed. */
export class RunHistory {
  readonly #runs: RunController;
  readonly #ledger: StateStore;
  /** Record of the last run if this server has not followed that run. */
  #elsewhere: RunRecord | null = null;

  constructor(runs: RunController, ledger: StateStore) {
    this.#runs = runs;
    this.#ledger = ledger;
  }

  /**
   * Returns the current or last run. Returns null if there has been no run, or if the run is only in the store and the
   * store fails.
   */
  async last(): Promise<RunRecord | null> {
    const { record } = this.#runs;
    if (record !== null && !record.hasEnded) return record;
    return this.#lastOf(await this.#past().catch(() => null));
  }

  /** Returns all runs, newest first. @throws ApplicationError */
  async all(): Promise<Run[]> {
    return this.#allOf(await this.#past());
  }

  /** Returns the last run and all runs with one store read. If the store fails, `all` is empty. */
  async read(): Promise<{ last: Run | null; all: Run[] }> {
    const past = await this.#past().catch(() => null);
    return { last: this.#lastOf(past)?.run ?? null, all: past === null ? [] : this.#allOf(past) };
  }

  async #past(): Promise<Run[]> {
    return (await this.#ledger.readPastRuns()).map(({ run }) => run);
  }

  #lastOf(past: readonly Run[] | null): RunRecord | null {
    const { record } = this.#runs;
    if (record !== null && !record.hasEnded) return record;
    const newest = past?.[0] ?? null;
    // Prefer this server's record. It has all log lines, and the stored history may lack its run.
    if (newest === null || newest.id === record?.run.id) return record ?? this.#elsewhere;
    if (record !== null && !past?.some(({ id }) => id === record.run.id)) return record;
    if (this.#elsewhere?.run.id !== newest.id) this.#elsewhere = new RunRecord(newest);
    return this.#elsewhere;
  }

  #allOf(past: Run[]): Run[] {
    const { record } = this.#runs;
    if (record === null) return past;
    const { run, hasEnded } = record;
    // Use this server's record: the stored history may lack a run that has just ended. After a restart of the updater,
    // the history may contain an earlier outcome.
    if (!past.some(({ id }) => id === run.id)) return [run, ...past];
    return hasEnded ? past : past.map((one) => (one.id === run.id ? run : one));
  }
}
