import type { ProgressEvent } from '../../core/progress/event.ts';
import type { Channel } from '../../core/release/channel.ts';
import type {
  CancelReason,
  NextRelease,
  Reason,
  Rehearsal,
  RollbackOffer,
  Run,
  Status,
} from '../../wire/status.ts';
import type { AutomaticUpdateSettingsChange } from './automatic-update-settings.ts';

/** Update that the application requests. */
export interface UpdateOrder {
  /** Target version: `vX.Y.Z`, `vX.Y.Z-canary.N` or `canary`. Default: `next` from the status. */
  target?: string;
  /** When the run starts. With `idle`, it waits until running jobs have finished. Default: `now`. */
  when?: 'now' | 'idle';
  /** Whether the run starts even if this interrupts running jobs. Default: false. */
  force?: boolean;
  /**
   * Whether required intermediate releases are installed before the target. If no target is given, the target is
   * `latest` from the status. Default: false.
   */
  allSteps?: boolean;
  /** Values for the release's new settings, by name. They are passed to the updater and never stored. */
  settings?: Readonly<Record<string, string>>;
  /** Name of the person or program that starts the run. Default: name of the product. */
  by?: string;
}

/** Rehearsal that the application requests. */
export type RehearsalOrder = Pick<UpdateOrder, 'target' | 'settings' | 'by'>;

/** Rollback that the application requests. */
export interface RollbackOrder extends Omit<UpdateOrder, 'target' | 'allSteps' | 'settings'> {
  /** The version `to` from the rollback offer. It confirms that the caller has read the offer. */
  confirm: string;
}

/** `UpdateOrder` with defaults applied. A target of null means `next` from the status. */
export type CompleteUpdateRequest = Required<Omit<UpdateOrder, 'target' | 'allSteps' | 'settings'>> &
  Pick<UpdateOrder, 'allSteps' | 'settings'> & { target: string | null };

export type CompleteRehearsalRequest = Pick<CompleteUpdateRequest, 'target' | 'settings' | 'by'>;

export type CompleteRollbackRequest = Required<RollbackOrder>;

/** Started run, or the reason why no run can start. */
export type RunStartResult = { run: Run } | { reason: Reason };

/** Started rehearsal, or the reason why it cannot start. */
export type RehearsalStartResult = { rehearsal: Rehearsal } | { reason: Reason };

/** Events, and the argument that their listeners receive. */
export interface UpdateEvents {
  /** Emitted when a new release is available. */
  offer: NextRelease;
  /** Emitted when a run has started on any server of the instance. */
  start: Run;
  /** Emitted for each new line of the updater's log. */
  line: { run: Run; line: ProgressEvent };
  /** Emitted when a run has finished. */
  end: Run;
}

/** Controls the updates of the instance that this server belongs to. */
export interface InstanceUpdates {
  /** Responds to a request below the option `path`. Never rejects. */
  handle(request: Request): Promise<Response>;
  /** Whether the path of a request equals the option `path` or is below it. */
  matches(request: Request): boolean;
  /**
   * Starts the library. Await the result before the queue starts jobs: during an update, the queue must stay paused.
   */
  start(): Promise<void>;
  /** Stops event streams and timers. During an update, the queue stays paused. Await the result at shutdown. */
  close(): Promise<void>;
  /**
   * Returns the status. `refresh` reads the feed again, at most every 10 seconds. `notes` includes the release notes.
   */
  status(options?: { refresh?: boolean; notes?: boolean }): Promise<Status>;
  /** Starts an update, or returns the reason why no update can start. */
  update(order?: UpdateOrder): Promise<RunStartResult>;
  /** Cancels the current run. `by` is the name of the person or program that requests the cancellation. */
  cancel(options?: { by?: string }): Promise<{ run: Run } | { reason: CancelReason }>;
  /**
   * Starts a rehearsal: tries the update on a copy of the data. Returns the rehearsal, or the reason why it cannot
   * start. The status contains its progress and result.
   */
  rehearse(order?: RehearsalOrder): Promise<RehearsalStartResult>;
  /** Requests the cancellation of the running rehearsal. */
  cancelRehearsal(): Promise<{ rehearsal: Rehearsal } | { reason: CancelReason }>;
  /** Returns the effects of a rollback. This may take minutes, because an updater first checks the restore point. */
  rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }>;
  /** Starts a rollback, or returns the reason why no rollback can start. */
  rollback(order: RollbackOrder): Promise<RunStartResult>;
  /** Sets the release channel and returns the new status. */
  setChannel(channel: Channel): Promise<Status>;
  /**
   * Skips the newest release until a newer one is published; null undoes the skip. Returns null if the version is not
   * the newest release.
   */
  skip(version: string | null): Promise<Status | null>;
  /** Changes settings of automatic updates. Omitted settings remain unchanged. */
  setAutomatic(choice: AutomaticUpdateSettingsChange): Promise<Status>;
  /** Returns the last 50 runs including the current run, newest first. */
  history(): Promise<Run[]>;
  /** Returns metrics about the status and the last run, in the Prometheus text format. */
  metrics(): Promise<string>;
  /** Adds a listener and returns a function that removes it. Errors of listeners are logged. */
  on<E extends keyof UpdateEvents>(event: E, listener: (told: UpdateEvents[E]) => void): () => void;
}
