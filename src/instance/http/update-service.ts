import type { Channel } from '../../release/channel.ts';
import type { Archive, BackOffer, CancelReason, Reason, Run, Status } from '../../wire/status.ts';
import type { AutomaticChoice } from '../contract/automatic.ts';
import type { BackStart, StartOrder } from '../contract/instance-updates.ts';
import type { RunRecord } from '../run/run-record.ts';

/** The host does not answer, or the server is closing: whoever asks may come back. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** Takes the archive of a release in pieces. All methods may throw Unavailable. */
export interface ArchiveReceiver {
  /** What is here of it. */
  begin(announced: { size: number; sha256: string }): Promise<{ archive: Archive } | { reason: Reason }>;
  /** Null where nothing of that archive is here. What the body throws is thrown. */
  receive(
    piece: { sha256: string; offset: number },
    body: AsyncIterable<Uint8Array>,
  ): Promise<{ archive: Archive } | { reason: Reason } | null>;
  remove(): Promise<{ reason: Reason } | null>;
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
  /** What going back to the last restore point leads to. */
  backOffer(): Promise<{ offer: BackOffer } | { reason: Reason }>;
  goBack(order: BackStart): Promise<{ run: Run } | { reason: Reason }>;
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
  /** Null where the platform takes no archives. */
  readonly archives: ArchiveReceiver | null;
  /** Given when the server shuts down: whoever follows a run comes back to the next server. */
  readonly closing: AbortSignal;
}

/** What a service keeps of a run, and what the endpoints follow. */
export { freshRun, isLaunchState, RunRecord } from '../run/run-record.ts';
