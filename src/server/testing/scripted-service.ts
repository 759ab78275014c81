import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgressEvent } from '../../core/progress/event.ts';
import { productOf, svc } from '../../core/progress/product.ts';
import type { Channel } from '../../core/release/channel.ts';
import type { ReasonCode } from '../../wire/codes.ts';
import { afterOnPath } from '../../wire/path.ts';
import { isTooLate } from '../../wire/phase-rows.ts';
import type {
  BlockingJob,
  CancelReason,
  NextRelease,
  Reason,
  RollbackOffer,
  Run,
  Status,
} from '../../wire/status.ts';
import { type AutomaticChoice, automaticSettings } from '../contract/automatic.ts';
import type { RollbackStart, StartOrder } from '../contract/instance-updates.ts';
import { Listeners } from '../host/listeners.ts';
import { freshRun, isLaunchState, RunRecord, type UpdateService } from '../http/update-service.ts';
import { decide } from '../schedule/decide.ts';
import { playRun } from './play-run.ts';
import {
  type Disturbance,
  plainStatus,
  type Script,
  type ScriptedPendingStep,
  type ScriptedRun,
  type StatusPieces,
  typicalRollback,
  typicalRun,
} from './script.ts';

/** Milliseconds after which a wait looks again. */
const glance = 50;

/** The endpoints' service as a script has it. */
export class ScriptedService implements UpdateService {
  /** The play goes on, whatever a listener throws. */
  readonly listeners = new Listeners(() => {});
  readonly #script: Script;
  readonly #speed: number;
  readonly #over = new AbortController();
  readonly #runs: RunRecord[] = [];
  #beganAt = performance.now();
  #pieces: StatusPieces;
  #disturbance: Disturbance | null = null;
  #closing = new AbortController();
  #ways = 0;
  #waits = 0;
  #playing: Promise<void> = Promise.resolve();

  constructor(script: Script) {
    this.#script = script;
    this.#speed = script.speed ?? 1;
    this.#pieces = { ...plainStatus, ...script.status };
  }

  get version(): string {
    return this.#pieces.version;
  }

  get closing(): AbortSignal {
    return this.#over.signal.aborted ? this.#over.signal : this.#closing.signal;
  }

  get disturbance(): Disturbance | null {
    return this.#disturbance;
  }

