import { setTimeout as sleep } from 'node:timers/promises';
import { createProduct, type Product, svcProduct } from '../../core/names/product.ts';
import type { ProgressEvent } from '../../core/progress/event.ts';
import { type Channel, isNewerVersion } from '../../core/release/channel.ts';
import { isTooLateToCancel } from '../../wire/derived/phase-rows.ts';
import type {
  BlockingJob,
  CancelReason,
  Reason,
  Rehearsal,
  RollbackOffer,
  Run,
  Status,
} from '../../wire/status.ts';
import { UpdateEventListeners } from '../application/listeners.ts';
import { noChannelFileEffects } from '../available-update/channel-file-effects.ts';
import {
  type AutomaticUpdateSettingsChange,
  applyAutomaticUpdateDefaults,
} from '../contract/automatic-update-settings.ts';
import type {
  CompleteRehearsalRequest,
  CompleteRollbackRequest,
  CompleteUpdateRequest,
  RehearsalStartResult,
  RunStartResult,
} from '../contract/instance-updates.ts';
import { filterRunningJobs, findAwaitedJobs, findBlockingReason } from '../reasons/find-blocking-reason.ts';
import {
  createRunInProgressReason,
  createTooLateToCancelReason,
  createWrongRestorePointReason,
  noRestorePointReason,
  notRunningReason,
} from '../reasons/run-reasons.ts';
import { findSettingsBlockingReason } from '../reasons/settings-reason.ts';
import { createRehearsalRunningReason, noRehearsalReason } from '../rehearsal/describe-rehearsal.ts';
import { createRun, isLaunchState, RunRecord } from '../run/run-record.ts';
import type { UpdateApi } from '../run/update-api.ts';
import { decideAutomaticUpdate } from '../schedule/decide-automatic-update.ts';
import { findPendingUpgradeStep } from '../schedule/upgrade-path-runner.ts';
import {
  completeNextRelease,
  createRunningRehearsal,
  type Disturbance,
  defaultScriptedStatus,
  entryOrLast,
  type Script,
  type ScriptedRun,
  type ScriptedStatus,
  typicalRollback,
  typicalRun,
} from './script.ts';
import { simulateRun } from './simulate-run.ts';

/** Interval in ms between checks whether a wait is over. */
const pollIntervalMs = 50;
/** Duration of a rehearsal in ms at normal speed. */
const rehearsalMs = 4_000;

/** Update service that simulates runs from a script. It rejects requests for the same reasons as the real service. */
export class ScriptedUpdateApi implements UpdateApi {
  /** Errors of listeners are ignored, so that the simulation continues. */
  readonly listeners = new UpdateEventListeners(() => {});
  readonly product: Product;
  readonly #script: Script;
  readonly #speed: number;
  readonly #over = new AbortController();
  readonly #runs: RunRecord[] = [];
  #beganAt = performance.now();
  #pieces: ScriptedStatus;
  #disturbance: Disturbance | null = null;
  #closing = new AbortController();
  #pauses = 0;
  #playing: Promise<void> = Promise.resolve();

  constructor(script: Script) {
    this.#script = script;
    this.#speed = script.speed ?? 1;
    this.#pieces = { ...defaultScriptedStatus, ...script.status };
    this.product = createProduct(script.product ?? svcProduct);
  }

  get version(): string {
    return this.#pieces.version;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  get disturbance(): Disturbance | null {
    return this.#disturbance;
  }

