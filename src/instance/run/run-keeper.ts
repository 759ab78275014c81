import { EngineFault } from '../../engine/http/fault.ts';
import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import { formatEnd } from '../../progress/end-line.ts';
import type { Run } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import { originOf } from '../place/updater-container.ts';
import { followRun } from './follow-run.ts';
import { LaunchFailure } from './launch.ts';
import { RunRecord } from './run-record.ts';

/** Starts the updater of a run and gives its container's id. */
export type Launch = (record: RunRecord, signal: AbortSignal) => Promise<string>;

/** The current run or the last one, and the hold that goes with it: it is released when the run has ended. */
export class RunKeeper {
  #record: RunRecord | null = null;
  #following: Promise<void> = Promise.resolve();
  readonly #engine: EngineSocket;
  readonly #settings: Settings;
  readonly #signal: AbortSignal;
  readonly #onEnd: () => Promise<void>;

  /** `onEnd` is awaited before the hold is released; the signal lets go of everything but the hold. */
  constructor(engine: EngineSocket, settings: Settings, signal: AbortSignal, onEnd: () => Promise<void>) {
    this.#engine = engine;
    this.#settings = settings;
    this.#signal = signal;
    this.#onEnd = onEnd;
  }

  get record(): RunRecord | null {
    return this.#record;
  }

  get isUnderWay(): boolean {
    return this.#record !== null && !this.#record.hasEnded;
  }

  /** Resolves once what follows the run has let go of it; at once where nothing does. */
  settled(): Promise<void> {
    return this.#following;
  }

  /** A new run, for which the queue is held already. */
  begin(record: RunRecord, launch: Launch): void {
    this.#keep(record, async () => {
      try {
        const id = await launch(record, this.#signal);
        this.#settings.log({ level: 'info', message: `started the updater: ${describe(record.run)}` });
        return id;
      } catch (cause) {
        if (this.#signal.aborted) return null;
        this.#settings.log({ level: 'error', message: 'the updater could not be started', cause });
        record.end('failed', sentence(cause));
        return null;
      }
    });
  }

  /**
   * A run that somebody else has started, or a server before this one. Resolves once the queue is held, which it is
   * from here on. `silent` says of the run, once it has ended, whether nobody needs to be told.
   */
  async adopt(container: ContainerDetails, silent?: (run: Run) => boolean): Promise<void> {
    const origin = originOf(container);
    if (this.isUnderWay || this.#record?.run.id === origin.id) return;
    const record = new RunRecord(origin, 'reading the log of the updater');
    const held = (async () => this.#settings.queue.hold())();
    this.#keep(record, () => held.then(() => container.id), silent);
    await held;
  }

  #keep(record: RunRecord, start: () => Promise<string | null>, silent = (_: Run) => false): void {
    const before = this.#following;
    this.#record = record;
    this.#following = (async () => {
      await before;
      await this.#toItsEnd(record, start);
      // The next server of this instance goes on from here, and needs the hold.
      if (!record.hasEnded) return;
      await this.#onEnd();
      // Another server's run may be on by now: then the hold belongs to that run.
      if (this.#record === record) await this.#settings.queue.release();
      if (silent(record.run)) return;
      this.#settings.log({
        level: ['updated', 'unchanged'].includes(record.run.state) ? 'info' : 'warn',
        message: `the update has ended: ${sentenceOf(record.run)}`,
      });
      this.#settings.onEnd(record.run);
    })().catch((cause) => {
      const message = 'what follows the end of an update failed: the queue may still be held';
      this.#settings.log({ level: 'error', message, cause });
    });
  }

  async #toItsEnd(record: RunRecord, start: () => Promise<string | null>): Promise<void> {
    try {
      const id = await start();
      if (id !== null) await followRun(this.#engine, id, record, this.#signal);
    } catch (cause) {
      const message = 'the update could not be followed to its end';
      this.#settings.log({ level: 'error', message, cause });
      record.end('crashed', message);
    }
  }
}

/** As it stands in the updater's log. */
const sentenceOf = ({ outcome, code, message, advice }: Run): string =>
  outcome === null || outcome === 'updated' || outcome === 'unchanged'
    ? message
    : formatEnd({ outcome, code, state: message, advice });

const describe = ({ from, to }: Run): string => `${from ?? 'an unknown version'} → ${to ?? 'the newest'}`;

function sentence(error: unknown): string {
  if (error instanceof LaunchFailure) return error.message;
  // The engine's own words name what is missing, such as a directory to mount.
  if (error instanceof EngineFault) return `the updater could not be started: ${error.message}`;
  return 'the updater could not be started';
}
