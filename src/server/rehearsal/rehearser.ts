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
import {
  createRehearsalRunningReason,
  describeRehearsal,
  noRehearsalReason,
  type RehearsalLog,
} from './describe-rehearsal.ts';

/** Time in ms after which a result is outdated: data, files and images have changed since. */
const resultLifetimeMs = 7 * 24 * 3_600_000;

interface FollowedRehearsal extends RehearsalLog {
  /** Null until the container is created. */
  containerId: string | null;
  record: RunRecord;
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
    const rehearsal = this.#followed && describeRehearsal(this.#followed);
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
    const { home, destination } = resolved;
    const { version: from } = this.#parts.settings;
    const startedAt = new Date().toISOString();
    const origin = { id: `rehearsal-${home.project}`, from, to: destination.to, startedAt, by: order.by };
    const record = new RunRecord(createRun(origin, 'launching', 'starting the rehearsal'));
    const followed: FollowedRehearsal = { containerId: null, record, readySeconds: null };
    this.#followed = followed;
    this.#launch(followed, resolved, order).catch((error) => {
      const { message } = error as Error;
      record.end(error instanceof UpdaterNotStartedError ? error.result : { outcome: 'failed', message });
      // Another server has just started a rehearsal, which the next check finds.
      const isTaken = error instanceof EngineError && error.code === 'conflict';
      if (isTaken && this.#followed === followed) this.#followed = null;
      void this.onFailure(error);
    });
    return { rehearsal: describeRehearsal(followed) };
  }

  /** Stops the running rehearsal, or returns the reason why this is not possible. */
  async cancel(): Promise<{ rehearsal: Rehearsal } | { reason: CancelReason }> {
    await this.check().catch(rethrowAsUnavailable);
    const followed = this.#followed;
    if (!followed?.containerId || followed.record.hasEnded) return { reason: noRehearsalReason };
    // The updater then removes everything that the rehearsal has created.
    await this.#parts.engine.killContainer(followed.containerId, 'SIGTERM').catch(rethrowAsUnavailable);
    return { rehearsal: describeRehearsal(followed) };
  }

  async check(): Promise<void> {
    const { engine, place: location, settings } = this.#parts;
    const followed = this.#followed;
    // Without a container, the rehearsal is being started, or could not be started.
    const unstarted = followed?.containerId === null ? followed.record : null;
    if (unstarted?.hasEnded === false) return;
    const deployment = await location.findDeployment();
    const found = await engine.inspectContainer(
      createAdditionalUpdaterName('rehearsal', settings, deployment),
    );
    // A rehearsal has been started in the meantime.
    if (this.#followed !== followed) return;
    const { to, startedAt } = found ? initialRunFactsOf(found) : { to: null, startedAt: '' };
    if (unstarted !== null && startedAt <= unstarted.run.startedAt) return;
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
    const isNews = this.#failure !== cause.message && !(cause instanceof DeploymentNotFoundError);
    this.#failure = cause.message;
    if (isNews) this.#parts.settings.log({ level: 'info', message: 'the rehearsal has failed', cause });
  }

  async #launch(
    followed: FollowedRehearsal,
    { home, destination }: ResolvedTarget,
    { settings: values = {} }: CompleteRehearsalRequest,
  ): Promise<void> {
    const { engine, closing } = this.#parts;
    const { record } = followed;
    const isGiven = Object.keys(values).length > 0;
    const target = await createUpdaterTargetOptions(destination, engine);
    const command = ['rehearse', ...target, ...(isGiven ? ['--set-file', settingValuesPath] : [])] as const;
    const options = { command, record, home, signal: closing };
    const id = await createAdditionalUpdater('rehearsal', options, this.#parts, async (name) => {
      record.setFields({ log: `docker logs ${name}` });
      const left = await engine.inspectContainer(name);
      // If another server has started a rehearsal in the meantime, the name is taken.
      return left !== null && isUpdaterOfInstance(left, home) && !isUpdaterActive(left) ? left.id : null;
    });
    try {
      if (isGiven) await engine.putArchive(id, buildSettingsArchive(values), { isSecret: true });
      await engine.startContainer(id);
    } catch (error) {
      await engine.removeContainer(id, { force: true }).catch(() => {});
      throw error;
    }
    followed.containerId = id;
    await this.#readLog(followed, id);
  }

  /** Reads the log of a container in the background. Does nothing if the container is already followed. */
  #follow(container: Container): void {
    const { id, name } = container;
    if (this.#followed?.containerId === id) return;
    const record = new RunRecord(createRun(initialRunFactsOf(container)));
    record.setFields({ log: `docker logs ${name}` });
    const followed = { containerId: id, record, readySeconds: null };
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
      record.end({ ...crashedRunResult, message: (cause as Error).message });
      void this.onFailure(cause as Error);
    }
  }
}
