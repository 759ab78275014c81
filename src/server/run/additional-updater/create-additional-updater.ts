import type { Deployment } from '../../deployment/read-deployment.ts';
import { chooseUpdatedServices } from '../../deployment/updated-services.ts';
import {
  type AdditionalUpdaterPurpose,
  buildAdditionalUpdaterSpec,
} from '../../deployment/updater-container.ts';
import { ensureUpdaterImage } from '../launch/launch-updater.ts';
import type { RunRecord } from '../run-record.ts';
import type { ServerContext } from '../server-context.ts';

export interface AdditionalUpdaterOptions {
  command: readonly [name: string, ...options: string[]];
  record: RunRecord;
  deployment: Deployment;
  signal: AbortSignal;
  /** Labels in addition to those of every updater. */
  labels?: Readonly<Record<string, string>>;
}

/**
 * Creates the container of an additional updater, but does not start it. `findPrevious` returns the id of the container
 * to replace. That container is removed just before the new one is created, because only its labels and log record its
 * run.
 * @throws UpdaterNotStartedError, EngineError
 */
export async function createAdditionalUpdater(
  purpose: AdditionalUpdaterPurpose,
  { command, record, deployment, signal, labels = {} }: AdditionalUpdaterOptions,
  { engine, settings }: ServerContext,
  findPrevious: (name: string) => Promise<string | null>,
): Promise<string> {
  await ensureUpdaterImage(record, { engine, settings, signal });
  const services = await chooseUpdatedServices(engine, deployment, settings);
  const spec = buildAdditionalUpdaterSpec(purpose, deployment, settings, {
    command,
    services,
    initialFacts: record.run,
  });
  const previous = await findPrevious(spec.name);
  if (previous !== null) await engine.removeContainer(previous, { force: true });
  return engine.createContainer({ ...spec, Labels: { ...spec.Labels, ...labels } });
}
