import { isUpdaterOfInstance } from '../../deployment/updater-container.ts';
import type { ServerContext } from '../server-context.ts';
import { type AdditionalUpdaterOptions, createAdditionalUpdater } from './create-additional-updater.ts';

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
  const containerId = await createAdditionalUpdater(purpose, options, context, async (name) => {
    const left = await engine.inspectContainer(name);
    return left !== null && isUpdaterOfInstance(left, options.deployment) ? left.id : null;
  });
  try {
    await engine.startContainer(containerId);
    return await work(containerId);
  } finally {
    await engine.removeContainer(containerId, { force: true }).catch(() => {});
  }
}
