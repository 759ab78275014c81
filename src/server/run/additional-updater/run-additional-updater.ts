import type { Deployment } from '../../deployment/read-deployment.ts';
import { chooseUpdatedServices } from '../../deployment/updated-services.ts';
import { buildAdditionalUpdaterSpec, isUpdaterOfInstance } from '../../deployment/updater-container.ts';
import { ensureUpdaterImage } from '../launch/launch-updater.ts';
import type { RunRecord } from '../run-record.ts';
import type { ServerContext } from '../server-context.ts';

interface AdditionalUpdaterOptions {
  command: readonly ['rollback' | 'report', ...options: string[]];
  record: RunRecord;
  home: Deployment;
  signal: AbortSignal;
}

/**
 * Starts an additional updater container, runs `work`, and then removes the container.
 * @throws UpdaterNotStartedError, EngineError
 */
export async function runWithAdditionalUpdater<T>(
  { command, record, home: deployment, signal }: AdditionalUpdaterOptions,
  { engine, settings }: ServerContext,
  work: (containerId: string) => Promise<T>,
): Promise<T> {
  await ensureUpdaterImage(record, { engine, settings, signal });
  const services = await chooseUpdatedServices(engine, deployment, settings);
  const container = buildAdditionalUpdaterSpec(command[0], deployment, settings, {
    command,
    services,
    initialFacts: record.run,
  });
  const left = await engine.inspectContainer(container.name);
  if (left !== null && isUpdaterOfInstance(left, deployment))
    await engine.removeContainer(left.id, { force: true });
  const containerId = await engine.createContainer(container);
  try {
    await engine.startContainer(containerId);
    return await work(containerId);
  } finally {
    await engine.removeContainer(containerId, { force: true }).catch(() => {});
  }
}
