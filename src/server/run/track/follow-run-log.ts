import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import type { ProgressEvent } from '../../../core/progress/event.ts';
import { type LineFields, parseJsonLine, parseLine } from '../../../core/progress/log-line.ts';
import { exitCodes } from '../../../core/progress/outcome.ts';
import type { EngineApi } from '../../../engine/engine-api.ts';
import { EngineError } from '../../../engine/http/engine-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { isUp } from '../../../engine/objects/container.ts';
import type { ServerTiming } from '../../contract/timing.ts';
import { maxRestarts } from '../../deployment/updater-container.ts';
import type { RunRecord } from '../run-record.ts';

interface FollowContext {
  engine: EngineApi;
  timing: Pick<ServerTiming, 'follow' | 'restart' | 'lastMoments'>;
  closing: AbortSignal;
}

type OnLine = (event: ProgressEvent, fields: LineFields) => void;

/**
 * Adds the log of the updater container to a record until the run and the container have ended, even if the container
 * or the engine is restarted. If the server closes, returns early without an outcome. Returns the last start time of
 * the container as reported by the engine; null if unknown.
 */
export async function followRunLog(
  containerId: string,
  record: RunRecord,
  context: FollowContext,
  onLine: OnLine,
): Promise<string | null> {
  const { engine, timing, closing } = context;
  let startedAt: string | null = null;
  // `endedAt` and `stoppedSince` are monotonic times, which do not change when the clock is set.
  let endedAt: number | null = null;
  let stoppedSince: number | null = null;
  for (; !closing.aborted; await sleepFor(timing.follow, closing, false)) {
    const container = await inspect(engine, containerId);
    if (container === 'away') continue;
    // The log is read after the inspection, so that it is complete if the container had already stopped.
    const isRead = container !== null && (await readLog(containerId, record, context, onLine));
    if (closing.aborted || container === null) break;
    const stopped = !isUp(container);
    // The container may have been started and stopped again while its log was read.
    if (!stopped || container.startedAt !== startedAt) stoppedSince = null;
    startedAt = container.startedAt;
    if (record.hasEnded) {
      endedAt ??= performance.now();
      if (stopped || performance.now() - endedAt > timing.lastMoments) return startedAt;
    } else if (stopped) {
      stoppedSince ??= performance.now();
      const stoppedMs = performance.now() - stoppedSince;
      // If the exit code belongs to an outcome, the log contains the outcome, so the log has not been read completely
      // yet.
      const saysEnd = codesOfEnds.includes(container.exitCode) && stoppedMs <= timing.lastMoments;
      const isOver = !saysEnd && (!mayStartAgain(container) || stoppedMs > timing.restart);
      // If reading the log was interrupted, its rest may contain an outcome, so the log is read again. The time limit
      // is for logs that cannot be read at all.
      if (isOver && (isRead || stoppedMs > timing.restart + timing.lastMoments)) {
        const message = isRead
          ? `the updater exited with code ${container.exitCode} without reporting an outcome`
          : `the updater exited with code ${container.exitCode}, and its log cannot be read`;
        record.end({ ...crashResult, message, code: 'updater-ended' }, endOf(container));
        return startedAt;
      }
    }
  }
  if (!closing.aborted) {
    const message = "the updater's container was removed, so its log is lost";
    record.end({ ...crashResult, message, code: 'updater-gone' });
  }
  return startedAt;
}

/** Result of a run whose outcome is unknown. */
export const crashResult = {
  outcome: 'crashed',
  advice:
    'Check which version is running, then run the update again. The update brings all services to the same version.',
} as const;

/**
 * Adds the new lines of a log to the record until the run or the log ends. Returns false if the engine fails before
 * that.
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
      // The server starts updaters with JSON logs, whose fields contain data about restore points. An updater that was
      // started manually may log text instead.
      const json = parseJsonLine(line);
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

/** Inspects a container. Returns null if it does not exist, and `away` if the engine does not respond. */
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
 * Whether the engine may restart a failed container, which its restart policy allows up to a limit. A container that
 * was killed by an operator looks the same but is not restarted.
 */
const mayStartAgain = ({ restartPolicy, restartCount, exitCode }: Container): boolean =>
  restartPolicy === 'on-failure' && exitCode !== 0 && restartCount < maxRestarts;

function endOf({ finishedAt }: Container): Date {
  const at = new Date(finishedAt);
  return at.getTime() > 0 ? at : new Date();
}
