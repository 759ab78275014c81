import { EngineError } from '../../engine/http/engine-error.ts';
import type { CancelReason, Reason, Run } from '../../wire/status.ts';
import { HostFailure } from '../application/call-application.ts';
import type {
  CompleteRollbackOrder,
  CompleteUpdateOrder,
  InstanceUpdates,
} from '../contract/instance-updates.ts';
import type { RunRecord } from './run-record.ts';

/** Error if the host application does not respond or the server is shutting down. Clients may try again. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/**
 * Throws Unavailable for an error of the host application or the engine, so that clients try again. Throws any other
 * error unchanged.
 */
export function throwUnavailable(error: unknown): never {
  if (!(error instanceof HostFailure) && !(error instanceof EngineError)) throw error;
  throw new Unavailable('The server cannot process the request right now.', { cause: error });
}

/** Methods that the service has in common with the library object. */
type Shared = 'status' | 'rollbackOffer' | 'setChannel' | 'skip' | 'setAutomatic' | 'history';

/** Service that implements the endpoints, independent of HTTP. All methods may throw Unavailable. */
export interface UpdateService extends Pick<InstanceUpdates, Shared> {
  /** Running version. */
  readonly version: string;
  /** Whether an update is in progress, for users who are not admins. */
  isUpdating(): Promise<boolean>;
  start(order: CompleteUpdateOrder): Promise<{ run: Run } | { reason: Reason }>;
  rollback(order: CompleteRollbackOrder): Promise<{ run: Run } | { reason: Reason }>;
  cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }>;
  /** Returns a diagnostic archive for an issue. */
  report(): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the current or last run; null if there is none. */
  record(): Promise<RunRecord | null>;
  /** Aborted when the server shuts down. Clients then reconnect to the next server. */
  readonly closing: AbortSignal;
}