  /** Resolves when nothing is disturbed any more, or the signal is given. */
  async calmed(signal: AbortSignal): Promise<void> {
    while (this.#disturbance === 'silence' && !signal.aborted && !this.#over.signal.aborted)
      await sleep(glance / this.#speed);
  }

  begin(): void {
    const { open } = this.#script;
    this.#beganAt = performance.now();
    const next = whole(this.#pieces.next);
    if (next) this.listeners.emit('offer', next);
    if (open) this.#play(open, { to: null, by: null }, []);
  }

  async end(): Promise<void> {
    this.#over.abort();
    this.#closing.abort();
    await this.#playing;
  }

  async status({ refresh = false, notes = false } = {}): Promise<Status> {
    if (refresh) this.#change({ checkedAt: new Date().toISOString(), ...this.#script.afterRefresh });
    const { latest } = this.#pieces;
    const next = whole(this.#pieces.next);
    const reason = this.#reason(this.#jobs(), this.#last());
    const releases = this.#script.releases ?? (latest ? [latest] : []);
    return {
      ...this.#pieces,
      next,
      latest: latest && (notes ? latest : { ...latest, notes: null }),
      updateAvailable: next !== null && this.#pieces.skipped === null,
      canUpdate: reason === null,
      reason,
      run: this.#last()?.run ?? this.#script.history?.[0] ?? null,
      now: new Date().toISOString(),
      ...(notes ? { releases: [...releases] } : {}),
    };
  }

  async isUpdating(): Promise<boolean> {
    return this.#open() !== null;
  }

  async start({ target, when, force, by, allSteps }: StartOrder): Promise<{ run: Run } | { reason: Reason }> {
    const jobs = this.#jobs();
    const waits = when === 'idle' && !jobs.some(({ stuck }) => stuck);
    const reason = this.#reason(force || waits ? [] : jobs);
    if (reason) return { reason };
    const next = whole(this.#pieces.next);
    const upgradePath = allSteps && next && next.upgradePath.length > 1 ? next.upgradePath : [];
    const named = target === 'canary' ? null : target;
    const to = upgradePath[0] ?? named ?? next?.version ?? null;
    return { run: this.#update({ to, by, upgradePath }, waits ? jobs : []) };
  }

  #update(told: Told, jobs: readonly BlockingJob[]): Run {
    const { runs = [typicalRun()] } = this.#script;
    return this.#play(
      runs[Math.min(this.#runs.length - this.#ways, runs.length - 1)] ?? typicalRun(),
      told,
      jobs,
    );
  }

  /** Starts the next step of an upgrade path, after its pause. */
  async #goOn(run: Run): Promise<void> {
    const to = afterOnPath(run);
    if (to === null) return;
    const { pendingSteps = [{ seconds: 1 }] } = this.#script;
    const wait = pendingSteps[Math.min(this.#waits++, pendingSteps.length - 1)];
    const { seconds, lasts, reason }: ScriptedPendingStep = wait ?? { seconds: 1 };
    const since = new Date().toISOString();
    const pendingStep = {
      to,
      reason: reason ?? null,
      since,
      until: new Date(Date.parse(since) + 3_600_000).toISOString(),
    };
    this.#change({ pendingStep });
    const { signal } = this.#over;
    await sleep((seconds * 1000) / this.#speed, undefined, { signal });
    while (lasts?.() && this.#pieces.pendingStep === pendingStep) await sleep(glance, undefined, { signal });
    if (this.#pieces.pendingStep !== pendingStep) return;
    this.#change({ pendingStep: null });
    this.#update({ to, by: run.by, upgradePath: run.upgradePath }, []);
  }

  async rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }> {
    const { rollback = noPoint } = this.#script;
    return 'code' in rollback ? { reason: rollback } : { offer: rollback };
  }

  async rollback({ confirm, when, force, by }: RollbackStart): Promise<{ run: Run } | { reason: Reason }> {
    const asked = await this.rollbackOffer();
    if ('reason' in asked) return asked;
    const { to } = asked.offer;
    if (to !== confirm)
      return { reason: { code: 'no-restore-point', message: `The restore point is for ${to}.` } };
    const jobs = this.#jobs();
    const waits = when === 'idle' && !jobs.some(({ stuck }) => stuck);
    const reason = this.#reason(force || waits ? [] : jobs);
    if (reason && reason.code !== 'up-to-date') return { reason };
    const { rollbacks = [typicalRollback()] } = this.#script;
    const played = rollbacks[Math.min(this.#ways++, rollbacks.length - 1)] ?? typicalRollback();
    return { run: this.#play(played, { kind: 'rollback', to, by }, waits ? jobs : []) };
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
    if (!open) return { reason: { code: 'not-running', message: 'No update is running.' } };
    if (isTooLate(open.run)) {
      const message = 'The containers are being replaced, so the update can no longer be cancelled.';
      return { reason: { code: 'too-late', message } };
    }
    open.note({ cancelRequestedBy: by });
    if (isLaunchState(open.run.state))
      open.end('cancelled', `cancelled before anything was changed; ${this.version} is still running`);
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

  async setAutomatic(choice: AutomaticChoice): Promise<Status> {
    const settings = automaticSettings({ ...this.#pieces.automatic, ...choice });
    const now = Date.now();
    const { nextAt } = decide({ settings, next: null, past: [], now });
    const at = nextAt === null ? null : new Date(nextAt).toISOString();
    this.#change({ automatic: { ...settings, nextAt: at, blockedBy: null } });
    return this.status();
  }

  async record(): Promise<RunRecord | null> {
    const [past] = this.#script.history ?? [];
    if (this.#disturbance === 'unknown') return null;
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
    const last = this.#runs.at(-1);
    return last && !last.hasEnded ? last : null;
  }

  #change(pieces: Partial<StatusPieces> | undefined): void {
    const before = this.#pieces.next?.version;
    this.#pieces = { ...this.#pieces, ...pieces };
    const next = whole(this.#pieces.next);
    if (next && next.version !== before) this.listeners.emit('offer', next);
  }

  /** Those that have not ended yet. */
  #jobs(): BlockingJob[] {
    const passed = ((performance.now() - this.#beganAt) / 1000) * this.#speed;
    return (this.#script.jobs ?? [])
      .filter(({ seconds = Number.POSITIVE_INFINITY }) => seconds > passed)
      .map(({ seconds: _, ...job }) => job);
  }

  #reason(jobs: BlockingJob[], last = this.#open()): Reason | null {
    const open = last && !last.hasEnded ? last.run : null;
    const { reason, next } = this.#pieces;
    if (open)
      return { code: 'update-running', message: `an update to ${open.to} is running`, since: open.startedAt };
    if (reason) return reason;
    const [job] = jobs;
    if (job) {
      const code = `${job.kind}-${job.kind === 'deployment' ? job.state : 'running'}` as ReasonCode;
      const since = job.since === null ? {} : { since: job.since };
      return { code, message: `${jobs.length} jobs are blocking the update`, ...since, jobs };
    }
    const lastOutcome = this.#runs.at(-1)?.run.outcome;
    if (next || lastOutcome === 'broken' || lastOutcome === 'crashed') return null;
    return { code: 'up-to-date', message: this.#pieces.upToDate?.message ?? 'No newer release is known.' };
  }

  #play(played: ScriptedRun, { to, ...told }: Told, jobs: readonly BlockingJob[]): Run {
    const id = `run${this.#runs.length + 1}`;
    const origin = { id, from: this.version, to: to ?? this.#pieces.next?.version ?? null, ...told };
    const state = jobs.length > 0 ? 'waiting' : 'launching';
    const record = new RunRecord(freshRun({ ...origin, startedAt: new Date().toISOString() }, state, state));
    this.#runs.push(record);
    this.#playing = this.#perform(played, record).catch(() => {});
    return record.run;
  }

  async #perform(played: ScriptedRun, record: RunRecord): Promise<void> {
    const { signal } = this.#over;
    this.listeners.emit('start', record.run);
    for (let jobs = this.#jobs(); record.run.state === 'waiting' && jobs.length > 0; jobs = this.#jobs()) {
      record.prepare('waiting', `waiting for ${jobs.length} running jobs to finish`, { jobs });
      await sleep(glance / this.#speed, undefined, { signal });
    }
    const stage = {
      speed: this.#speed,
      container: productOf(this.#script.product ?? svc).containerName,
      disturb: (by: Disturbance | null) => this.#disturb(by),
      onLine: (line: ProgressEvent) => this.listeners.emit('line', { run: record.run, line }),
    };
    await playRun(played, record, stage, signal);
    const { outcome, to } = record.run;
    const { version = null, outcome: scripted } = played.end;
    if (outcome === 'updated') this.#arrive(version ?? to);
    else if (outcome === scripted) this.#arrive(version);
    this.listeners.emit('end', record.run);
    if (outcome === 'updated') await this.#goOn(record.run);
  }

  #arrive(version: string | null): void {
    if (version === null) return;
    const { latest, channel } = this.#pieces;
    const { upgradePath = [] } = this.#pieces.next ?? {};
    const rest = upgradePath.slice(upgradePath.indexOf(version) + 1);
    const [first] = upgradePath.includes(version) ? rest : [];
    const upToDate = {
      code: 'newest',
      message: `${version} is the newest release on the ${channel} channel.`,
    } as const;
    this.#change({
      version,
      ...(first !== undefined && { next: { version: first, major: false, upgradePath: rest } }),
      ...(version === latest?.version && { next: null, upToDate }),
    });
  }

  #disturb(by: Disturbance | null): void {
    if (by === this.#disturbance) return;
    this.#disturbance = by;
    if (by === null) return;
    // Who follows a run loses the server, too.
    this.#closing.abort();
    this.#closing = new AbortController();
  }
}

type Told = Pick<Run, 'to' | 'by'> & Partial<Pick<Run, 'kind' | 'upgradePath'>>;

const whole = (next: StatusPieces['next']): NextRelease | null =>
  next && { downloaded: null, estimatedSeconds: null, upgradePath: [next.version], ...next };

const noPoint: Reason = {
  code: 'no-restore-point',
  message: 'The last update did not save a restore point.',
};
