import type { AvailableUpdateFinder } from '../../available-update/available-update-finder.ts';
import type { ServerContext } from '../server-context.ts';
import type { RunController } from '../track/run-controller.ts';
import type { RunHistory } from '../track/run-history.ts';
import type { ObservationCache } from './observation-cache.ts';

/** Dependencies of the server parts that need the runs and the available update in addition to the context. */
export interface ServerParts extends ServerContext {
  runs: RunController;
  history: RunHistory;
  observations: ObservationCache;
  offers: AvailableUpdateFinder;
}
