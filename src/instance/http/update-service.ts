import type { Channel } from '../../release/channel.ts';
import type { Reason, Run, Status } from '../../wire/status.ts';
import type { RunRecord } from '../run/run-record.ts';

/** What the endpoints are made of: everything but HTTP. */
export interface UpdateService {
  /** The server's own. */
  readonly version: string;
  /** From memory, unless it is asked to look again. */
  status(options?: { refresh?: boolean }): Promise<Status>;
  /** Starts an update, to what is offered where no target is named. A target is `vX.Y.Z` or `canary`. */
  start(target: string | null): Promise<{ run: Run } | { reason: Reason }>;
  setChannel(channel: Channel): Promise<Status>;
  /** The current run or the last one; null where there has been none. */
  record(): Promise<RunRecord | null>;
  /** Given when the server shuts down: whoever follows a run comes back to the next server. */
  readonly closing: AbortSignal;
}
