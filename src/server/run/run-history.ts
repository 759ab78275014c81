import type { Run } from '../../wire/status.ts';
import type { Ledger } from '../store/ledger.ts';
import type { RunController } from './run-controller.ts';
import { RunRecord } from './run-record.ts';

/** The runs of the instance, whichever of its servers has seen them. */
export class RunHistory {
  readonly #runs: RunController;
  readonly #ledger: Ledger;
  /** The last run, where only another server has seen it. */
  #elsewhere: RunRecord | null = null;

  constructor(runs: RunController, ledger: Ledger) {
    this.#runs = runs;
    this.#ledger = ledger;
  }

  /** The current run or the last one; null where there was none, or the store would have to tell and does not answer. */
  async last(): Promise<RunRecord | null> {
    const { record } = this.#runs;
    if (record !== null && !record.hasEnded) return record;
    return this.#lastOf(await this.#past().catch(() => null));
  }

  /** The newest first. @throws HostFailure */
  async all(): Promise<Run[]> {
    return this.#allOf(await this.#past());
  }

  /** Both by one look at the store, where all are none if it does not answer. */
  async read(): Promise<{ last: Run | null; all: Run[] }> {
    const past = await this.#past().catch(() => null);
    return { last: this.#lastOf(past)?.run ?? null, all: past === null ? [] : this.#allOf(past) };
  }

  async #past(): Promise<Run[]> {
    return (await this.#ledger.pastRuns()).map(({ run }) => run);
  }

  #lastOf(past: readonly Run[] | null): RunRecord | null {
    const { record } = this.#runs;
    if (record !== null && !record.hasEnded) return record;
    const newest = past?.[0] ?? null;
    // The own record has all lines, and may have ended a moment ago, before the store has it as a past run.
    if (newest === null || newest.id === record?.run.id) return record ?? this.#elsewhere;
    if (record !== null && !past?.some(({ id }) => id === record.run.id)) return record;
    if (this.#elsewhere?.run.id !== newest.id) this.#elsewhere = new RunRecord(newest);
    return this.#elsewhere;
  }

  #allOf(past: Run[]): Run[] {
    const { record } = this.#runs;
    if (record === null) return past;
    const { run, hasEnded } = record;
    // A run that ended a moment ago may be missing; a run that goes on after all is there with its first end.
    if (!past.some(({ id }) => id === run.id)) return [run, ...past];
    return hasEnded ? past : past.map((one) => (one.id === run.id ? run : one));
  }
}
