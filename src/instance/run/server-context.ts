import type { EngineSocket } from '../../engine/socket.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import type { Listeners } from '../host/listeners.ts';
import type { QueueHold } from '../host/queue-hold.ts';
import type { SurroundingsCache } from '../place/surroundings.ts';
import type { Ledger } from '../store/ledger.ts';

/** What all parts of one server work with. */
export interface ServerContext {
  engine: EngineSocket;
  settings: Settings;
  timing: Timing;
  ledger: Ledger;
  hold: QueueHold;
  listeners: Listeners;
  place: SurroundingsCache;
  /** Given when the server closes: everything is let go of but the hold. */
  closing: AbortSignal;
}

/** What a run is prepared and launched with. */
export interface LaunchContext extends ServerContext {
  /** Given with a RunStop as its reason. */
  signal: AbortSignal;
  /** Tells the other servers how far the run is, and learns whether one of them was asked to cancel it. */
  sync(): Promise<void>;
}
