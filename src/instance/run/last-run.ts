import type { Ledger } from '../store/ledger.ts';
import type { RunKeeper } from './run-keeper.ts';
import { RunRecord } from './run-record.ts';

/** The current run or the last one, whichever server has seen it. */
export class LastRun {
  readonly #keeper: RunKeeper;
  readonly #ledger: Ledger;
  /** Of one that this server has not seen itself. */
  #elsewhere: RunRecord | null = null;

  constructor(keeper: RunKeeper, ledger: Ledger) {
    this.#keeper = keeper;
    this.#ledger = ledger;
  }

  /** Null where there has been none, or a store that does not answer is all that could tell. */
  async record(): Promise<RunRecord | null> {
    const { record } = this.#keeper;
    if (record !== null && !record.hasEnded) return record;
    const past = await this.#ledger.pastRuns().catch(() => null);
    const newest = past?.[0]?.run ?? null;
    // One that has just ended may not stand there yet; it has all lines, too.
    if (newest === null || newest.id === record?.run.id) return record ?? this.#elsewhere;
    if (record !== null && !past?.some(({ run }) => run.id === record.run.id)) return record;
    if (this.#elsewhere?.run.id !== newest.id) this.#elsewhere = new RunRecord(newest);
    return this.#elsewhere;
  }
}
