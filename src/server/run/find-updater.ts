import { isUp } from '../../engine/container.ts';
import { engineUnreachable } from '../place/home-not-found.ts';
import type { Surroundings } from '../place/surroundings.ts';
import { originOf } from '../place/updater-container.ts';
import type { OpenRun } from '../store/open-run.ts';
import type { FoundUpdater } from './plan-resume.ts';
import type { ServerContext } from './server-context.ts';

/**
 * Finds the updater container of this instance: that of the current run, even if it was renamed, otherwise the container
 * with the name of the updater. Null if there is none.
 * @throws HostFailure or HomeNotFound where store or engine do not answer
 */
export async function findUpdater(
  open: OpenRun | null,
  { updater }: Surroundings,
  { engine, ledger }: ServerContext,
): Promise<FoundUpdater | null> {
  let container = updater?.isOurs ? updater.container : null;
  const launched = open?.updater ?? null;
  if (launched !== null && container?.id !== launched) {
    // Another instance that has launched an updater since has renamed it.
    const found = await engine.inspectContainer(launched).catch((error) => {
      throw engineUnreachable(engine, error);
    });
    container = found ?? container;
  }
  if (container === null) return null;
  const { id, status, startedAt } = container;
  const origin = originOf(container);
  const found = (state: FoundUpdater['state']) => ({ id, origin, state });
  if (status === 'created') return found('made');
  if (!isUp(container)) return found('ended');
  // An updater may stay for a moment after its last line; an updater that was started again since is under way.
  const past = (await ledger.pastRuns()).find(({ run }) => run.id === origin.id);
  return found(past?.updaterStartedAt === startedAt ? 'ended' : 'under-way');
}
