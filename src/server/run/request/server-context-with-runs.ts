import type { AvailableUpdateFinder } from '../../available-update/available-update-finder.ts';
import type { ServerContext } from '../server-context.ts';
import type { RunController } from '../track/run-controller.ts';
import type { RunHistory } from '../track/run-history.ts';
import type { StoreAndEngineCache } from './store-and-engine-cache.ts';

/** Dependencies of the server parts that need the runs and the available update. */
export interface ServerContextWithRuns extends ServerContext {
  runs: RunController;
  history: RunHistory;
  observations: StoreAndEngineCache;
  offers: AvailableUpdateFinder;
}
