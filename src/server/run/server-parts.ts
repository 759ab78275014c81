import type { AvailableUpdateFinder } from '../offer/current-offer.ts';
import type { ObservationCache } from './observation.ts';
import type { RunController } from './run-controller.ts';
import type { RunHistory } from './run-history.ts';
import type { ServerContext } from './server-context.ts';

/** Dependencies of the parts of a server that also need its runs and the available update. */
export interface ServerParts extends ServerContext {
  runs: RunController;
  history: RunHistory;
  observations: ObservationCache;
  offers: AvailableUpdateFinder;
}
