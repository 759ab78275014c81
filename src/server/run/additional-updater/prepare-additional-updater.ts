import type { ContainerSpec } from '../../../engine/api-objects.ts';
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
}

/**
 * Pulls the updater image, and returns the specification of an additional updater.
 * @throws UpdaterNotStartedError, EngineError
 */
export async function prepareAdditionalUpdater(
  purpose: AdditionalUpdaterPurpose,
  { command, record, deployment, signal }: AdditionalUpdaterOptions,
  { engine, settings }: ServerContext,
): Promise<ContainerSpec & { name: string }> {
  const image = await ensureUpdaterImage(record, { engine, settings, signal }, deployment);
  const services = await chooseUpdatedServices(engine, deployment, settings);
  const invocation = { command, image, services, initialFacts: record.run };
  return buildAdditionalUpdaterSpec(purpose, deployment, settings, invocation);
}
