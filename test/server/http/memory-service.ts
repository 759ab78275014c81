import type { Channel } from '../../../src/core/release/channel.ts';
import {
  type AutomaticUpdateSettingsChange,
  applyAutomaticUpdateDefaults,
} from '../../../src/server/contract/automatic-update-settings.ts';
import type {
  CompleteRehearsalRequest,
  CompleteRollbackRequest,
  CompleteUpdateRequest,
} from '../../../src/server/contract/instance-updates.ts';
import { createRun, RunRecord } from '../../../src/server/run/run-record.ts';
import type { UpdateApi } from '../../../src/server/run/update-api.ts';
import {
  type CancelReason,
  type Reason,
  type Rehearsal,
  type RollbackOffer,
  type Run,
  type Status,
  statusSchema,
} from '../../../src/wire/status.ts';

/** A text that no response may contain. */
export const secret = 'hunter2 at /opt/svc/.env';

export const rehearsal: Rehearsal = {
  ...{
    version: 'v1.5.0',
    state: 'running',
    startedAt: '2026-11-21T10:40:00.000Z',
    endedAt: null,
    by: 'admin',
  },
  ...{ message: 'copying the data', advice: null, readySeconds: null, log: null },
};

/** A service that updates nothing. It records its calls; tests set its results. */
export class MemoryService implements UpdateApi {
  readonly version = 'v1.4.2';
  /** The calls in order, such as `start v1.5.0 for admin`. */
  readonly calls: string[] = [];
  /** The current run. */
  run: RunRecord | null = null;
  /** Why nothing can start. */
  reason: Reason | null = null;
  /** Why nothing can be cancelled. */
  cancelReason: CancelReason | null = null;
  /** The error that every call throws. */
  failure: unknown = null;
  readonly #closing = new AbortController();

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(): void {
    this.#closing.abort();
  }

  async status({ refresh = false, notes = false } = {}): Promise<Status> {
    this.#note([refresh ? 'refresh' : 'status', ...(notes ? ['with notes'] : [])].join(' '));
    return this.#status('stable');
  }

  async isUpdating(): Promise<boolean> {
    this.#note('updating?');
    return this.run !== null && !this.run.hasEnded;
  }

  async start({
    target,
    when,
    force,
    allSteps,
    by,
  }: CompleteUpdateRequest): Promise<{ run: Run } | { reason: Reason }> {
    const how = `${when === 'idle' ? ' when idle' : ''}${force ? ' by force' : ''}${allSteps ? ' all the way' : ''}`;
    this.#note(`start ${target}${how} for ${by}`);
    if (this.reason) return { reason: this.reason };
    this.run = record();
    return { run: this.run.run };
  }

  async createReport(): Promise<Uint8Array<ArrayBuffer>> {
    this.#note('report');
    return new Uint8Array([31, 139]);
  }

  async rehearse({
    target,
    settings,
    by,
  }: CompleteRehearsalRequest): Promise<{ rehearsal: Rehearsal } | { reason: Reason }> {
    this.#note(`rehearse ${target}${settings ? ` with ${Object.keys(settings)}` : ''} for ${by}`);
    return this.reason ? { reason: this.reason } : { rehearsal };
  }

  async cancelRehearsal(): Promise<{ rehearsal: Rehearsal } | { reason: CancelReason }> {
    this.#note('cancel the rehearsal');
    return this.cancelReason ? { reason: this.cancelReason } : { rehearsal };
  }

  async cancel(by: string): Promise<{ run: Run } | { reason: CancelReason }> {
    this.#note(`cancel for ${by}`);
    if (this.cancelReason || !this.run) return { reason: this.cancelReason ?? notRunning };
    this.run.setFields({ cancelRequestedBy: by });
    return { run: this.run.run };
  }

  async rollbackOffer(): Promise<{ offer: RollbackOffer } | { reason: Reason }> {
    this.#note('rollback?');
    return this.reason ? { reason: this.reason } : { offer: rollbackOffer };
  }

  async rollback({
    confirm,
    when,
    force,
    by,
  }: CompleteRollbackRequest): Promise<{ run: Run } | { reason: Reason }> {
    this.#note(
      `rollback ${confirm}${when === 'idle' ? ' when idle' : ''}${force ? ' by force' : ''} for ${by}`,
    );
    if (this.reason) return { reason: this.reason };
    this.run = record();
    return { run: this.run.run };
  }

  async history(): Promise<Run[]> {
    this.#note('history');
    return this.run ? [this.run.run] : [];
  }

  async setChannel(channel: Channel): Promise<Status> {
    this.#note(`channel ${channel}`);
    return this.#status(channel);
  }

  async skip(version: string | null): Promise<Status | null> {
    this.#note(`skip ${version}`);
    return version === null || version === 'v1.5.0' ? this.#status('stable') : null;
  }

  async setAutomatic(choice: AutomaticUpdateSettingsChange): Promise<Status> {
    this.#note(`automatic ${JSON.stringify(choice)}`);
    return this.#status('stable');
  }

  async findRunRecord(): Promise<RunRecord | null> {
    this.#note('record');
    return this.run;
  }

  #note(call: string): void {
    this.calls.push(call);
    if (this.failure) throw this.failure;
  }

  #status(channel: Channel): Status {
    const told = {
      ...{ version: this.version, channel, latest, updateAvailable: true },
      next: { version: latest.version, major: false, upgradePath: [latest.version] },
      automatic: applyAutomaticUpdateDefaults({}),
      canUpdate: this.reason === null,
      reason: this.reason,
      checkedAt: '2026-11-21T10:40:00.000Z',
      feedError: { message: 'the releases cannot be read', nextCheckAt: '2026-11-21T10:50:00.000Z' },
      restorePoint: { downtimeSeconds: 12.5 },
      buildServers: [{ name: 'build-1', version: 'v1.4.1', outdated: true, command: 'svc update' }],
      manual: ['docker run acme/svc-updater:1 --target v1.5.0'],
      run: this.run?.run ?? null,
      now: '2026-11-21T10:42:09.000Z',
    };
    return statusSchema.read(told) as Status;
  }
}

const latest = { version: 'v1.5.0', url: 'https://example.org/v1.5.0', publishedAt: '2026-11-20T08:00:00Z' };

export const rollbackOffer: RollbackOffer = {
  ...{ from: 'v1.4.2', to: 'v1.4.1', at: '2026-11-21T10:42:15.000Z', since: '2026-11-21T10:42:56.000Z' },
  downtimeSeconds: 40,
};

export const notRunning: CancelReason = { code: 'not-running', message: 'No update is on.' };

/** The record of a run that has just started. */
export const record = (id = 'run1', Kind = RunRecord): RunRecord =>
  new Kind(createRun({ id, from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' }));
