import type { ProgressEvent } from '../../progress/event.ts';
import type { Channel } from '../../release/channel.ts';
import type { CancelReason, NextRelease, Reason, RollbackOffer, Run, Status } from '../../wire/status.ts';
import type { AutomaticChoice } from './automatic.ts';

/** What the platform asks of an update that it starts itself. */
export interface UpdateOrder {
  /** `vX.Y.Z`, `vX.Y.Z-canary.N` or `canary`. Default: `next` of the status. */
  target?: string;
  /** `idle`: once running jobs have ended. Default `now`. */
  when?: 'now' | 'idle';
  /** Running jobs are cut short. */
  force?: boolean;
  /**
   * All the way to the target, or to `latest`, by the releases that have to come before it, each with an update of its
   * own.
   */
  allSteps?: boolean;
  /** Who starts it, as the run tells. */
  by?: string;
}

/** A rollback that the platform orders. */
export interface RollbackOrder extends Omit<UpdateOrder, 'target' | 'allSteps'> {
  /** The version to roll back to, `to` of the offer: it confirms that the caller has read the offer. */
  confirm: string;
}

/** An order as a server takes it: a target of null is what is offered. */
export type StartOrder = Required<Omit<UpdateOrder, 'target' | 'allSteps'>> & {
  target: string | null;
  allSteps?: boolean;
};

export type RollbackStart = Required<RollbackOrder>;

/** The events, each with what its listeners are given. */
export interface UpdateEvents {
  /** There is something new to update to. */
  offer: NextRelease;
  /** A run has begun, here or at another server of the instance. */
  start: Run;
  /** One more line of the updater's log. */
  line: { run: Run; line: ProgressEvent };
  /** A run has ended. */
  end: Run;
}

/** The self-update of the instance that this server belongs to. */
export interface InstanceUpdates {
  /** Answers every request under its path; never rejects. */
  handle(request: Request): Promise<Response>;
  /** Whether a request is for it: its path is that of the options or below. */
  matches(request: Request): boolean;
  /** To be awaited before the queue starts jobs: where an update is on, the queue is held until its end. */
  start(): Promise<void>;
  /** For the server's own end: event streams and timers stop; a hold stays, for the next server to go on with. */
  close(): Promise<void>;
  /** `refresh` looks again, at most once every 10 s; `notes` adds `releases`. */
  status(options?: { refresh?: boolean; notes?: boolean }): Promise<Status>;
  /** Starts an update, as a POST does. */
  update(order?: UpdateOrder): Promise<{ run: Run } | { reason: Reason }>;
  /** Asks that the open run stop; `by` is who asks. */
  cancel(options?: { by?: string }): Promise<{ run: Run } | { reason: CancelReason }>;
  /** The effects of a rollback to the last restore point. An updater checks it, which may take minutes. */
  rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }>;
  /** Starts a rollback, as a POST to `/rollback` does. */
  rollback(order: RollbackOrder): Promise<{ run: Run } | { reason: Reason }>;
  setChannel(channel: Channel): Promise<Status>;
  /** The newest release is not spoken of until there is a newer one; null: it is again. Null for another version. */
  skip(version: string | null): Promise<Status | null>;
  /** Sets what starts by itself, and when; what is left out stays. */
  setAutomatic(choice: AutomaticChoice): Promise<Status>;
  /** The last 50 runs, newest first, the open one among them. */
  history(): Promise<Run[]>;
  /** Calls the listener for each event, until the function that this gives is called. What it throws goes to the log. */
  on<E extends keyof UpdateEvents>(event: E, listener: (told: UpdateEvents[E]) => void): () => void;
}
