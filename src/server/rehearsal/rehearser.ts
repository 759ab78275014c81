import { runResultSchema } from '../../core/progress/run-result.ts';
import { settingValuesPath } from '../../core/release/release-settings.ts';
import type { Container } from '../../engine/objects/container.ts';
import { automaticCaller } from '../../wire/codes.ts';
import type { CancelReason, Reason, Rehearsal } from '../../wire/status.ts';
import type { RepeatedCheck } from '../application/repeat-check.ts';
import type { CompleteRehearsalRequest, RehearsalStartResult } from '../contract/instance-updates.ts';
import { DeploymentNotFoundError } from '../deployment/deployment-not-found-error.ts';
import {
  createAdditionalUpdaterName,
  type InitialRunFacts,
  initialRunFactsOf,
  isUpdaterActive,
  isUpdaterOfInstance,
} from '../deployment/updater-container.ts';
import { prepareAdditionalUpdater } from '../run/additional-updater/prepare-additional-updater.ts';
import {
  buildSettingsArchive,
  freeContainerName,
  startUpdaterContainer,
} from '../run/launch/launch-updater.ts';
import { createUpdaterTargetOptions } from '../run/launch/target-options.ts';
import type { ResolvedTarget, RunStarter } from '../run/request/run-starter.ts';
import type { ServerContextWithRuns } from '../run/request/server-context-with-runs.ts';
import { createRun, RunRecord } from '../run/run-record.ts';
import { crashedRunResult, followRunLog } from '../run/track/follow-run-log.ts';
import { rethrowAsUnavailable } from '../run/update-api.ts';
import { UpdaterNotStartedError } from '../run/updater-not-started-error.ts';
import {
  addRehearsalResult,
  createRehearsalRunningReason,
  describeRehearsal,
  isOutdatedRehearsal,
  isRehearsalResult,
  noRehearsalReason,
} from './describe-rehearsal.ts';

/** Pause in ms after an automatic rehearsal that was refused because something else was running. */
const automaticPauseMs = 3_600_000;

/** The running rehearsal, and the results that decide about automatic updates. */
export interface RehearsalFacts {
  running: Rehearsal | null;
  /** Results that are not outdated, at most one for each version, newest first. */
  results: readonly Rehearsal[];
}

interface FollowedRehearsal {
  record: RunRecord;
  readySeconds: number | null;
  /** Null until the container has been started, or if it could not be started. */
  containerId: string | null;
  /** Aborted to cancel the rehearsal before its container has been started. */
  launch: AbortController;
  /** Whether the result is in the store. */
  isStored: boolean;
  /** Resolves when the container has exited and the result is stored. Never rejects. */
  finished: Promise<void>;
}

/**
 * Starts and follows rehearsals. All servers of the instance share the container of the rehearsal and the stored
 * results. The unique name of the container ensures that only one rehearsal is running.
 */
export class Rehearser implements RepeatedCheck {
  readonly pauseMs: number;
  readonly #parts: ServerContextWithRuns;
  readonly #starter: RunStarter;
  #followed: FollowedRehearsal | null = null;
  #failure = '';
  /** Earliest time of the next automatic rehearsal (monotonic, in ms). */
  #notBefore = 0;

  constructor(parts: ServerContextWithRuns, starter: RunStarter) {
    this.#parts = parts;
    this.#starter = starter;
    this.pauseMs = parts.timing.prefetch;
  }

