import { setTimeout as sleep } from 'node:timers/promises';
import { isUp } from '../../engine/container.ts';
import { EngineFault } from '../../engine/http/fault.ts';
import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import { parseLine } from '../../progress/line.ts';
import { maxRestarts } from '../place/updater-container.ts';
import type { RunRecord } from './run-record.ts';

/** The engine starts a container again within this time where it does at all. */
const restartMs = 10_000;
const pauseMs = 250;
/** What an updater does after its last line takes a moment. */
const lastMomentsMs = 15_000;

/**
 * Feeds a record from the log of the updater's container, across restarts of it and of the engine, until the run has
 * ended and the container with it. Returns early, without an end, where the signal is given.
 */
export async function followRun(
  engine: EngineSocket,
  containerId: string,
  record: RunRecord,
  signal: AbortSignal,
): Promise<void> {
  const reader = new LogReader(engine, containerId, record, signal);
  let endedAt: number | null = null;
  for (let stoppedSince: number | null = null; !signal.aborted; ) {
    const container = await look(engine, containerId);
    // The container has stopped, so its whole log can be read.
    if (container !== 'away') await reader.read();
    if (signal.aborted || container === null) break;
    if (container === 'away') {
      await pause(signal);
      continue;
    }
    const stopped = !isUp(container);
    if (record.hasEnded) {
      endedAt ??= Date.now();
      if (stopped || Date.now() - endedAt > lastMomentsMs) return;
    } else if (stopped) {
      stoppedSince ??= Date.now();
      if (!mayStartAgain(container) || Date.now() - stoppedSince > restartMs) {
        record.end(
          'crashed',
          `the updater ended with code ${container.exitCode} and without an outcome`,
          endOf(container),
        );
        return;
      }
    } else {
      stoppedSince = null;
    }
    await pause(signal);
  }
  if (!signal.aborted) record.end('crashed', "the updater's container is gone, and its log with it");
}

/** Reads a log from its first line on each time, and adds those lines to the record that it has not seen yet. */
class LogReader {
  #seen = 0;
  readonly #engine: EngineSocket;
  readonly #id: string;
  readonly #record: RunRecord;
  readonly #signal: AbortSignal;

  constructor(engine: EngineSocket, id: string, record: RunRecord, signal: AbortSignal) {
    this.#engine = engine;
    this.#id = id;
    this.#record = record;
    this.#signal = signal;
  }

  /** Until the run has ended, the container has stopped, or the engine goes away. */
  async read(): Promise<void> {
    let number = 0;
    try {
      for await (const line of this.#engine.logs(this.#id, this.#signal)) {
        const event = parseLine(line);
        if (event === null || ++number <= this.#seen) continue;
        this.#seen = number;
        this.#record.add(event);
        if (this.#record.hasEnded) return;
      }
    } catch (error) {
      if (!(error instanceof EngineFault)) throw error;
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

/** By its policy: one that has ended with a failure, and not too often yet. One that an operator killed is not, in fact. */
const mayStartAgain = ({ restartPolicy, restartCount, exitCode, status }: ContainerDetails): boolean =>
  status === 'created' || (restartPolicy === 'on-failure' && exitCode !== 0 && restartCount < maxRestarts);

function endOf({ finishedAt }: ContainerDetails): Date {
  const at = new Date(finishedAt);
  return at.getTime() > 0 ? at : new Date();
}

const pause = (signal: AbortSignal) => sleep(pauseMs, undefined, { signal }).catch(() => {});
