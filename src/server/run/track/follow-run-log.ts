import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import type { ProgressEvent } from '../../../core/progress/event.ts';
import { type LogLineFields, parseEventLine, parseJsonEventLine } from '../../../core/progress/log-line.ts';
import { exitCodes } from '../../../core/progress/outcome.ts';
import type { EngineApi } from '../../../engine/engine-api.ts';
import { EngineError } from '../../../engine/http/engine-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { isUp } from '../../../engine/objects/container.ts';
import type { ServerTiming } from '../../contract/timing.ts';
import { maxUpdaterRestarts } from '../../deployment/updater-container.ts';
import type { RunRecord } from '../run-record.ts';

interface FollowContext {
  engine: EngineApi;
  timing: Pick<ServerTiming, 'follow' | 'restart' | 'lastMoments'>;
  closing: AbortSignal;
}

type OnLine = (event: ProgressEvent, fields: LogLineFields) => void;

/**
 * Adds the updater's log to the record until the run and the container have ended. Continues even if the container or
 * the engine is restarted. Returns early if the server closes.
 * @returns the container's last start time as reported by the engine; null if the time is unknown
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
    const container = await inspectIfReachable(engine, containerId);
    if (container === 'away') continue;
    // The log is read after the inspection: if the inspection found the container stopped, the log is complete.
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
      // If the container stopped recently with the exit code of an outcome, the unread rest of the log contains that
      // outcome.
      const saysEnd = outcomeExitCodes.includes(container.exitCode) && stoppedMs <= timing.lastMoments;
      const isOver = !saysEnd && (!mayBeRestarted(container) || stoppedMs > timing.restart);
      // Read an incomplete log again, because its rest may contain an outcome. The timeout is for logs that cannot be
      // read at all.
      if (isOver && (isRead || stoppedMs > timing.restart + timing.lastMoments)) {
        const message = isRead
          ? `the updater exited with code ${container.exitCode} without reporting an outcome`
          : `the updater exited with code ${container.exitCode}, and its log cannot be read`;
        record.end({ ...crashedRunResult, message, code: 'updater-ended' }, exitTimeOf(container));
        return startedAt;
      }
    }
  }
  if (!closing.aborted) {
    const message = "the updater's container was removed, so its log is lost";
    record.end({ ...crashedRunResult, message, code: 'updater-gone' });
  }
  return startedAt;
}

/** Result of a run whose outcome is unknown. */
export const crashedRunResult = {
  outcome: 'crashed',
  advice:
    'Check which version is running, then run the update again. The update brings all services to the same version.',
} as const;

/** Adds new log lines to the record until the run or log ends. Returns false if the engine fails first. */
async function readLog(
  containerId: string,
  record: RunRecord,
  { engine, closing }: FollowContext,
  onLine: OnLine,
): Promise<boolean> {
  let number = 0;
  try {
    for await (const line of engine.followLog(containerId, closing)) {
      // The server starts updaters with JSON logs, which include restore point data. An updater that was started
      // manually may log text.
      const json = parseJsonEventLine(line);
      const event = json?.event ?? parseEventLine(line);
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

/** Returns null if the container does not exist, and `away` if the engine does not respond. */
async function inspectIfReachable(engine: EngineApi, id: string): Promise<Container | 'away' | null> {
  try {
    return await engine.inspectContainer(id);
  } catch (error) {
    if (error instanceof EngineError) return 'away';
    throw error;
  }
}

const outcomeExitCodes: readonly number[] = Object.values(exitCodes).filter(
  (code) => code !== exitCodes.crashed,
);

/**
 * Whether the restart policy allows the engine to restart the failed container. A container that an operator killed
 * looks the same, but is not restarted.
 */
const mayBeRestarted = ({ restartPolicy, restartCount, exitCode }: Container): boolean =>
  restartPolicy === 'on-failure' && exitCode !== 0 && restartCount < maxUpdaterRestarts;

function exitTimeOf({ finishedAt }: Container): Date {
  const at = new Date(finishedAt);
  return at.getTime() > 0 ? at : new Date();
}
