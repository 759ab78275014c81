import { isUp } from '../../engine/container.ts';
import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import { unreachable } from '../place/home-not-found.ts';
import type { Surroundings } from '../place/surroundings.ts';
import { originOf } from '../place/updater-container.ts';
import type { Ledger } from '../store/ledger.ts';
import type { OpenRun } from '../store/open-run.ts';
import type { SeenUpdater } from './plan-resume.ts';

/**
 * The updater's container of this instance: the open run's, wherever its name has gone to, else the one of the
 * updater's name. Null where there is none.
 * @throws HostFailure, HomeNotFound where nobody tells
 */
export async function seeUpdater(
  open: OpenRun | null,
  { updater }: Surroundings,
  { engine, ledger }: { engine: EngineSocket; ledger: Ledger },
): Promise<(SeenUpdater & { container: ContainerDetails }) | null> {
  let container = updater?.isOurs ? updater.container : null;
  const launched = open?.updater ?? null;
  if (launched !== null && container?.id !== launched) {
    // Another instance that has launched one since has renamed it.
    const found = await engine.inspect(launched).catch((error) => {
      throw unreachable(engine, error);
    });
    container = found ?? container;
  }
  if (container === null) return null;
  const runId = originOf(container).id;
  return { id: container.id, runId, state: await stateOf(container, runId, ledger), container };
}

/** An updater may stay for a moment after its last line; one that was started again since is under way. */
async function stateOf(
  container: ContainerDetails,
  runId: string,
  ledger: Ledger,
): Promise<SeenUpdater['state']> {
  if (container.status === 'created') return 'made';
  if (!isUp(container)) return 'ended';
  const past = (await ledger.pastRuns()).find(({ run }) => run.id === runId);
  return past?.updaterStartedAt === container.startedAt ? 'ended' : 'under-way';
}
