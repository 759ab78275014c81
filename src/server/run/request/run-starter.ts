import { updateTargetOf } from '../../../core/release/channel.ts';
import { automaticCaller } from '../../../wire/codes.ts';
import { findRollbackableRun } from '../../../wire/derived/rollbackable-run.ts';
import type { Reason, RollbackOffer, Run } from '../../../wire/status.ts';
import { ApplicationError } from '../../application/call-application.ts';
import { fetchJobs } from '../../application/fetch-jobs.ts';
import { findRecallReason } from '../../available-update/channel-file-effects.ts';
import {
  resolveDirectTarget,
  resolveInstallableTarget,
  type UpdateTarget,
  type UpdateTargetResult,
} from '../../available-update/choose-update.ts';
import type {
  CompleteRehearsalRequest,
  CompleteRollbackRequest,
  CompleteUpdateRequest,
  RunStartResult,
} from '../../contract/instance-updates.ts';
import type { Deployment } from '../../deployment/read-deployment.ts';
import {
  createWrongRestorePointReason,
  noRestorePointReason,
  updateStartingReason,
} from '../../reasons/run-reasons.ts';
import { findSettingsBlockingReason } from '../../reasons/settings-reason.ts';
import { RollbackPreviewCache } from '../additional-updater/rollback-preview-cache.ts';
import type { RunPlan } from '../launch/prepare-run.ts';
import { rethrowAsUnavailable, UnavailableError } from '../update-api.ts';
import type { ServerContextWithRuns } from './server-context-with-runs.ts';
import { createStoreFailureReason, type StoreAndEngineState } from './store-and-engine-cache.ts';

/** Target of a run, and the deployment in which it may start. */
export interface ResolvedTarget {
  destination: UpdateTarget;
  deployment: Deployment;
}

export class RunStarter {
  readonly #parts: ServerContextWithRuns;
  readonly #rollbacks: RollbackPreviewCache;

  constructor(parts: ServerContextWithRuns) {
    this.#parts = parts;
    this.#rollbacks = new RollbackPreviewCache(parts);
  }

  update(order: CompleteUpdateRequest): Promise<RunStartResult> {
    return this.#begin('update', order, () => this.#parts.offers.resolveDestination(order));
  }

  /** Returns the target of a rehearsal, or the reason why it cannot start. Jobs do not block a rehearsal. */
  resolveRehearsal({
    target,
    settings,
    by,
  }: CompleteRehearsalRequest): Promise<ResolvedTarget | { reason: Reason }> {
    const order = { target, by, when: 'now', force: true, ...(settings && { settings }) } as const;
    return this.#resolve(order, () => this.#parts.offers.resolveDestination(order));
  }

