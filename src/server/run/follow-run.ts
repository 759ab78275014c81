import type { ProgressEvent } from '../../core/progress/event.ts';
import { type LineFields, parseLine, readJsonLine } from '../../core/progress/line.ts';
import { exitCodes } from '../../core/progress/outcome.ts';
import { pause } from '../../core/progress/wait.ts';
import type { Container } from '../../engine/container.ts';
import { isUp } from '../../engine/container.ts';
import type { EngineApi } from '../../engine/engine-api.ts';
import { EngineError } from '../../engine/http/engine-error.ts';
import type { Timing } from '../contract/timing.ts';
import { maxRestarts } from '../place/updater-container.ts';
import type { RunRecord } from './run-record.ts';

interface FollowContext {
  engine: EngineApi;
  timing: Pick<Timing, 'follow' | 'restart' | 'lastMoments'>;
  closing: AbortSignal;
}

type OnLine = (event: ProgressEvent, fields: LineFields) => void;

/**
 * Feeds a record from the log of the updater container, across restarts of the container and of the engine, until the run has
 * ended and the container with it. Returns early, without an end, where the server closes. Gives when the container was
 * started the last time, in the engine's words; null where that was not seen.
 */
export async function followRunLog(
  containerId: string,
  record: RunRecord,
  context: FollowContext,
  onLine: OnLine,
): Promise<string | null> {
  const { engine, timing, closing } = context;
  let startedAt: string | null = null;
  // By the monotonic clock, which nobody can set.
  let endedAt: number | null = null;
  let stoppedSince: number | null = null;
  for (; !closing.aborted; await pause(timing.follow, closing, false)) {
    const container = await inspect(engine, containerId);
    if (container === 'away') continue;
    // Of a container that had stopped before, the whole log is read.
    const isRead = container !== null && (await readLog(containerId, record, context, onLine));
    if (closing.aborted || container === null) break;
    const stopped = !isUp(container);
    // The container may have been started, and have stopped again, while its log was read.
    if (!stopped || container.startedAt !== startedAt) stoppedSince = null;
    startedAt = container.startedAt;
    if (record.hasEnded) {
      endedAt ??= performance.now();
      if (stopped || performance.now() - endedAt > timing.lastMoments) return startedAt;
    } else if (stopped) {
      stoppedSince ??= performance.now();
      const stoppedMs = performance.now() - stoppedSince;
      // An exit code of an outcome says that the log tells it: a log without one was not read whole.
      const saysEnd = codesOfEnds.includes(container.exitCode) && stoppedMs <= timing.lastMoments;
      const isOver = !saysEnd && (!mayStartAgain(container) || stoppedMs > timing.restart);
      // A log that broke off may have had an end in what was not read; some logs cannot be read at all.
      if (isOver && (isRead || stoppedMs > timing.restart + timing.lastMoments)) {
        const message = isRead
          ? `the updater exited with code ${container.exitCode} without reporting an outcome`
          : `the updater exited with code ${container.exitCode}, and its log cannot be read`;
        record.end({ ...crash, message, code: 'updater-ended' }, endOf(container));
        return startedAt;
      }
    }
  }
  if (!closing.aborted) {
    const message = "the updater's container was removed, so its log is lost";
    record.end({ ...crash, message, code: 'updater-gone' });
  }
  return startedAt;
}

/** The result of a run whose end is unknown. */
export const crash = {
  outcome: 'crashed',
  advice:
    'Check which version is running, then run the update again. The update brings all services to the same version.',
} as const;

/**
 * Adds the lines of a log to the record that it does not have yet, until the run or the log ends, or the engine goes
 * away. Says whether it came to an end.
 */
async function readLog(
  containerId: string,
  record: RunRecord,
  { engine, closing }: FollowContext,
  onLine: OnLine,
): Promise<boolean> {
  let number = 0;
  try {
    for await (const line of engine.followLog(containerId, closing)) {
      // What is known of restore points is told in fields, so such an updater logs as JSON, as one by hand may.
      const json = readJsonLine(line);
      const event = json?.event ?? parseLine(line);
      if (event === null || ++number <= record.lineCount) continue;
      const fields = json?.fields ?? {};
      record.add(event, fields);
      onLine(event, fields);
      if (record.hasEnded) break;
    }
    return true;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return false;
  }
}

/** Null for a container that is gone; `away` where the engine does not answer. */
async function inspect(engine: EngineApi, id: string): Promise<Container | 'away' | null> {
  try {
    return await engine.inspectContainer(id);
  } catch (error) {
    if (error instanceof EngineError) return 'away';
    throw error;
  }
}

const codesOfEnds: readonly number[] = Object.values(exitCodes).filter((code) => code !== exitCodes.crashed);

/**
 * By its policy, the engine starts a container again that failed, up to a limit. Not a container that an operator killed,
 * which looks the same.
 */
const mayStartAgain = ({ restartPolicy, restartCount, exitCode }: Container): boolean =>
  restartPolicy === 'on-failure' && exitCode !== 0 && restartCount < maxRestarts;

function endOf({ finishedAt }: Container): Date {
  const at = new Date(finishedAt);
  return at.getTime() > 0 ? at : new Date();
}
