import type { Run } from '../../wire/status.ts';
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

  async run(): Promise<Run | null> {
    return (await this.record())?.run ?? null;
  }

  /** The newest first. @throws HostFailure */
  async history(): Promise<Run[]> {
    const past = (await this.#ledger.pastRuns()).map(({ run }) => run);
    const { record } = this.#keeper;
    if (record === null) return past;
    const { run, hasEnded } = record;
    // One that has just ended may not stand there yet; one that goes on after all stands there with its first end.
    if (!past.some(({ id }) => id === run.id)) return [run, ...past];
    return hasEnded ? past : past.map((one) => (one.id === run.id ? run : one));
  }
}