  /** Resolves when a `silence` disturbance is over, or when the signal is aborted. */
  async waitUntilResponsive(signal: AbortSignal): Promise<void> {
    while (this.#disturbance === 'silence' && !signal.aborted && !this.#over.signal.aborted)
      await sleep(pollIntervalMs / this.#speed);
  }

  begin(): void {
    const { open } = this.#script;
    this.#beganAt = performance.now();
    const next = completeNextRelease(this.#pieces.next);
    if (next) this.listeners.emit('offer', next);
    if (open) this.#play(open, { to: null, by: null });
  }

  async end(): Promise<void> {
    this.#over.abort();
    this.#closing.abort();
    await this.#playing;
  }

  async status({ refresh = false, notes = false } = {}): Promise<Status> {
    if (refresh) this.#change({ checkedAt: new Date().toISOString(), ...this.#script.afterRefresh });
    const { latest, skipped } = this.#pieces;
    const next = completeNextRelease(this.#pieces.next);
    const reason = this.#reason(this.#jobs());
    return {
      ...this.#pieces,
      next,
      latest: latest && (notes ? latest : { ...latest, notes: null }),
      updateAvailable: next !== null && skipped === null,
      canUpdate: reason === null,
      reason,
      run: this.#last()?.run ?? this.#script.history?.[0] ?? null,
      now: new Date().toISOString(),
      ...(notes && { releases: [...(this.#script.releases ?? (latest ? [latest] : []))] }),
    };
  }

  async isUpdating(): Promise<boolean> {
    return this.#open() !== null;
  }

  async start({ target, by, allSteps, ...order }: CompleteUpdateRequest): Promise<RunStartResult> {
    const { reason, jobs } = this.#admit(order);
    if (reason) return { reason };
    const next = completeNextRelease(this.#pieces.next);
    const missing = findSettingsBlockingReason(next?.version ?? '', next?.settings ?? [], order.settings);
    if (missing) return { reason: missing };
    const upgradePath = allSteps && next && next.upgradePath.length > 1 ? next.upgradePath : [];
    const named = target === 'canary' ? null : target;
    const to = upgradePath[0] ?? named ?? next?.version ?? null;
    return { run: this.#update({ to, by, upgradePath }, jobs) };
  }

  #update(told: PlayedRunOptions, jobs: readonly BlockingJob[] = []): Run {
    const played = entryOrLast(this.#script.runs, this.#countOf('update'), typicalRun());
    return this.#play(played, told, jobs);
  }

  /** Starts the next step of an upgrade path, after the delay in the script. */
  async #goOn(run: Run): Promise<void> {
    const step = findPendingUpgradeStep(run);
    if (step === null) return;
    const pause = entryOrLast(this.#script.pendingSteps, this.#pauses++, { seconds: 1 });
    const { seconds, lasts, reason = null } = pause;
    const pendingStep = { ...step, reason };
    this.#change({ pendingStep });
    const { signal } = this.#over;
    await sleep((seconds * 1000) / this.#speed, undefined, { signal });
    while (lasts?.() && this.#pieces.pendingStep === pendingStep)
      await sleep(pollIntervalMs, undefined, { signal });
    if (this.#pieces.pendingStep !== pendingStep) return;
    this.#change({ pendingStep: null });
    this.#update({ to: step.to, by: run.by, upgradePath: run.upgradePath });
  }

  async rehearse({ target, by }: CompleteRehearsalRequest): Promise<RehearsalStartResult> {
    const { next, rehearsal: current } = this.#pieces;
    const reason = this.#reason([]);
    if (reason) return { reason };
    if (current?.state === 'running') return { reason: createRehearsalRunningReason(current.version) };
    const version = target ?? next?.version ?? '';
    const rehearsal = createRunningRehearsal(version, by);
    this.#change({ rehearsal });
    const { signal } = this.#over;
    const message = `${version} became ready on a copy of the data (1.2 GB) after 43 s`;
    const result = { state: 'succeeded', readySeconds: 43, message, ...this.#script.rehearsal } as const;
    const end = () => this.#endRehearsal(rehearsal, result);
    sleep(rehearsalMs / this.#speed, undefined, { signal }).then(end, () => {});
    return { rehearsal };
  }

  async cancelRehearsal(): Promise<{ rehearsal: Rehearsal } | { reason: CancelReason }> {
    const { rehearsal } = this.#pieces;
    if (rehearsal?.state !== 'running') return { reason: noRehearsalReason };
    this.#endRehearsal(rehearsal, { state: 'cancelled', message: 'nothing was changed' });
    return { rehearsal };
  }

  #endRehearsal(rehearsal: Rehearsal, result: Partial<Rehearsal>): void {
    if (this.#pieces.rehearsal !== rehearsal) return;
    this.#change({ rehearsal: { ...rehearsal, ...result, endedAt: new Date().toISOString() } });
  }

  async rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }> {
    const { rollback = noRestorePointReason } = this.#script;
    return 'code' in rollback ? { reason: rollback } : { offer: rollback };
  }

  async rollback({ confirm, by, ...order }: CompleteRollbackRequest): Promise<RunStartResult> {
    const requested = await this.rollbackOffer();
    if ('reason' in requested) return requested;
    const { to } = requested.offer;
    if (to !== confirm) return { reason: createWrongRestorePointReason(to, confirm) };
    const { reason, jobs } = this.#admit(order);
    if (reason && reason.code !== 'up-to-date') return { reason };
    const played = entryOrLast(this.#script.rollbacks, this.#countOf('rollback'), typicalRollback());
    return { run: this.#play(played, { kind: 'rollback', to, by }, jobs) };
  }

  async createReport(): Promise<Uint8Array<ArrayBuffer>> {
    return new TextEncoder().encode('a simulated report');
  }

  async cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }> {
    const open = this.#open();
    const last = this.#runs.at(-1);
    if (this.#pieces.pendingStep && last) {
      this.#change({ pendingStep: null });
      const run = { ...last.run, upgradePath: [] };
      this.#runs.splice(-1, 1, new RunRecord(run));
      return { run };
    }
    if (!open) return { reason: notRunningReason };
    if (isTooLateToCancel(open.run)) return { reason: createTooLateToCancelReason(open.run, this.product) };
    open.setFields({ cancelRequestedBy: by });
    if (isLaunchState(open.run.state)) open.end({ outcome: 'cancelled', message: 'nothing was changed' });
    return { run: open.run };
  }

  async setChannel(channel: Channel): Promise<Status> {
    this.#change({ channel });
    return this.status();
  }

  async skip(version: string | null): Promise<Status | null> {
    if (version !== null && version !== this.#pieces.latest?.version) return null;
    this.#change({ skipped: version === null ? null : { version, since: new Date().toISOString() } });
    return this.status();
  }

  async setAutomatic(choice: AutomaticUpdateSettingsChange): Promise<Status> {
    const settings = applyAutomaticUpdateDefaults({ ...this.#pieces.automatic, ...choice });
    const upToDate = { code: 'none', message: '' } as const;
    const offer = { ...this.#pieces, next: null, upToDate, updateAvailable: false };
    const known = { releases: null, notice: noChannelFileEffects };
    const { rehearsal, restorePoint } = this.#pieces;
    const decision = decideAutomaticUpdate({
      settings,
      offer,
      known,
      rehearsals: { running: null, results: rehearsal ? [rehearsal] : [] },
      past: [],
      now: Date.now(),
      hasRestorePoint: restorePoint !== null,
    });
    this.#change({ automatic: { ...settings, ...decision } });
    return this.status();
  }

  async findRunRecord(): Promise<RunRecord | null> {
    if (this.#disturbance === 'unknown') return null;
    const [past] = this.#script.history ?? [];
    return this.#last() ?? (past ? new RunRecord(past) : null);
  }

  async history(): Promise<Run[]> {
    const played = this.#runs.map(({ run }) => run).reverse();
    return [...played, ...(this.#script.history ?? [])].slice(0, 50);
  }

  #last(): RunRecord | null {
    return this.#disturbance === 'unknown' ? null : (this.#runs.at(-1) ?? null);
  }

  #open(): RunRecord | null {
    const last = this.#last();
    return last && !last.hasEnded ? last : null;
  }

  #countOf(kind: Run['kind']): number {
    return this.#runs.filter(({ run }) => run.kind === kind).length;
  }

  #change(pieces: Partial<ScriptedStatus> | undefined): void {
    const before = this.#pieces.next?.version;
    this.#pieces = { ...this.#pieces, ...pieces };
    const next = completeNextRelease(this.#pieces.next);
    if (next && next.version !== before) this.listeners.emit('offer', next);
  }

  /** Returns the jobs that have not finished yet. */
  #jobs(): BlockingJob[] {
    const passed = ((performance.now() - this.#beganAt) / 1000) * this.#speed;
    return (this.#script.jobs ?? [])
      .filter(({ seconds = Number.POSITIVE_INFINITY }) => seconds > passed)
      .map(({ seconds: _, ...job }) => job);
  }

  /** Returns the jobs that a run waits for, or the reason why the run cannot start. */
  #admit(order: Pick<CompleteUpdateRequest, 'when' | 'force'>): {
    reason: Reason | null;
    jobs: BlockingJob[];
  } {
    const admission = findAwaitedJobs(order, this.#jobs());
    if ('jobs' in admission) return { reason: this.#reason([]), jobs: admission.jobs };
    return { reason: this.#reason(this.#jobs()), jobs: [] };
  }

  #reason(jobs: readonly BlockingJob[]): Reason | null {
    const { reason, next, upToDate } = this.#pieces;
    const open = this.#open();
    const lastOutcome = this.#runs.at(-1)?.run.outcome;
    const mayStart = next !== null || lastOutcome === 'broken' || lastOutcome === 'crashed';
    return findBlockingReason({
      noHome: null,
      noStore: null,
      updater: open ? createRunInProgressReason(open.run) : null,
      foreign: reason,
      jobs,
      upToDate: mayStart ? null : (upToDate?.message ?? 'no newer release is known'),
    });
  }

  #play(played: ScriptedRun, { to, ...told }: PlayedRunOptions, jobs: readonly BlockingJob[] = []): Run {
    const id = `run${this.#runs.length + 1}`;
    const origin = { id, from: this.version, to: to ?? this.#pieces.next?.version ?? null, ...told };
    const state = jobs.length > 0 ? 'waiting' : 'launching';
    const record = new RunRecord(createRun({ ...origin, startedAt: new Date().toISOString() }, state, state));
    this.#runs.push(record);
    this.#playing = this.#perform(played, record).catch(() => {});
    return record.run;
  }

  async #perform(played: ScriptedRun, record: RunRecord): Promise<void> {
    const { signal } = this.#over;
    this.listeners.emit('start', record.run);
    for (;;) {
      const jobs = filterRunningJobs(this.#jobs());
      if (record.run.state !== 'waiting' || jobs.length === 0) break;
      record.setLaunchState('waiting', `waiting for ${jobs.length} running jobs to finish`, { jobs });
      await sleep(pollIntervalMs / this.#speed, undefined, { signal });
    }
    const stage = {
      speed: this.#speed,
      container: this.product.containerName,
      disturb: (by: Disturbance | null) => this.#disturb(by),
      onLine: (line: ProgressEvent) => this.listeners.emit('line', { run: record.run, line }),
    };
    await simulateRun(played, record, stage, signal);
    const { outcome, to } = record.run;
    const { version = null, outcome: scripted } = played.end;
    if (outcome === 'updated') this.#arrive(version ?? to);
    else if (outcome === scripted) this.#arrive(version);
    this.listeners.emit('end', record.run);
    if (outcome === 'updated') await this.#goOn(record.run);
  }

  #arrive(version: string | null): void {
    if (version === null) return;
    const { latest, channel, recalled, urgent } = this.#pieces;
    const { upgradePath = [] } = this.#pieces.next ?? {};
    const rest = upgradePath.slice(upgradePath.indexOf(version) + 1);
    const [first] = upgradePath.includes(version) ? rest : [];
    const message = `${version} is the newest release on the ${channel} channel`;
    this.#change({
      version,
      recalled: recalled?.version === version ? recalled : null,
      urgent: urgent && isNewerVersion(urgent.below, version) ? urgent : null,
      ...(first !== undefined && { next: { version: first, major: false, upgradePath: rest } }),
      ...(version === latest?.version && { next: null, upToDate: { code: 'newest', message } }),
    });
  }

  #disturb(by: Disturbance | null): void {
    if (by === this.#disturbance) return;
    this.#disturbance = by;
    if (by === null) return;
    // Aborting `closing` also ends the open event streams, so their clients lose the connection.
    this.#closing.abort();
    this.#closing = new AbortController();
  }
}

type PlayedRunOptions = Pick<Run, 'to' | 'by'> & Partial<Pick<Run, 'kind' | 'upgradePath'>>;
