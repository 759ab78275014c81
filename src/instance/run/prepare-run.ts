import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineSocket } from '../../engine/socket.ts';
import { channelOf } from '../../release/channel.ts';
import { isMajorChange } from '../../release/order.ts';
import type { Settings } from '../contract/options.ts';
import type { StartOrder } from '../contract/start-order.ts';
import type { Timing } from '../contract/timing.ts';
import { askHost, HostFailure } from '../host/ask-host.ts';
import { askJobs } from '../host/ask-jobs.ts';
import type { QueueHold } from '../host/queue-hold.ts';
import { jobsReason, runningJobs, stuckReason } from '../offer/find-jobs.ts';
import type { Goal } from '../offer/offer.ts';
import type { Home } from '../place/home.ts';
import { launch } from './launch.ts';
import type { RunRecord } from './run-record.ts';
import { RunStop } from './run-stop.ts';

/** What a run is prepared with. */
export interface PrepareTools {
  engine: EngineSocket;
  settings: Settings;
  timing: Timing;
  hold: QueueHold;
  /** Given with a RunStop as its reason. */
  signal: AbortSignal;
  /** Tells the other servers, and hears what they ask. */
  sync(): Promise<void>;
}

/** What was asked for, and what it comes to. */
export interface RunPlan {
  order: StartOrder;
  goal: Goal;
  home: Home;
}

/** Work was found right before the launch. */
class WorkFound extends Error {}

/**
 * Waits for jobs, lets the host prepare, and launches the updater (docs/contract.md 8.2). Gives its container's id.
 * @throws RunStop
 */
export async function prepareRun(record: RunRecord, plan: RunPlan, tools: PrepareTools): Promise<string> {
  const { engine, settings, signal } = tools;
  const { home, goal } = plan;
  const giveUpAt = performance.now() + settings.idleMs;
  const until = new Date(Date.now() + settings.idleMs).toISOString();
  for (let isPrepared = false; ; isPrepared = true) {
    if (plan.order.when === 'idle') await waitForJobs(record, { giveUpAt, until }, tools);
    if (!isPrepared) await askToPrepare(record, goal, tools);
    signal.throwIfAborted();
    try {
      const gate = () => lookAgain(plan.order, tools);
      return await launch(engine, settings, { home, target: goal.target }, { record, signal, gate });
    } catch (error) {
      if (!(error instanceof WorkFound)) throw error;
    }
  }
}

/** Jobs that are queued stay so: the queue is held. */
async function waitForJobs(
  record: RunRecord,
  { giveUpAt, until }: { giveUpAt: number; until: string },
  { settings, timing, signal, sync }: PrepareTools,
): Promise<void> {
  for (let failure: HostFailure | null = null; ; ) {
    signal.throwIfAborted();
    try {
      const jobs = await askJobs(settings, timing);
      const running = runningJobs(jobs);
      if (running.length === 0) return;
      const stuck = stuckReason(running);
      if (stuck) throw refusedFor(stuck.code, stuck.message);
      const reason = jobsReason(running);
      if (performance.now() > giveUpAt)
        throw refusedFor(reason?.code ?? 'job-running', `${reason?.message} still`);
      const message = `waiting for ${running.length} ${running.length === 1 ? 'job' : 'jobs'} to end`;
      record.prepare('waiting', message, { jobs: running, until });
      await sync();
      failure = null;
    } catch (error) {
      if (!(error instanceof HostFailure)) throw error;
      if (failure === null) {
        settings.log({
          level: 'warn',
          message: 'the jobs that an update waits for cannot be read',
          cause: error,
        });
      }
      failure = error;
      if (performance.now() > giveUpAt) throw refusedFor('job-running', 'the jobs cannot be read');
    }
    await sleep(timing.jobs, undefined, { signal, ref: false }).catch(() => {});
  }
}

const refusedFor = (code: string, message: string): RunStop =>
  new RunStop('refused', `${message}: nothing was changed`, {
    code,
    advice: 'End the job or wait for its end, then run the update again.',
  });

async function askToPrepare(
  record: RunRecord,
  { to }: Goal,
  { settings, signal, sync }: PrepareTools,
): Promise<void> {
  const { beforeUpdate, preparation, preparationMs } = settings;
  if (!beforeUpdate) return;
  const { id, from } = record.run;
  // Given when it is cancelled, too, as nobody waits for it from then on.
  const over = new AbortController();
  record.prepare('preparing', preparation ?? 'preparing the update');
  await sync();
  const asked = {
    run: id,
    from: from ?? settings.version,
    target: to,
    major:
      channelOf(to) !== null && channelOf(settings.version) !== null && isMajorChange(settings.version, to),
    say: (message: unknown) => {
      if (!over.signal.aborted) record.prepare('preparing', String(message));
    },
    signal: over.signal,
  };
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  stopped.catch(() => {});
  try {
    const answer = askHost('beforeUpdate', () => beforeUpdate(asked), preparationMs);
    const refusal = await Promise.race([answer, stopped]);
    if (typeof refusal === 'string' && refusal !== '') throw notPrepared(refusal);
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    // What the host throws is its own word, and an admin's to read.
    throw notPrepared(error.cause instanceof Error ? error.cause.message : error.message, error);
  } finally {
    signal.removeEventListener('abort', stop);
    over.abort();
  }
}

const notPrepared = (cause: string, error?: unknown): RunStop =>
  new RunStop('refused', 'the preparation of the update failed: nothing was changed', {
    cause,
    code: 'not-prepared',
    advice: 'See to what the preparation says, then run the update again.',
    error,
  });

/** Right before the container is made: whatever began meanwhile would be cut short. */
async function lookAgain(order: StartOrder, { settings, timing, hold, sync }: PrepareTools): Promise<void> {
  await sync();
  if (order.force) return;
  let reason: ReturnType<typeof jobsReason>;
  try {
    // Another server of the instance may have let it go.
    await hold.call(true);
    const jobs = await askJobs(settings, timing);
    reason = jobsReason(order.when === 'idle' ? runningJobs(jobs) : jobs);
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    throw new RunStop('failed', 'the queue does not answer: nothing was changed', {
      code: 'queue-unavailable',
      advice: `See that ${settings.product.name} itself works, then run the update again.`,
      error,
    });
  }
  if (reason === null) return;
  if (order.when === 'idle') throw new WorkFound(reason.message);
  throw refusedFor(reason.code, reason.message);
}

/** As it ends the run. */
export function stopOf(error: unknown): RunStop {
  if (error instanceof RunStop) return error;
  return new RunStop('failed', 'the updater could not be started: nothing was changed', {
    code: 'launch-failed',
    advice: "See the server's log, then run the update again.",
    error,
  });
}
