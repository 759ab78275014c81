import { formatAdvice } from '../../core/errors/advice.ts';
import { findUnrelatedContainers } from '../../engine/comparison/find-unrelated-containers.ts';
import { hasTemporaryName, isHookContainer } from '../../engine/containers/project-containers.ts';
import type { EngineApi } from '../../engine/engine-api.ts';
import type { Container } from '../../engine/objects/container.ts';
import { isUp } from '../../engine/objects/container.ts';
import { composeLabels } from '../../engine/objects/labels.ts';
import type { Reason } from '../../wire/status.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import { createEngineUnreachableError, DeploymentNotFoundError } from './deployment-not-found-error.ts';
import { locateDeployment } from './locate-deployment.ts';
import type { Deployment } from './read-deployment.ts';
import { isUpdaterOfInstance } from './updater-container.ts';

/** Deployment of the server and related containers, as reported by the engine. */
export interface DeploymentState {
  home: Deployment | null;
  noHome: DeploymentNotFoundError | null;
  /**
   * Container with the updater's name; null if no container has it. `isOurs` is true if it is an updater of this
   * instance.
   */
  updater: { container: Container; isOurs: boolean } | null;
  /**
   * Why unrelated containers with the instance's compose labels block updates (docs/contract.md 4.10). Null if no such
   * containers exist.
   */
  foreign: Reason | null;
}

/** Caches only the deployment. Containers are read from the engine each time. */
export class DeploymentCache {
  readonly #engine: EngineApi;
  readonly #settings: ValidatedInstanceOptions;
  #finding: Promise<Deployment> | null = null;
  #home: Deployment | null = null;

  constructor(engine: EngineApi, settings: ValidatedInstanceOptions) {
    this.#engine = engine;
    this.#settings = settings;
  }

  /** Deployment of the server; null until it has been found. */
  get home(): Deployment | null {
    return this.#home;
  }

  /** Finds the deployment once and caches it. @throws DeploymentNotFoundError */
  findDeployment(): Promise<Deployment> {
    this.#finding ??= this.#find();
    return this.#finding;
  }

  /** Clears the cache, because the deployment's directories may have changed. */
  forgetDeployment(): void {
    this.#finding = null;
  }

  async observe(): Promise<DeploymentState> {
    try {
      const deployment = await this.findDeployment();
      const [container, foreign] = await Promise.all([
        this.#engine.inspectContainer(this.#settings.containerName),
        this.#foreignReason(deployment),
      ]).catch((error) => {
        throw createEngineUnreachableError(this.#engine, error);
      });
      const updater = container && { container, isOurs: isUpdaterOfInstance(container, deployment) };
      return { home: deployment, noHome: null, updater, foreign };
    } catch (error) {
      if (error instanceof DeploymentNotFoundError)
        return { home: null, noHome: error, updater: null, foreign: null };
      throw error;
    }
  }

  async #find(): Promise<Deployment> {
    try {
      this.#home = await locateDeployment(this.#engine, this.#settings);
      return this.#home;
    } catch (error) {
      // `no-engine` is not cached, because the engine may be started or a proxy reconfigured.
      const isLasting = error instanceof DeploymentNotFoundError && error.code !== 'no-engine';
      if (!isLasting) this.#finding = null;
      throw error;
    }
  }

  /** Returns why containers of the project block an update; null if all belong to the instance. */
  async #foreignReason({
    container: own,
    project,
    directory,
    claim,
    service,
  }: Deployment): Promise<Reason | null> {
    const listed = await this.#engine.listContainers({ label: [`${composeLabels.project}=${project}`] });
    const containers = listed.filter(
      (each) =>
        each.labels[composeLabels.oneOff] !== 'True' &&
        !isHookContainer(each) &&
        // Ignore containers that an interrupted docker compose command created but did not start.
        (isUp(each) || !hasTemporaryName(each)),
    );
    const foreign = findUnrelatedContainers(containers, {
      project,
      directory,
      app: this.#settings.app ?? service,
      knownOrigins: new Set([claim]),
      serverId: own.id,
      isHalfReplaced: false,
    });
    return (
      foreign && {
        code: 'unrelated-container',
        message: `${foreign.message}. ${formatAdvice(foreign.advice)}`,
      }
    );
  }
}
