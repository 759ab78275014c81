import type { EngineApi } from '../../engine/engine-api.ts';
import type { UpdateEventListeners } from '../application/listeners.ts';
import type { QueuePauser } from '../application/queue-pauser.ts';
import type { ServerTiming } from '../contract/timing.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import type { DeploymentCache } from '../deployment/deployment-cache.ts';
import type { StateStore } from '../store/state-store.ts';

/** Dependencies of all parts of a server. */
export interface ServerContext {
  engine: EngineApi;
  settings: ValidatedInstanceOptions;
  timing: ServerTiming;
  ledger: StateStore;
  hold: QueuePauser;
  listeners: UpdateEventListeners;
  place: DeploymentCache;
  /** Aborted when the server closes. All work ends, but a paused queue stays paused. */
  closing: AbortSignal;
}

export interface LaunchContext extends ServerContext {
  /** Aborted if the updater must no longer be launched. The abort reason is an UpdaterNotStartedError. */
  signal: AbortSignal;
  /** Stores the run's state, and checks whether another server was asked to cancel the run. */
  sync(): Promise<void>;
}
