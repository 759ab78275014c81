import { EngineError } from '../../engine/http/engine-error.ts';
import type { CancelReason, Run } from '../../wire/status.ts';
import { ApplicationError } from '../application/call-application.ts';
import type {
  CompleteRehearsalRequest,
  CompleteRollbackRequest,
  CompleteUpdateRequest,
  InstanceUpdates,
  RehearsalStartResult,
  RunStartResult,
} from '../contract/instance-updates.ts';
import type { RunRecord } from './run-record.ts';

/** Thrown if the application or the engine does not respond, or the server is shutting down. Clients may try again. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}

/**
 * Turns application and engine errors into UnavailableError, so that clients try again. Throws other errors unchanged.
 */
export function rethrowAsUnavailable(error: unknown): never {
  if (!(error instanceof ApplicationError) && !(error instanceof EngineError)) throw error;
  throw new UnavailableError('The server cannot process the request right now.', { cause: error });
}

/**
 * Implements the endpoints, independently of HTTP. All methods may throw UnavailableError. The library object has some
 * methods in common.
 */
export interface UpdateApi
  extends Pick<
    InstanceUpdates,
    'status' | 'cancelRehearsal' | 'rollbackOffer' | 'setChannel' | 'skip' | 'setAutomatic' | 'history'
  > {
  /** Running version. */
  readonly version: string;
  /** Whether an update is in progress. Used for users who are not admins, because they cannot read the status. */
  isUpdating(): Promise<boolean>;
  start(order: CompleteUpdateRequest): Promise<RunStartResult>;
  rollback(order: CompleteRollbackRequest): Promise<RunStartResult>;
  rehearse(order: CompleteRehearsalRequest): Promise<RehearsalStartResult>;
  cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }>;
  /** Creates a diagnostic archive that can be attached to an issue. */
  createReport(): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the current or last run; null if there has been no run. */
  findRunRecord(): Promise<RunRecord | null>;
  /** Aborted when the server shuts down. Clients then reconnect to the next server. */
  readonly closing: AbortSignal;
}
