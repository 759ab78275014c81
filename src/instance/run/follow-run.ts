import { setTimeout as sleep } from 'node:timers/promises';
import { isUp } from '../../engine/container.ts';
import { EngineFault } from '../../engine/http/fault.ts';
import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import type { ProgressEvent } from '../../progress/event.ts';
import { parseJsonLine } from '../../progress/json-line.ts';
import { parseLine } from '../../progress/line.ts';
import { exitCodes } from '../../progress/outcome.ts';
import type { Timing } from '../contract/timing.ts';
import { maxRestarts } from '../place/updater-container.ts';
import type { RunRecord } from './run-record.ts';

/** What a run is followed with. */
export interface FollowTools {
  engine: EngineSocket;
  timing: Pick<Timing, 'follow' | 'restart' | 'lastMoments'>;
  /** Told each line. */
  onLine(event: ProgressEvent): void;
  /** Lets go of it. */
  signal: AbortSignal;
}

/**
 * Feeds a record from the log of the updater's container, across restarts of it and of the engine, until the run has
 * ended and the container with it. Returns early, without an end, where the signal is given. Gives when the container
 * was started the last time, in the engine's words; null where that was not seen.
 */
export async function followRun(
  containerId: string,
  record: RunRecord,
  { engine, timing, onLine, signal }: FollowTools,
): Promise<string | null> {
  const reader = new LogReader(engine, containerId, record, { onLine, signal });
  const pause = () => sleep(timing.follow, undefined, { signal, ref: false }).catch(() => {});
  let endedAt: number | null = null;
  let startedAt: string | null = null;
  // All is measured by a clock that nobody sets.
  for (let stoppedSince: number | null = null; !signal.aborted; ) {
    const container = await look(engine, containerId);
    // The container has stopped, so its whole log can be read.
    const isRead = container !== 'away' && container !== null && (await reader.read());
    if (signal.aborted || container === null) break;
    if (container === 'away') {
      await pause();
      continue;
    }
    // It may have been started, and have stopped again, while its log was read.
    if (container.startedAt !== startedAt) stoppedSince = null;
    startedAt = container.startedAt;
    const stopped = !isUp(container);
    if (record.hasEnded) {
      endedAt ??= performance.now();
      if (stopped || performance.now() - endedAt > timing.lastMoments) return startedAt;
    } else if (stopped) {
      stoppedSince ??= performance.now();
      const stoppedMs = performance.now() - stoppedSince;
      // Its code says that it has told its end: a log that lacks it was not read whole.
      const saysEnd = codesOfEnds.includes(container.exitCode) && stoppedMs <= timing.lastMoments;
      const isOver = !saysEnd && (!mayStartAgain(container) || stoppedMs > timing.restart);
      // A log that broke off may have had an end in what was not read; some logs cannot be read at all.
      if (isOver && (isRead || stoppedMs > timing.restart + timing.lastMoments)) {
        const end = isRead ? 'without an outcome' : 'its log cannot be read';
        const why = { code: 'updater-ended', advice: adviceOnCrash };
        record.end(
          'crashed',
          `the updater ended with code ${container.exitCode}, ${end}`,
          endOf(container),
          why,
        );
        return startedAt;
      }
    } else {
      stoppedSince = null;
    }
    await pause();
  }
  if (!signal.aborted) {
    const why = { code: 'updater-gone', advice: adviceOnCrash };
    record.end('crashed', "the updater's container is gone, and its log with it", new Date(), why);
  }
  return startedAt;
}

/** Of a run whose end nobody knows. */
export const adviceOnCrash =
  'See what runs, then run the update again: it brings the instance to one version.';

/** Reads a log from its first line on each time, and adds those lines to the record that it has not seen yet. */
class LogReader {
  #seen = 0;
  readonly #engine: EngineSocket;
  readonly #id: string;
  readonly #record: RunRecord;
  readonly #tools: Pick<FollowTools, 'onLine' | 'signal'>;

  constructor(
    engine: EngineSocket,
    id: string,
    record: RunRecord,
    tools: Pick<FollowTools, 'onLine' | 'signal'>,
  ) {
    this.#engine = engine;
    this.#id = id;
    this.#record = record;
    this.#tools = tools;
  }

  /** Until the run has ended, the container has stopped, or the engine goes away; says whether it got to the end. */
  async read(): Promise<boolean> {
    let number = 0;
    try {
      for await (const line of this.#engine.logs(this.#id, this.#tools.signal)) {
        // Somebody may have started it by hand with `--log json`.
        const event = parseLine(line) ?? parseJsonLine(line);
        if (event === null || ++number <= this.#seen) continue;
        this.#seen = number;
        this.#record.add(event);
        this.#tools.onLine(event);
        if (this.#record.hasEnded) return true;
      }
      return true;
    } catch (error) {
      if (!(error instanceof EngineFault)) throw error;
      return false;
    }
  }
}

/** Null where it is gone. */
async function look(engine: EngineSocket, id: string): Promise<ContainerDetails | 'away' | null> {
  try {
    return await engine.inspect(id);
  } catch (error) {
    if (error instanceof EngineFault) return 'away';
    throw error;
  }
}

const codesOfEnds: readonly number[] = Object.values(exitCodes).filter((code) => code !== exitCodes.crashed);

/** By its policy: one that has ended with a failure, and not too often yet. One that an operator killed is not, in fact. */
const mayStartAgain = ({ restartPolicy, restartCount, exitCode }: ContainerDetails): boolean =>
  restartPolicy === 'on-failure' && exitCode !== 0 && restartCount < maxRestarts;

function endOf({ finishedAt }: ContainerDetails): Date {
  const at = new Date(finishedAt);
  return at.getTime() > 0 ? at : new Date();
}
