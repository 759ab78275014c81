import type { UpdateService } from '../../../src/instance/http/update-service.ts';
import { RunRecord } from '../../../src/instance/run/run-record.ts';
import type { Channel } from '../../../src/release/channel.ts';
import type { Reason, Run, Status } from '../../../src/wire/status.ts';

/** What no answer may ever say. */
export const secret = 'hunter2 at /opt/svc/.env';

/** A service that updates nothing: what it is asked it remembers, what it answers is set from outside. */
export class MemoryService implements UpdateService {
  readonly version = 'v1.4.2';
  /** In order, such as `start v1.5.0`. */
  readonly calls: string[] = [];
  /** The current run. */
  run: RunRecord | null = null;
  /** Why nothing may start. */
  reason: Reason | null = null;
  /** Thrown by whatever is asked of it. */
  failure: unknown = null;
  readonly #closing = new AbortController();

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(): void {
    this.#closing.abort();
  }

  async status({ refresh = false } = {}): Promise<Status> {
    this.#note(refresh ? 'refresh' : 'status');
    return this.#status('stable');
  }

  async start(target: string | null): Promise<{ run: Run } | { reason: Reason }> {
    this.#note(`start ${target}`);
    if (this.reason) return { reason: this.reason };
    this.run = record();
    return { run: this.run.run };
  }

  async setChannel(channel: Channel): Promise<Status> {
    this.#note(`channel ${channel}`);
    return this.#status(channel);
  }

  async record(): Promise<RunRecord | null> {
    this.#note('record');
    return this.run;
  }

  #note(call: string): void {
    this.calls.push(call);
    if (this.failure) throw this.failure;
  }

  #status(channel: Channel): Status {
    return {
      version: this.version,
      channel,
      latest: {
        version: 'v1.5.0',
        url: 'https://example.org/v1.5.0',
        notes: '# Faster',
        publishedAt: '2026-11-20T08:00:00Z',
      },
      next: { version: 'v1.5.0', major: false },
      upToDate: null,
      updateAvailable: true,
      canUpdate: this.reason === null,
      reason: this.reason,
      checkedAt: '2026-11-21T10:40:00.000Z',
      feedError: { message: 'the releases cannot be read', nextCheckAt: '2026-11-21T10:50:00.000Z' },
      run: this.run?.run ?? null,
    };
  }
}

/** The record of a run that has just begun. */
export const record = (id = 'run1', Kind = RunRecord): RunRecord =>
  new Kind({ id, from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' });
