import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import type { EngineApi } from '../../engine/engine-api.ts';
import { EngineError, rejectionCodes, tolerateErrors } from '../../engine/http/engine-error.ts';
import type { Container } from '../../engine/objects/container.ts';
import { swarmLabels } from '../../engine/objects/labels.ts';
import { readOwnContainerClues } from '../../engine/self/find-own-container.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import { checkUpdaterMounts } from './check-mounts.ts';
import { createEngineUnreachableError, DeploymentNotFoundError } from './deployment-not-found-error.ts';
import { type Deployment, notComposeServiceMessage, readDeployment } from './read-deployment.ts';
import { findSwarmWorkerServices } from './updated-services.ts';

/**
 * Finds the server's deployment, and checks that the updater's mounts exist on the host.
 * @throws DeploymentNotFoundError
 */
export async function locateDeployment(
  engine: EngineApi,
  settings: ValidatedInstanceOptions,
): Promise<Deployment> {
  const traces = await readOwnContainerClues();
  const { id } = traces;
  const isSocket = engine.path.startsWith('/');
  if (isSocket && !existsSync(engine.path)) {
    throw id !== null || existsSync('/.dockerenv')
      ? new DeploymentNotFoundError('no-engine', `the engine's socket is not mounted at ${engine.path}`)
      : new DeploymentNotFoundError('not-compose', notComposeServiceMessage);
  }
  try {
    await rejectPodman(engine);
    const own = await engine.findOwnContainer(traces);
    if (own === null) {
      throw id === null
        ? new DeploymentNotFoundError('not-compose', notComposeServiceMessage)
        : new DeploymentNotFoundError(
            'no-engine',
            `this server's container is not running on the engine at ${engine.path}`,
          );
    }
    await rejectSwarm(engine, own, settings);
    const realSocket = isSocket ? await realpath(engine.path).catch(() => engine.path) : '';
    const deployment = readDeployment(own, settings, realSocket);
    await checkUpdaterMounts(engine, deployment, settings.product);
    return deployment;
  } catch (error) {
    throw error instanceof EngineError ? createEngineUnreachableError(engine, error) : error;
  }
}

/** Podman supports most requests of the server, but not all requests of an updater (docs/contract.md 8.24). */
async function rejectPodman(engine: EngineApi): Promise<void> {
  await engine.getFacts().catch(tolerateErrors(...rejectionCodes));
  if (!engine.isPodman) return;
  throw new DeploymentNotFoundError(
    'no-engine',
    `the engine at ${engine.path} is Podman, but updates need Docker Engine: Podman does not report registry digests and cannot change the restart policy of a running container`,
    { known: { isPodman: true } },
  );
}

async function rejectSwarm(
  engine: EngineApi,
  own: Container,
  { product }: ValidatedInstanceOptions,
): Promise<void> {
  const service = own.labels[swarmLabels.service];
  if (!service) return;
  throw new DeploymentNotFoundError(
    'swarm',
    `the server is a task of the Swarm service ${service}, so only Swarm can replace its containers`,
    { known: { swarm: { own, workers: await findSwarmWorkerServices(engine, own.labels, product) } } },
  );
}
