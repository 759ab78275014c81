import { isUp } from '../../../engine/objects/container.ts';
import type { DeploymentState } from '../../deployment/deployment-cache.ts';
import { createEngineUnreachableError } from '../../deployment/deployment-not-found-error.ts';
import { initialRunFactsOf } from '../../deployment/updater-container.ts';
import type { OpenRun } from '../../store/stored-entries.ts';
import type { ServerContext } from '../server-context.ts';
import type { FoundUpdater } from './plan-resume.ts';

/**
 * Finds the current run's container, even if it was renamed. Otherwise, finds the container with this instance's
 * updater name. Returns null if there is no such container.
 * @throws ApplicationError or DeploymentNotFoundError if the store or the engine does not respond
 */
export async function findUpdater(
  open: OpenRun | null,
  { updater }: DeploymentState,
  { engine, ledger }: ServerContext,
): Promise<FoundUpdater | null> {
  let container = updater?.isOurs ? updater.container : null;
  const launched = open?.updater ?? null;
  if (launched !== null && container?.id !== launched) {
    // Another instance may have renamed the container to launch its own updater.
    const found = await engine.inspectContainer(launched).catch((error) => {
      throw createEngineUnreachableError(engine, error);
    });
    container = found ?? container;
  }
  if (container === null) return null;
  const { id, status, startedAt } = container;
  const origin = initialRunFactsOf(container);
  const found = (state: FoundUpdater['state']) => ({ id, origin, state });
  if (status === 'created') return found('made');
  if (!isUp(container)) return found('ended');
  // If the run is stored as finished with the container's start time, the updater is about to exit. Otherwise, the run
  // is in progress, or its updater was restarted after the end of the run.
  const past = (await ledger.readPastRuns()).find(({ run }) => run.id === origin.id);
  return found(past?.updaterStartedAt === startedAt ? 'ended' : 'under-way');
}
