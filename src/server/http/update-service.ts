import type { Channel } from '../../core/release/channel.ts';
import type { CancelReason, Reason, RollbackOffer, Run, Status } from '../../wire/status.ts';
import type { AutomaticChoice } from '../contract/automatic.ts';
import type { RollbackStart, StartOrder } from '../contract/instance-updates.ts';
import type { RunRecord } from '../run/run-record.ts';

/** The host application does not respond, or the server is shutting down. Clients may try again. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** The service behind the endpoints, without HTTP. All methods may throw Unavailable. */
export interface UpdateService {
  /** The running version. */
  readonly version: string;
  /** Cached unless `refresh` is set; `notes` adds `releases`. */
  status(options?: { refresh?: boolean; notes?: boolean }): Promise<Status>;
  /** Whether an update is in progress, for users who are not admins. */
  isUpdating(): Promise<boolean>;
  start(order: StartOrder): Promise<{ run: Run } | { reason: Reason }>;
  /** The effects of a rollback to the last restore point. */
  rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }>;
  rollback(order: RollbackStart): Promise<{ run: Run } | { reason: Reason }>;
  /** Cancels the current run. */
  cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }>;
  setChannel(channel: Channel): Promise<Status>;
  /** Null if the version is not the newest on the channel. */
  skip(version: string | null): Promise<Status | null>;
  /** Omitted settings remain unchanged. */
  setAutomatic(choice: AutomaticChoice): Promise<Status>;
  /** The current run or the last one; null if there is none. */
  record(): Promise<RunRecord | null>;
  /** The last 50 runs including the current one, newest first. */
  history(): Promise<Run[]>;
  /** Aborted when the server shuts down. Clients then reconnect to the next server. */
  readonly closing: AbortSignal;
}

/** The record of a run, which the endpoints follow. */
export { freshRun, isLaunchState, RunRecord } from '../run/run-record.ts';
