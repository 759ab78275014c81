import { runResultSchema } from '../../core/progress/run-result.ts';
import { settingValuesPath } from '../../core/release/release-settings.ts';
import { EngineError } from '../../engine/http/engine-error.ts';
import type { Container } from '../../engine/objects/container.ts';
import type { CancelReason, Reason, Rehearsal } from '../../wire/status.ts';
import type { RepeatedCheck } from '../application/repeat-check.ts';
import type { CompleteRehearsalRequest } from '../contract/instance-updates.ts';
import { DeploymentNotFoundError } from '../deployment/deployment-not-found-error.ts';
import {
  createAdditionalUpdaterName,
  type InitialRunFacts,
  initialRunFactsOf,
  isUpdaterActive,
  isUpdaterOfInstance,
} from '../deployment/updater-container.ts';
import { createAdditionalUpdater } from '../run/additional-updater/create-additional-updater.ts';
import { buildSettingsArchive } from '../run/launch/launch-updater.ts';
import { createUpdaterTargetOptions } from '../run/launch/target-options.ts';
import type { ResolvedTarget, RunStarter } from '../run/request/run-starter.ts';
import type { ServerContextWithRuns } from '../run/request/server-context-with-runs.ts';
import { createRun, RunRecord } from '../run/run-record.ts';
import { crashedRunResult, followRunLog } from '../run/track/follow-run-log.ts';
import { rethrowAsUnavailable } from '../run/update-api.ts';
import { UpdaterNotStartedError } from '../run/updater-not-started-error.ts';
import { createRehearsalRunningReason, describeRehearsal, noRehearsalReason } from './describe-rehearsal.ts';

/** Time in ms after which a result is outdated, because data, files or images may have changed. */
const resultLifetimeMs = 7 * 24 * 3_600_000;

interface FollowedRehearsal {
  record: RunRecord;
  readySeconds: number | null;
  /** Null until the container has been started, or if it could not be started. */
  containerId: string | null;
  /** Aborted to cancel the rehearsal before its container has been started. */
  launch: AbortController;
}

/**
 * Starts and follows rehearsals. All servers of the instance share the container of the rehearsal, which is the only
 * stored state. It remains until its result is outdated.
 */
export class Rehearser implements RepeatedCheck {
  readonly pauseMs: number;
  readonly #parts: ServerContextWithRuns;
  readonly #starter: RunStarter;
  #followed: FollowedRehearsal | null = null;
  #failure = '';

  constructor(parts: ServerContextWithRuns, starter: RunStarter) {
    this.#parts = parts;
    this.#starter = starter;
    this.pauseMs = parts.timing.prefetch;
  }

  /** The running rehearsal, or the last result; null if there is none, or if it is outdated. */
  get rehearsal(): Rehearsal | null {
    const rehearsal = this.#followed && describe(this.#followed);
    if (rehearsal?.endedAt && Date.now() - Date.parse(rehearsal.endedAt) > resultLifetimeMs) return null;
    return rehearsal;
  }

  /**
   * Starts a rehearsal, or returns the reason why it cannot start. Does not wait for the container, because the engine
   * may have to pull the updater image.
   */
  async start(order: CompleteRehearsalRequest): Promise<{ rehearsal: Rehearsal } | { reason: Reason }> {
    const resolved = await this.#starter.resolveRehearsal(order);
    if ('reason' in resolved) return resolved;
    await this.check().catch(rethrowAsUnavailable);
    if (this.rehearsal?.state === 'running')
      return { reason: createRehearsalRunningReason(this.rehearsal.version) };
    const { deployment, destination } = resolved;
    const followed = createFollowedRehearsal(null, {
      id: `rehearsal-${deployment.project}`,
      from: this.#parts.settings.version,
      to: destination.to,
      startedAt: new Date().toISOString(),
      by: order.by,
    });
    this.#followed = followed;
    this.#launch(followed, resolved, order).catch((error) => this.#onLaunchFailure(followed, error));
    return { rehearsal: describe(followed) };
  }

  /** Cancels the running rehearsal, or returns the reason why there is none to cancel. */
  async cancel(): Promise<{ rehearsal: Rehearsal } | { reason: CancelReason }> {
    await this.check().catch(rethrowAsUnavailable);
    const followed = this.#followed;
    if (followed === null || followed.record.hasEnded) return { reason: noRehearsalReason };
    const { containerId, launch } = followed;
    launch.abort(new UpdaterNotStartedError('cancelled', 'nothing was changed'));
    // The updater then removes everything that the rehearsal has created.
    if (containerId !== null)
      await this.#parts.engine.killContainer(containerId, 'SIGTERM').catch(rethrowAsUnavailable);
    return { rehearsal: describe(followed) };
  }