  /**
   * Starts an update that first waits until no job is running.
   * @param isStill - called after the releases were read; returns whether the update is still due
   */
  updateAutomatically(
    { to, path, by }: { to: string; path?: readonly string[]; by: string },
    isStill: () => Promise<boolean>,
  ): Promise<RunStartResult> {
    const { offers } = this.#parts;
    return this.#begin('update', { when: 'idle', force: false, by }, async () => {
      await offers.readChannelFile();
      const { known } = await offers.now();
      const destination = resolveDirectTarget(updateTargetOf(to), known);
      if (!(await isStill())) return { reason: overtakenUpdateReason };
      return resolveInstallableTarget(
        'reason' in destination ? destination : { ...destination, to, path },
        known,
      );
    });
  }

  rollback({ confirm, ...order }: CompleteRollbackRequest): Promise<RunStartResult> {
    return this.#begin('rollback', order, async () => {
      const past = findRollbackableRun(await this.#history());
      if (past === null) return { reason: noRestorePointReason };
      const { version } = past.restorePoint;
      if (version !== confirm) return { reason: createWrongRestorePointReason(version, confirm) };
      this.#rollbacks.clear();
      return { to: version, undone: past };
    });
  }

  async rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }> {
    const observation = await this.#observe();
    if ('reason' in observation) return observation;
    const past = findRollbackableRun(await this.#history());
    if (past === null || observation.home === null) return { reason: noRestorePointReason };
    const response = await this.#rollbacks.getPreview(past, observation.home).catch(rethrowAsUnavailable);
    this.requireNotClosing();
    return response ?? { reason: noRestorePointReason };
  }

  /** Rejects requests while the server is shutting down. @throws UnavailableError */
  requireNotClosing(): void {
    if (this.#parts.closing.aborted) throw new UnavailableError('the server is shutting down');
  }

  /**
   * Starts a run, or returns the reason why it cannot start.
   * @param find - returns the target of the run, or the reason why there is none
   * @throws UnknownSettingError
   */
  async #begin(
    kind: RunPlan['kind'],
    order: RunPlan['order'],
    find: () => Promise<UpdateTargetResult>,
  ): Promise<RunStartResult> {
    const { observations, offers, runs, settings } = this.#parts;
    const resolved = await this.#resolve(order, find);
    if ('reason' in resolved) return resolved;
    const { destination, deployment } = resolved;
    const whyNot = async () => {
      if (kind === 'rollback') return null;
      await offers.readChannelFile();
      const recall = findRecallReason(destination, await offers.readPublisherNotice());
      return recall ?? (order.by === automaticCaller ? this.#findFailedRehearsal(destination.to) : null);
    };
    try {
      const begun = await runs.begin({
        ...destination,
        kind,
        order,
        home: deployment,
        findLaunchObstacle: whyNot,
      });
      if (begun !== 'taken') return begun;
      return { reason: observations.findReasonAgainst(await observations.refresh()) ?? updateStartingReason };
    } catch (error) {
      if (error instanceof ApplicationError && error.asked.startsWith('store.'))
        return { reason: createStoreFailureReason(settings.product) };
      return rethrowAsUnavailable(error);
    }
  }

  /** Returns the target of a run and the deployment, or the reason why the run cannot start. */
  async #resolve(
    order: RunPlan['order'],
    find: () => Promise<UpdateTargetResult>,
  ): Promise<ResolvedTarget | { reason: Reason }> {
    const { observations, offers, settings, timing } = this.#parts;
    const observation = await this.#observe();
    if ('reason' in observation) return observation;
    const found = await find();
    const listed = 'to' in found ? await offers.settings(found.proof) : [];
    const reason = 'to' in found ? findSettingsBlockingReason(found.to, listed, order.settings) : null;
    const destination = reason ? { reason } : found;
    const { home: deployment } = observation;
    if ('reason' in destination || deployment === null) {
      const jobs = order.force ? [] : await fetchJobs(settings, timing).catch(rethrowAsUnavailable);
      const why = 'reason' in destination ? destination.reason : projectNotFoundReason;
      return { reason: observations.findReasonAgainst(observation, jobs) ?? why };
    }
    this.requireNotClosing();
    return { destination, deployment };
  }

  /** Returns the current state, or why no run can start. Ignores jobs and the available update. */
  async #observe(): Promise<StoreAndEngineState | { reason: Reason }> {
    const { observations, runs } = this.#parts;
    this.requireNotClosing();
    const unknown = await observations.waitUntilKnown();
    if (unknown) return { reason: unknown };
    // The outcome of a finished run may not be stored yet. Wait for the first attempt to write it.
    if (!runs.isUnderWay) await runs.whenReleased;
    const observation = await observations.refresh();
    const reason = observations.findReasonAgainst(observation);
    return reason ? { reason } : observation;
  }

  /** A rehearsal may have failed while an automatic update was waiting for jobs. */
  async #findFailedRehearsal(version: string): Promise<Reason | null> {
    try {
      const results = await this.#parts.ledger.read('rehearsals');
      const isFailed = results?.some((result) => result.version === version && result.state === 'failed');
      return isFailed ? { code: 'up-to-date', message: `the rehearsal of ${version} failed` } : null;
    } catch {
      return createStoreFailureReason(this.#parts.settings.product);
    }
  }

  #history(): Promise<Run[]> {
    return this.#parts.history.all().catch(rethrowAsUnavailable);
  }
}

const overtakenUpdateReason: Reason = {
  code: 'up-to-date',
  message: 'the update has already been started, or it is no longer due',
};
const projectNotFoundReason: Reason = {
  code: 'up-to-date',
  message: 'the compose project of this server was not found',
};
