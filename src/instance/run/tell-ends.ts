import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { askHost } from '../host/ask-host.ts';
import type { Ledger } from '../store/ledger.ts';
import type { PastRun } from '../store/open-run.ts';
import type { ServerMarks } from './server-marks.ts';

const mostAttempts = 3;

interface TellTools {
  ledger: Ledger;
  settings: Pick<Settings, 'onEnd' | 'log'>;
  timing: Timing;
  marks: ServerMarks;
  closing: AbortSignal;
}

/**
 * Tells the host of ends that it was not told of (docs/contract.md 8.20). The attempt is noted before and the end after, so that a
 * server that dies of it is not the last one to tell, and three of them leave it at that.
 */
export class EndTeller {
  readonly #tools: TellTools;
  /** Ends that the host has taken. */
  readonly #told = new Set<string>();
  readonly #inside = new AsyncLocalStorage<true>();
  #telling: Promise<void> = Promise.resolve();

  constructor(tools: TellTools) {
    this.#tools = tools;
  }

  /** Whether it is `onEnd` that asks: it must not wait for its own end. */
  get isWithin(): boolean {
    return this.#inside.getStore() === true;
  }

  /** All that are left; one after the other. Never rejects. */
  tellAll(): Promise<void> {
    this.#telling = this.#telling.then(() => this.#tellAll()).catch(() => {});
    return this.#telling;
  }

  async #tellAll(): Promise<void> {
    const { ledger, timing, closing: signal, settings } = this.#tools;
    for (let pause = timing.retry; ; pause = Math.min(pause * 2, timing.longestRetry)) {
      let left = 0;
      try {
        const past = (await ledger.pastRuns()).filter((one) => !one.told && one.attempts < mostAttempts);
        // The oldest first.
        for (const one of past.reverse()) if (!(await this.#tell(one))) left++;
      } catch (cause) {
        left++;
        settings.log({ level: 'warn', message: 'the end of an update cannot be told yet', cause });
      }
      if (left === 0 || signal.aborted) return;
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
    }
  }

  /** Says whether there is nothing left to do here. */
  async #tell({ run: { id, endedAt }, attempts, teller }: PastRun): Promise<boolean> {
    const end = `${id} ${endedAt}`;
    // Only the note of it is missing, as the store did not take it.
    if (this.#told.has(end)) {
      await this.#noteTold(id);
      return true;
    }
    const { ledger, marks, settings, timing } = this.#tools;
    if (teller !== null && (await marks.stateOf(teller)) === 'lives') return true;
    const mark = marks.own;
    const claimed = await ledger.changePast(id, (now) =>
      // Another server may have been faster.
      now.told || now.attempts !== attempts ? null : { ...now, attempts: attempts + 1, teller: mark },
    );
    if (claimed === null) return true;
    try {
      await askHost('onEnd', () => this.#inside.run(true, () => settings.onEnd(claimed.run)), timing.onEnd);
    } catch (cause) {
      const isOver = claimed.attempts >= mostAttempts;
      const then = isOver ? 'it is not tried again' : 'it is tried again';
      settings.log({ level: 'error', message: `the end of an update could not be told: ${then}`, cause });
      return isOver;
    }
    this.#told.add(end);
    await this.#noteTold(id);
    return true;
  }

  async #noteTold(id: string): Promise<void> {
    await this.#tools.ledger.changePast(id, (now) => ({ ...now, told: true }));
  }
}