  async check(): Promise<void> {
    const { engine, place: location, settings } = this.#parts;
    const followed = this.#followed;
    const recordWithoutContainer = followed?.containerId === null ? followed.record : null;
    if (recordWithoutContainer?.hasEnded === false) return;
    const deployment = await location.findDeployment();
    const found = await engine.inspectContainer(
      createAdditionalUpdaterName('rehearsal', settings, deployment),
    );
    // A rehearsal has been started in the meantime.
    if (this.#followed !== followed) return;
    const { to, startedAt } = found ? initialRunFactsOf(found) : { to: null, startedAt: '' };
    // Keep the reason why a rehearsal could not be started until another one has been started.
    if (recordWithoutContainer !== null && startedAt <= recordWithoutContainer.run.startedAt) return;
    if (found === null || !isUpdaterOfInstance(found, deployment)) {
      this.#followed = null;
      return;
    }
    this.#follow(found);
    if (isUpdaterActive(found) || (to !== settings.version && this.rehearsal !== null)) return;
    this.#followed = null;
    await engine.removeContainer(found.id, { force: true });
  }

  /** Logs a repeated problem only once, because the check is repeated. */
  async onFailure(cause: Error): Promise<void> {
    const isNewProblem = this.#failure !== cause.message && !(cause instanceof DeploymentNotFoundError);
    this.#failure = cause.message;
    const message = 'the rehearsal could not be started or observed';
    if (isNewProblem) this.#parts.settings.log({ level: 'info', message, cause });
  }

  async #launch(
    followed: FollowedRehearsal,
    { deployment, destination }: ResolvedTarget,
    { settings: values = {} }: CompleteRehearsalRequest,
  ): Promise<void> {
    const { engine, closing } = this.#parts;
    const { record, launch } = followed;
    const isGiven = Object.keys(values).length > 0;
    const target = await createUpdaterTargetOptions(destination, engine);
    const command = ['rehearse', ...target, ...(isGiven ? ['--set-file', settingValuesPath] : [])] as const;
    const signal = AbortSignal.any([closing, launch.signal]);
    const options = { command, record, deployment, signal };
    const id = await createAdditionalUpdater('rehearsal', options, this.#parts, async (name) => {
      record.setFields({ log: `docker logs ${name}` });
      const previous = await engine.inspectContainer(name);
      // If another server has started a rehearsal in the meantime, the name is taken.
      const isReplaced =
        previous !== null && isUpdaterOfInstance(previous, deployment) && !isUpdaterActive(previous);
      return isReplaced ? previous.id : null;
    });
    try {
      if (isGiven) await engine.putArchive(id, buildSettingsArchive(values), { isSecret: true });
      signal.throwIfAborted();
      await engine.startContainer(id);
      signal.throwIfAborted();
    } catch (error) {
      await engine.removeContainer(id, { force: true }).catch(() => {});
      throw error;
    }
    followed.containerId = id;
    await this.#readLog(followed, id);
  }

  #onLaunchFailure(followed: FollowedRehearsal, error: unknown): void {
    const { record } = followed;
    if (error instanceof UpdaterNotStartedError) record.end(error.result);
    else {
      const detail = (error as Error).message;
      record.end({ outcome: 'failed', message: `the updater could not be started: ${detail}` });
    }
    // Another server has just started a rehearsal, which the next check finds.
    const isNameTaken = error instanceof EngineError && error.code === 'conflict';
    if (isNameTaken && this.#followed === followed) this.#followed = null;
    void this.onFailure(error as Error);
  }

  /** Reads the log of a container in the background. Does nothing if the container is already followed. */
  #follow(container: Container): void {
    const { id, name } = container;
    if (this.#followed?.containerId === id) return;
    const followed = createFollowedRehearsal(id, initialRunFactsOf(container));
    followed.record.setFields({ log: `docker logs ${name}` });
    this.#followed = followed;
    void this.#readLog(followed, id);
  }

  async #readLog(followed: FollowedRehearsal, id: string): Promise<void> {
    const { record } = followed;
    try {
      await followRunLog(id, record, this.#parts, (_, fields) => {
        const seconds = runResultSchema.safeParse(fields.result).data?.facts.readySeconds;
        if (typeof seconds === 'number') followed.readySeconds = Math.max(1, seconds);
      });
    } catch (cause) {
      record.end({ ...crashedRunResult, code: 'updater-ended', message: (cause as Error).message });
      void this.onFailure(cause as Error);
    }
  }
}

const createFollowedRehearsal = (
  containerId: string | null,
  initialFacts: InitialRunFacts,
): FollowedRehearsal => ({
  record: new RunRecord(createRun(initialFacts, 'launching', 'starting the rehearsal')),
  readySeconds: null,
  containerId,
  launch: new AbortController(),
});

const describe = ({ record, readySeconds }: FollowedRehearsal): Rehearsal =>
  describeRehearsal({ run: record.run, readySeconds });
