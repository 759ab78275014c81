import { isUpdaterOfInstance } from '../../deployment/updater-container.ts';
import type { ServerContext } from '../server-context.ts';
import { type AdditionalUpdaterOptions, prepareAdditionalUpdater } from './prepare-additional-updater.ts';

/**
 * Starts an additional updater container, runs `work`, and then removes the container.
 * @throws UpdaterNotStartedError, EngineError
 */
export async function runWithAdditionalUpdater<T>(
  purpose: 'rollback' | 'report',
  options: AdditionalUpdaterOptions,
  context: ServerContext,
  work: (containerId: string) => Promise<T>,
): Promise<T> {
  const { engine } = context;
  const spec = await prepareAdditionalUpdater(purpose, options, context);
  const left = await engine.inspectContainer(spec.name);
  if (left !== null && isUpdaterOfInstance(left, options.deployment))
    await engine.removeContainer(left.id, { force: true });
  const containerId = await engine.createContainer(spec);
  try {
    await engine.startContainer(containerId);
    return await work(containerId);
  } finally {
    await engine.removeContainer(containerId, { force: true }).catch(() => {});
  }
}