  /** Returns the rehearsal for the status: the running one or the last one, if its version is not running yet. */
  findLast(results: RehearsalFacts['results']): Rehearsal | null {
    const last = this.#followed ? describe(this.#followed) : (results[0] ?? null);
    if (last === null || last.version === this.#parts.settings.version) return null;
    return isOutdatedRehearsal(last) ? null : last;
  }

  /** @throws ApplicationError if the store fails */
  async findFacts(): Promise<RehearsalFacts> {
    const followed = this.#followed;
    const running = followed !== null && !followed.record.hasEnded ? describe(followed) : null;
    const stored = (await this.#parts.ledger.read('rehearsals')) ?? [];
    // The result may not be stored yet.
    const isNew = followed?.record.hasEnded && !followed.isStored && isRehearsalResult(followed.record.run);
    const results = isNew ? (addRehearsalResult(stored, describe(followed)) ?? []) : stored;
    return { running, results: results.filter((result) => !isOutdatedRehearsal(result)) };
  }

  /**
   * Starts a rehearsal, or returns the reason why it cannot start. Does not wait for the container, because the engine
   * may have to pull the updater image.
   */
  async start(order: CompleteRehearsalRequest): Promise<RehearsalStartResult> {
    const resolved = await this.#starter.resolveRehearsal(order);
    if ('reason' in resolved) return resolved;
    await this.check().catch(rethrowAsUnavailable);
    if (this.#followed?.record.hasEnded === false)
      return { reason: createRehearsalRunningReason(describe(this.#followed).version) };
    const followed = createFollowedRehearsal(null, {
      id: crypto.randomUUID(),
      from: this.#parts.settings.version,
      to: resolved.destination.to,
      startedAt: new Date().toISOString(),
      by: order.by,
    });
    const previous = this.#followed?.finished;
    this.#followed = followed;
    followed.finished = this.#run(followed, resolved, order, previous);
    return { rehearsal: describe(followed) };
  }

  /**
   * Starts the rehearsal of an automatic update, or returns the reason why it cannot start. Does nothing if the last one
   * was refused less than an hour ago.
   */
  async startAutomatically(version: string): Promise<Reason | null> {
    if (performance.now() < this.#notBefore) return null;
    const started = await this.start({ target: version, by: automaticCaller });
    if ('reason' in started) return started.reason;
    this.#notBefore = performance.now() + automaticPauseMs;
    return null;
  }

  /** Cancels the running rehearsal, or returns the reason why there is none to cancel. */
  async cancel(): Promise<{ rehearsal: Rehearsal } | { reason: CancelReason }> {
    await this.check().catch((error) => {
      if (!(error instanceof DeploymentNotFoundError)) rethrowAsUnavailable(error);
    });
    const followed = this.#followed;
    if (followed === null || followed.record.hasEnded) return { reason: noRehearsalReason };
    const { containerId, launch } = followed;
    launch.abort(new UpdaterNotStartedError('cancelled', 'nothing was changed'));
    // The updater then removes everything that the rehearsal has created.
    if (containerId !== null)
      await this.#parts.engine.killContainer(containerId, 'SIGTERM').catch(rethrowAsUnavailable);
    return { rehearsal: describe(followed) };
  }

  /** Finds a rehearsal that another server has started, or that was started before this server. */
  async check(): Promise<void> {
    const { engine, place: location, settings } = this.#parts;
    const followed = this.#followed;
    if (followed !== null) await this.#storeResult(followed);
    const deployment = await location.findDeployment();
    const found = await engine.inspectContainer(
      createAdditionalUpdaterName('rehearsal', settings, deployment),
    );
    const isOurs = found !== null && isUpdaterOfInstance(found, deployment);
    // A rehearsal may have been started in the meantime.
    if (!isOurs || this.#followed !== followed) return;
    const isActive = isUpdaterActive(found);
    const isUnstarted = found.status === 'created';
    if (!isUnstarted && this.#mustFollow(found, isActive)) this.#follow(found);
    if (isActive || !(isUnstarted || initialRunFactsOf(found).to === settings.version)) return;
    this.#followed = null;
    // A container that cannot be removed must not stop automatic updates.
    await engine.removeContainer(found.id, { force: true }).catch((cause) => this.onFailure(cause));
  }

  /** Whether the container's log must be read. A running rehearsal is followed until its record ends. */
  #mustFollow(found: Container, isActive: boolean): boolean {
    const { record = null, containerId = null } = this.#followed ?? {};
    if (record === null) return true;
    if (!record.hasEnded) return false;
    const endedMs = Date.now() - Date.parse(record.run.endedAt ?? '');
    // The record may have ended too early, for example because the engine did not respond.
    if (found.id === containerId) return isActive && endedMs > 2 * this.#parts.timing.lastMoments;
    // Keep the reason why a later rehearsal could not be started.
    return isActive || initialRunFactsOf(found).startedAt >= record.run.startedAt;
  }

  /** Logs a repeated problem only once, because the check is repeated. */
  async onFailure(cause: Error): Promise<void> {
    const isNewProblem = this.#failure !== cause.message && !(cause instanceof DeploymentNotFoundError);
    this.#failure = cause.message;
    const message = 'the rehearsal could not be started or observed';
    if (isNewProblem) this.#parts.settings.log({ level: 'info', message, cause });
  }

  /**
   * Starts the container of a rehearsal and reads its log. Never rejects.
   * @param previous - end of the last rehearsal, whose updater keeps running for a moment after its last log line
   */
  async #run(
    followed: FollowedRehearsal,
    { deployment, destination }: ResolvedTarget,
    { settings: values = {} }: CompleteRehearsalRequest,
    previous: Promise<void> | undefined,
  ): Promise<void> {
    const { engine, closing } = this.#parts;
    const { record, launch } = followed;
    const isGiven = Object.keys(values).length > 0;
    const signal = AbortSignal.any([closing, launch.signal]);
    await previous;
    try {
      const target = await createUpdaterTargetOptions(destination, engine);
      const command = ['rehearse', ...target, ...(isGiven ? ['--set-file', settingValuesPath] : [])] as const;
      const options = { command, record, deployment, signal };
      const spec = await prepareAdditionalUpdater('rehearsal', options, this.#parts);
      record.setFields({ log: `docker logs ${spec.name}` });
      await freeContainerName(engine, deployment, spec.name);
      followed.containerId = await startUpdaterContainer(engine, spec, {
        values: isGiven ? values : undefined,
        signal,
      });
    } catch (error) {
      // The rehearsal has not been tried. The next server may start it.
      followed.isStored = closing.aborted;
      const message = `the updater could not be started: ${(error as Error).message}`;
      record.end(error instanceof UpdaterNotStartedError ? error.result : { outcome: 'failed', message });
      await this.onFailure(error as Error);
    }
    await this.#readLog(followed, isGiven);
  }

  #follow(container: Container): void {
    const followed = createFollowedRehearsal(container.id, initialRunFactsOf(container));
    followed.record.setFields({ log: `docker logs ${container.name}` });
    this.#followed = followed;
    followed.finished = this.#readLog(followed, container.args.includes(settingValuesPath));
  }

  /**
   * Reads the log of the container, if there is one, to its end. Then stores the result. Never rejects.
   * @param hasValues - whether the container was given values of new settings
   */
  async #readLog(followed: FollowedRehearsal, hasValues: boolean): Promise<void> {
    const { engine } = this.#parts;
    const { record, containerId, launch } = followed;
    try {
      if (containerId !== null && !record.hasEnded)
        await followRunLog(containerId, record, this.#parts, (_, fields) => {
          // A process that has just started ignores signals until it handles them.
          if (launch.signal.aborted && record.lineCount === 1)
            engine.killContainer(containerId, 'SIGTERM').catch(() => {});
          const seconds = runResultSchema.safeParse(fields.result).data?.facts.readySeconds;
          if (typeof seconds === 'number') followed.readySeconds = Math.max(1, seconds);
        });
    } catch (cause) {
      record.end({ ...crashedRunResult, code: 'updater-ended', message: (cause as Error).message });
      await this.onFailure(cause as Error);
    }
    // A killed updater has not deleted the values.
    if (hasValues && containerId !== null && record.hasEnded)
      await engine.putArchive(containerId, buildSettingsArchive({}), { isSecret: true }).catch(() => {});
    // If the store fails, the next check tries again.
    await this.#storeResult(followed).catch((cause) => this.onFailure(cause));
  }

  /** @throws ApplicationError if the store fails */
  async #storeResult(followed: FollowedRehearsal): Promise<void> {
    const { record, isStored } = followed;
    if (isStored || !record.hasEnded) return;
    const result = describe(followed);
    if (isRehearsalResult(record.run)) {
      const results = await this.#parts.ledger.edit('rehearsals', (now) => addRehearsalResult(now, result));
      if (results?.some(({ startedAt }) => startedAt === result.startedAt)) this.#notBefore = 0;
    }
    followed.isStored = true;
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
  isStored: false,
  finished: Promise.resolve(),
});

const describe = ({ record, readySeconds }: FollowedRehearsal): Rehearsal =>
  describeRehearsal(record.run, readySeconds);
