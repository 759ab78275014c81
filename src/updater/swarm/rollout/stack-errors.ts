import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { toObject } from '../../../engine/objects/json.ts';
import { containerSpecOf } from '../../../engine/swarm/swarm-service.ts';
import { formatCount, formatSeconds } from '../../run/log/format-values.ts';
import type { StackRecordData } from '../record/stack-record.ts';
import type { StackServiceUpdate } from '../services/specs.ts';
import type { ServiceView, WaitStep } from './plan-stack-step.ts';
import type { StackWatch } from './stack-watch.ts';

// Errors of stack updates, which report the resulting state of the stack.

/** Number of failed new tasks after which the run stops waiting for a service. */
const maxFailures = 5;

/** Returns an error if a wait has failed or takes too long; null if the run must keep waiting. */
export function findWaitError(
  watch: StackWatch,
  { service, what }: WaitStep,
  { waitedMs, timeoutMs }: { waitedMs: number; timeoutMs: number },
): UpdateError | null {
  const { move, tasks } = service;
  const isLate = waitedMs > timeoutMs + ownDelaysMs(move);
  if (what === 'starts') {
    const isOver = tasks.newAlive.length === 0 && tasks.failures > 0 && waitedMs > 15_000;
    if ((tasks.failures < maxFailures || tasks.isStartUncertain) && !isOver && !isLate) return null;
    // Counts tasks that are still `starting` as started. If they are the first to start, the run waits until the next
    // poll has recorded the start.
    return watch.countStarting() ? null : createUnhealthyServiceError(watch, service, waitedMs);
  }
  if (!isLate) return null;
  const left = watch.isRollingBack ? tasks.newAlive : tasks.oldAlive;
  const where = left.map(({ node, state }) => `${watch.nodeName(node)} (${state})`).join(', ');
  const message =
    what === 'returns'
      ? `after ${formatSeconds(waitedMs)}, only ${tasks.oldRunning.length} of ${tasks.requiredCount} tasks of ${move.name} are running`
      : `${move.name} still has tasks on ${where} after ${formatSeconds(waitedMs)}`;
  return watch.isRollingBack
    ? new UpdateError('containers-not-restored', message, { advice: createTaskAdvice([move]) })
    : createTaskFailureError(watch, message);
}

/**
 * Returns the sum in ms of the delays that the owner configured: between tasks, for monitoring new tasks, and for
 * stopping tasks.
 */
function ownDelaysMs({ wanted }: StackServiceUpdate): number {
  const { Delay = 0, Monitor = 0 } = toObject(wanted.UpdateConfig);
  const { StopGracePeriod = 0 } = containerSpecOf(wanted);
  return (Number(Delay) + Number(Monitor) + Number(StopGracePeriod)) / 1e6;
}

function createUnhealthyServiceError(
  watch: StackWatch,
  { move, tasks }: ServiceView,
  waitedMs: number,
): UpdateError {
  if (move.role === 'once') {
    const message = `${move.name} did not succeed within ${formatSeconds(waitedMs)}`;
    const advice = `Check the output of docker service logs ${move.name}. Fix the cause, run docker service update --force --detach ${move.name}, then run {command} again.`;
    return new UpdateError(watch.hasStarted ? 'broken' : 'recreate-failed', message, { advice });
  }
  const why =
    tasks.failures >= maxFailures
      ? `${tasks.failures} new tasks of ${move.name} failed`
      : `after ${formatSeconds(waitedMs)}, only ${tasks.newRunning.length} of ${tasks.requiredCount} new tasks of ${move.name} are running`;
  const old =
    tasks.oldAlive.length > 0 ? `; ${formatCount(tasks.oldAlive.length, 'old task')} still present` : '';
  return createTaskFailureError(watch, `${why}${old}`);
}

export function createTaskFailureError({ hasStarted, followed }: StackWatch, message: string): UpdateError {
  if (!hasStarted) return new UpdateError('recreate-failed', message);
  return new UpdateError('broken', message, { advice: createTaskAdvice(followed.map(({ move }) => move)) });
}

export function createServiceChangedError({ hasStarted }: StackWatch, { move }: ServiceView): UpdateError {
  const message = `the definition of ${move.name} was changed by another user or process during the update`;
  return hasStarted
    ? new UpdateError('broken', message, { advice: createTaskAdvice([move]) })
    : new UpdateError('containers-changed', message, {
        advice: `Check the service with docker service inspect --pretty ${move.name}. Make sure that no one deploys the stack during the update, then run {command} again.`,
      });
}

const createTaskAdvice = (moves: readonly StackServiceUpdate[]): string =>
  `Check the output of docker service ps --no-trunc ${moves.map(({ name }) => name).join(' ')} and docker service logs ${moves[0]?.name}. Fix the cause, then run {command} again.`;

export const createSwarmLostError = ({ message }: UpdateError): UpdateError =>
  new UpdateError('engine-lost', message, {
    state:
      'the connection to the Swarm was lost while services were being replaced; the progress was recorded',
    advice:
      'Check the nodes with docker node ls on a manager, then run {command} again. The new run continues where this run stopped.',
  });

/** The failed update can no longer be rolled back, because the new version has started. */
export function createNotRolledBackError(
  data: StackRecordData,
  error: UpdateError,
  detail: readonly string[],
): UpdateError {
  const hasWorkers = data.moves.some(({ role }) => role === 'worker');
  return new UpdateError('broken', error.message, {
    detail,
    advice: error.advice,
    state: `${data.to} has started but is not healthy; nothing was rolled back, because its migrations may have run${hasWorkers ? '; no old worker is running' : ''}`,
    cause: error,
  });
}

/** All changes of the run were undone. The original error is already in the log. */
export function createRolledBackError(data: StackRecordData, error: UpdateError): UpdateError {
  const isForeign = error.code === 'containers-changed';
  const stack = isForeign ? 'the external changes to the stack were kept' : `${data.from} is running again`;
  return new UpdateError(error.code, error.message, {
    isLogged: true,
    advice: error.advice,
    state: data.files.length > 0 ? `the files were restored, and ${stack}` : stack,
    cause: error,
  });
}

/**
 * Returns the last log lines of the new task that failed most recently. Empty if no task failed, or if its log cannot
 * be read.
 */
export async function readFailedTaskLog(engine: Engine, watch: StackWatch): Promise<string[]> {
  const { failure } = watch;
  if (failure === null || failure.node === '') return [];
  const last = { count: 20, signal: engine.aborted };
  const lines = await engine.readLastLines('readTaskLog', failure.id, last).catch(() => []);
  if (lines.length === 0) return [];
  return [
    `last log lines of the task on ${watch.nodeName(failure.node)}:`,
    ...lines.map((line) => `  ${line}`),
  ];
}
