import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineSocket } from '../../engine/socket.ts';
import type { ProgressEvent } from '../../progress/event.ts';
import type { Run } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { HostFailure } from '../host/ask-host.ts';
import type { QueueHold } from '../host/queue-hold.ts';
import { retry } from '../host/retry.ts';
import type { Ledger } from '../store/ledger.ts';
import { followRun } from './follow-run.ts';
import { prepareRun, type RunPlan, stopOf } from './prepare-run.ts';
import type { RunRecord } from './run-record.ts';
import { RunStop } from './run-stop.ts';

/** What a run is prepared and followed with. */
export interface CareTools {
  engine: EngineSocket;
  settings: Settings;
  timing: Timing;
  ledger: Ledger;
  hold: QueueHold;
  /** Lets go of everything but the hold. */
  closing: AbortSignal;
  onLine(run: Run, line: ProgressEvent): void;
}

/** Takes a run to its end; what a run of another server of the instance needs besides is the keeper's. */
export class RunCare {
  readonly record: RunRecord;
  readonly #tools: CareTools;
  readonly #stop = new AbortController();
  #containerId: string | null = null;
  #isSyncing = false;

  constructor(record: RunRecord, tools: CareTools) {
    this.record = record;
    this.#tools = tools;
  }

  /** The updater's, where one was launched. */
  get containerId(): string | null {
    return this.#containerId;
  }

  /** What comes after the admission. Gives what `follow` does. */
  async prepare(plan: RunPlan): Promise<string | null> {
    const { closing, settings } = this.#tools;
    const serverStops = () => this.#stopWith('the server was stopped before the updater was started');
    closing.addEventListener('abort', serverStops, { once: true });
    if (closing.aborted) serverStops();
    const ticker = setInterval(() => void this.#syncInPassing(), this.#tools.timing.watchClosely);
    ticker.unref();
    let containerId: string;
    try {
      const { signal } = this.#stop;
      const sync = () => this.#sync();
      containerId = await prepareRun(this.record, plan, { ...this.#tools, signal, sync });
    } catch (error) {
      // Whatever failed besides: it was to stop, and nothing was started.
      const { outcome, message, why, cause } = stopOf(
        this.#stop.signal.aborted ? this.#stop.signal.reason : error,
      );
      if (outcome === 'failed') settings.log({ level: 'error', message, cause: cause ?? error });
      this.record.end(outcome, message, new Date(), why);
      return null;
    } finally {
      clearInterval(ticker);
      closing.removeEventListener('abort', serverStops);
    }
    const { from, to } = this.record.run;
    settings.log({
      level: 'info',
      message: `started the updater: ${from ?? 'an unknown version'} → ${to ?? 'the newest'}`,
    });
    void this.#tellContainer(containerId);
    return this.follow(containerId);
  }

  /** Gives when the updater was started the last time, in the engine's words. Without an end where the server closes. */
  async follow(containerId: string): Promise<string | null> {
    const { engine, timing, settings, closing } = this.#tools;
    this.#containerId = containerId;
    this.record.note({ log: `docker logs ${settings.containerName}` });
    const onLine = (event: ProgressEvent) => this.#tools.onLine(this.record.run, event);
    for (;;) {
      try {
        return await followRun(containerId, this.record, { engine, timing, onLine, signal: closing });
      } catch (cause) {
        // Nothing of a run depends on who follows it, so this is no end of it.
        settings.log({
          level: 'error',
          message: 'an update could not be followed: it is tried again',
          cause,
        });
        await sleep(timing.retry, undefined, { signal: closing, ref: false }).catch(() => {});
      }
    }
  }

  /** Before its updater was started. */
  cancel(by: string): void {
    this.record.note({ cancelAskedBy: by });
    this.#stopWith(`cancelled by ${by}`);
  }

  #stopWith(why: string): void {
    this.#stop.abort(new RunStop('cancelled', `${why}: nothing was changed`));
  }

  /** Tells the other servers how far it is, and hears whether one of them was asked to cancel it. */
  async #sync(): Promise<void> {
    const { ledger } = this.#tools;
    const { run } = this.record;
    try {
      const open = await ledger.change(run.id, (now) => ({
        ...now,
        run: { ...run, cancelAskedBy: now.run.cancelAskedBy ?? run.cancelAskedBy },
      }));
      if (open === null) this.#stopWith('another server of this instance has ended it');
      else if (open.run.cancelAskedBy !== null) this.cancel(open.run.cancelAskedBy);
    } catch (error) {
      // A store that fails now never changes a run.
      if (!(error instanceof HostFailure)) throw error;
    }
  }

  async #syncInPassing(): Promise<void> {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    await this.#sync().catch(() => {});
    this.#isSyncing = false;
  }

  /** From here on every server of the instance can follow it, and whoever asked that it stop is heard. */
  async #tellContainer(updater: string): Promise<void> {
    const { ledger, settings, timing, closing, engine } = this.#tools;
    const { id } = this.record.run;
    const again = (message: string) => (cause: unknown) => {
      settings.log({ level: 'warn', message, cause });
      return !this.record.hasEnded;
    };
    const stop = async (): Promise<void> => {
      await retry(
        () => engine.kill(updater, 'SIGTERM'),
        again('the updater cannot be stopped'),
        timing,
        closing,
      );
    };
    if (this.record.run.cancelAskedBy !== null) await stop();
    const tell = () => ledger.change(id, (now) => ({ ...now, updater }));
    const open = await retry(tell, again('the store was not told that the updater runs'), timing, closing);
    const by = open?.run.cancelAskedBy ?? null;
    // It was asked at another server, right before the launch.
    if (by === null || this.record.run.cancelAskedBy !== null) return;
    this.record.note({ cancelAskedBy: by });
    await stop();
  }
}
