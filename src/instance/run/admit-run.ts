import type { JobInTheWay, Reason } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { StartOrder } from '../contract/start-order.ts';
import type { Timing } from '../contract/timing.ts';
import { askJobs } from '../host/ask-jobs.ts';
import type { QueueHold } from '../host/queue-hold.ts';
import { jobsReason, runningJobs, stuckReason } from '../offer/find-jobs.ts';

/** What an order finds in the queue. */
export type Admission =
  | { kind: 'refused'; reason: Reason }
  /** It goes on, once these have ended. */
  | { kind: 'admitted'; jobs: JobInTheWay[] };

/** Holds the queue, then looks for work: what has not begun by then begins after the update. @throws HostFailure */
export async function admitRun(
  order: StartOrder,
  { hold, settings, timing }: { hold: QueueHold; settings: Settings; timing: Timing },
): Promise<Admission> {
  await hold.call(true);
  if (order.force) return { kind: 'admitted', jobs: [] };
  const jobs = await askJobs(settings, timing);
  const reason = order.when === 'idle' ? stuckReason(jobs) : jobsReason(jobs);
  return reason === null
    ? { kind: 'admitted', jobs: order.when === 'idle' ? runningJobs(jobs) : [] }
    : { kind: 'refused', reason };
}
