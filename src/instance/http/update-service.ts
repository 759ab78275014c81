import type { Channel } from '../../release/channel.ts';
import type { CancelReason, Reason, RollbackOffer, Run, Status } from '../../wire/status.ts';
import type { AutomaticChoice } from '../contract/automatic.ts';
import type { RollbackStart, StartOrder } from '../contract/instance-updates.ts';
import type { RunRecord } from '../run/run-record.ts';

/** The host does not answer, or the server is closing: whoever asks may come back. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** What the endpoints are made of: everything but HTTP. All methods may throw Unavailable. */
export interface UpdateService {
  /** The server's own. */
  readonly version: string;
  /** From memory, unless it is asked to look again; `notes` adds `releases`. */
  status(options?: { refresh?: boolean; notes?: boolean }): Promise<Status>;
  /** Whether an update is on, for those who are told nothing else. */
  isUpdating(): Promise<boolean>;
  start(order: StartOrder): Promise<{ run: Run } | { reason: Reason }>;
  /** The effects of a rollback to the last restore point. */
  rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }>;
  rollback(order: RollbackStart): Promise<{ run: Run } | { reason: Reason }>;
  /** Asks that the open run stop; `by` is who asks. */
  cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }>;
  setChannel(channel: Channel): Promise<Status>;
  /** Null for a version that is not the newest of the channel. */
  skip(version: string | null): Promise<Status | null>;
  /** Sets what starts by itself; what is left out stays. */
  setAutomatic(choice: AutomaticChoice): Promise<Status>;
  /** The current run or the last one; null where there has been none. */
  record(): Promise<RunRecord | null>;
  /** The last 50 runs, newest first, the open one among them. */
  history(): Promise<Run[]>;
  /** Given when the server shuts down: whoever follows a run comes back to the next server. */
  readonly closing: AbortSignal;
}

/** What a service keeps of a run, and what the endpoints follow. */
export { freshRun, isLaunchState, RunRecord } from '../run/run-record.ts';
