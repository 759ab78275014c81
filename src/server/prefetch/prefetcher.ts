import { EngineError } from '../../engine/http/engine-error.ts';
import type { Container } from '../../engine/objects/container.ts';
import type { Prefetch } from '../../wire/status.ts';
import type { RepeatedCheck } from '../application/repeat-check.ts';
import { resolveInstallableTarget, type UpdateTarget } from '../available-update/choose-update.ts';
import { isInTimeWindow } from '../contract/time-window.ts';
import { DeploymentNotFoundError } from '../deployment/deployment-not-found-error.ts';
import type { Deployment } from '../deployment/read-deployment.ts';
import {
  createAdditionalUpdaterName,
  initialRunFactsOf,
  isUpdaterActive,
  isUpdaterOfInstance,
  prefetchAttemptsLabel,
} from '../deployment/updater-container.ts';
import { prepareAdditionalUpdater } from '../run/additional-updater/prepare-additional-updater.ts';
import { createUpdaterTargetOptions } from '../run/launch/target-options.ts';
import type { ServerContextWithRuns } from '../run/request/server-context-with-runs.ts';
import { createRun, RunRecord } from '../run/run-record.ts';
import { followRunLog } from '../run/track/follow-run-log.ts';
import { type PrefetchFacts, type PrefetchStep, planPrefetch } from './plan-prefetch.ts';

const hourMs = 3_600_000;

/**
 * Downloads the available release's images before an update is requested. All servers of the instance share the
 * prefetch container, which is the only stored state. Its unique name ensures that only one server creates the
 * container.
 */
export class Prefetcher implements RepeatedCheck {
  readonly pauseMs: number;
  readonly wakenBy = 'offer';
  readonly #parts: ServerContextWithRuns;
  #told: ({ version: string } & Prefetch) | null = null;
  /** Id of the container whose log was followed last. */
  #followed: string | null = null;
  #isLogged = false;
  /**
   * Earliest time of the next attempt (monotonic, in ms). Only used if no container could be created: otherwise, a
   * label of the container counts the attempts.
   */
  #notBefore = 0;

  constructor(parts: ServerContextWithRuns) {
    this.#parts = parts;
    this.pauseMs = parts.timing.prefetch;
  }

  /** Returns the prefetch progress of a version; null if the progress is unknown. */
  progressOf(version: string | undefined): Prefetch | null {
    if (this.#told === null || this.#told.version !== version) return null;
    return { state: this.#told.state, percent: this.#told.percent };
  }

  async check(): Promise<void> {
    const { engine, place: location, runs, settings } = this.#parts;
    if (settings.prefetch === false) return;
    const offered = await this.#offered();
    const release = offered?.release ?? null;
    const deployment = await location.findDeployment();
    const found = await engine.inspectContainer(
      createAdditionalUpdaterName('prefetch', settings, deployment),
    );
    const isOurs = found === null || isUpdaterOfInstance(found, deployment);
    const facts = { offered, found, version: settings.version, isFollowed: found?.id === this.#followed };
    const step: PrefetchStep = isOurs ? planPrefetch(facts, Date.now()) : { kind: 'leave' };
    const told = step.kind === 'launch' ? 'waiting' : step.kind === 'tell' ? step.state : null;
    if (release === null || step.kind === 'leave') this.#told = null;
    else if (told !== null) this.#told = { version: release.to, state: told, percent: null };
    switch (step.kind) {
      case 'leave':
      case 'tell':
        return;
      case 'remove':
        this.#followed = null;
        await engine.removeContainer(step.id, { force: true });
        return this.check();
      case 'follow':
        return this.#follow(step.container);
      case 'launch':
        // During an update, the updater pulls the images itself.
        if (release === null || runs.isUnderWay || performance.now() < this.#notBefore) return;
        if (settings.prefetch !== true && !isInTimeWindow(settings.prefetch, Date.now())) return;
        this.#notBefore = performance.now() + hourMs;
        return this.#launch(deployment, release, { tries: step.tries, replaced: found?.id });
    }
  }

  /** Logs only the first failure, at level `info`, because a prefetch is retried. */
  async onFailure(cause: Error): Promise<void> {
    const message = 'failed to prefetch the images of the next release';
    if (!this.#isLogged && !(cause instanceof DeploymentNotFoundError))
      this.#parts.settings.log({ level: 'info', message, cause });
    this.#isLogged = true;
  }

  /**
   * Finds the release to download. Returns null if the releases have not been read, or if an admin has skipped the
   * release.
   * @throws ApplicationError
   */
  async #offered(): Promise<PrefetchFacts['offered']> {
    const { history, offers } = this.#parts;
    const [last = null] = await history.all();
    const { known, offer } = await offers.now(last);
    const { next, updateAvailable } = offer;
    if (known.checkedAt === null || (next !== null && !updateAvailable)) return null;
    const found = next && resolveInstallableTarget({ to: next.version }, known);
    const release = found === null || 'reason' in found ? null : found;
    return { release, checkedAt: known.checkedAt.getTime() };
  }

  /**
   * Starts a prefetch container. Keeps the old container until its replacement can be created: the old container's
   * label counts the attempts.
   */
  async #launch(
    deployment: Deployment,
    destination: UpdateTarget,
    { tries, replaced }: { tries: number; replaced: string | undefined },
  ): Promise<void> {
    const { engine, settings, closing } = this.#parts;
    const startedAt = new Date().toISOString();
    const { to } = destination;
    const origin = { id: `prefetch-${deployment.project}`, from: settings.version, to, startedAt };
    const record = new RunRecord(createRun(origin));
    const command = ['fetch', ...(await createUpdaterTargetOptions(destination, engine))] as const;
    const options = { command, record, deployment, signal: closing };
    const spec = await prepareAdditionalUpdater('prefetch', options, this.#parts);
    const container = { ...spec, Labels: { ...spec.Labels, [prefetchAttemptsLabel]: String(tries) } };
    if (replaced !== undefined) await engine.removeContainer(replaced, { force: true });
    try {
      await engine.startContainer(await engine.createContainer(container));
    } catch (error) {
      // A conflict means that another server has already created the container.
      if (!(error instanceof EngineError) || error.code !== 'conflict') throw error;
    }
    this.#notBefore = 0;
    const made = await engine.inspectContainer(container.name);
    if (made !== null && isUpdaterActive(made)) this.#follow(made);
  }

  /** Reads the log in the background, so that the next check can stop the download if there is a newer release. */
  #follow(container: Container): void {
    const { id } = container;
    if (this.#followed === id) return;
    this.#followed = id;
    const origin = initialRunFactsOf(container);
    const record = new RunRecord(createRun(origin));
    const tell = (state: Prefetch['state'], percent: number | null) => {
      if (this.#followed === id) this.#told = { version: origin.to ?? '', state, percent };
    };
    tell('downloading', null);
    followRunLog(id, record, this.#parts, () => tell('downloading', record.run.percent)).then(
      () => {
        if (record.hasEnded) tell(record.run.outcome === 'unchanged' ? 'downloaded' : 'waiting', null);
      },
      (cause) => {
        // Let the next check read the log again.
        if (this.#followed === id) this.#followed = null;
        void this.onFailure(cause);
      },
    );
  }
}
