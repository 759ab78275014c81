import { DatabaseSync } from 'node:sqlite';
import type { Job, JobQueue } from '../../../src/server/contract/instance-options.ts';

/** A job requested by a test. */
export interface JobRequest {
  kind: Job['kind'];
  /** The duration of the job. */
  milliseconds: number;
  /** `queued`: waits for something else and is never started. Default: started in its turn. */
  state?: 'queued';
  title?: string;
  /** Whether the job reports that it cannot finish without help. */
  stuck?: boolean;
}

export interface StoredJob extends JobRequest {
  id: number;
  progress: 'queued' | 'running' | 'done';
  /** ISO 8601, like the two times below. */
  queuedAt: string;
  started: string | null;
  ended: string | null;
  /** Number of starts: more than one if a server failed during the job. */
  runs: number;
}

export interface QueueOptions {
  /** The database shared by all servers of the instance. */
  file: string;
  /** Called on every call, whether it changes anything or not. */
  onHold(action: 'hold' | 'resume', wasHeld: boolean): void;
}

/**
 * The interval at which a server looks for jobs and resumed queues of other servers, and renews the lease of its own
 * job.
 */
const beatMs = 100;
/** A server that has not renewed its lease for this long has failed. */
const leaseMs = 1_000;

/** The app's queue in a database: one job at a time on all servers together, in order. */
export class SharedQueue implements JobQueue {
  readonly #options: QueueOptions;
  readonly #db: DatabaseSync;
  readonly #runner = crypto.randomUUID();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#db = new DatabaseSync(options.file, { timeout: 5_000 });
    // Written data survives a killed process; a failure of the machine is not tested.
    this.#db.exec('PRAGMA synchronous = OFF');
    this.#db.exec(`CREATE TABLE IF NOT EXISTS hold (held INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY, text TEXT NOT NULL, runner TEXT, seen INTEGER)`);
  }

  get all(): StoredJob[] {
    return this.#rows().map(({ job }) => job);
  }

  start(): void {
    this.#timer = setInterval(() => this.#beat(), beatMs);
    this.#beat();
  }

  /** Does not wait for the running job: it is started again, here or on another server. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#together(() => {
      for (const { job, runner } of this.#rows()) {
        if (job.progress === 'running' && runner === this.#runner) {
          this.#write({ ...job, progress: 'queued', started: null }, null);
        }
      }
    });
  }

  add(request: JobRequest): StoredJob {
    const added = this.#together(() => {
      const { next } = this.#db.prepare('SELECT coalesce(max(id), 0) + 1 AS next FROM job').get() as Row;
      const job: StoredJob = {
        ...request,
        id: Number(next),
        progress: 'queued',
        queuedAt: now(),
        started: null,
        ended: null,
        runs: 0,
      };
      this.#write(job, null);
      return job;
    });
    this.#beat();
    return added;
  }

  /** Ends the job with that number in any state. */
  end(id: number): void {
    this.#together(() => {
      for (const { job } of this.#rows()) {
        if (job.id === id && job.progress !== 'done')
          this.#write({ ...job, progress: 'done', ended: now() }, null);
      }
    });
  }

  hold(): void {
    this.#setHeld('hold');
  }

  resume(): void {
    this.#setHeld('resume');
  }

  jobs(): Job[] {
    return this.#rows().flatMap(({ job, isLost }): Job[] => {
      const { kind, progress, started, queuedAt, title, stuck } = job;
      if (progress === 'done') return [];
      const more = { ...(title === undefined ? {} : { title }), ...(stuck === undefined ? {} : { stuck }) };
      // A job of a failed server is started again.
      return [{ kind, state: isLost ? 'queued' : progress, since: new Date(started ?? queuedAt), ...more }];
    });
  }

  #setHeld(action: 'hold' | 'resume'): void {
    this.#together(() => {
      this.#options.onHold(action, this.#isHeld());
      this.#db.exec('DELETE FROM hold');
      if (action === 'hold') this.#db.exec('INSERT INTO hold VALUES (1)');
    });
    this.#beat();
  }

  #isHeld(): boolean {
    return this.#db.prepare('SELECT 1 FROM hold').get() !== undefined;
  }

  /** Finishes the server's own job or renews its lease; then starts the next job if none is running on any server. */
  #beat(): void {
    if (this.#timer === undefined) return;
    this.#together(() => {
      for (const { job, runner } of this.#rows()) {
        if (job.progress !== 'running' || runner !== this.#runner) continue;
        const isOver = Date.now() >= Date.parse(job.started ?? '') + job.milliseconds;
        this.#write(isOver ? { ...job, progress: 'done', ended: now() } : job, runner);
      }
      const rows = this.#rows();
      const isBusy = rows.some(({ job, isLost }) => job.progress === 'running' && !isLost);
      if (isBusy || this.#isHeld()) return;
      const next = rows.find(({ job }) => job.progress !== 'done' && job.state !== 'queued')?.job;
      if (next === undefined) return;
      this.#write({ ...next, progress: 'running', started: now(), runs: next.runs + 1 }, this.#runner);
      setTimeout(() => this.#beat(), next.milliseconds);
    });
  }

  #rows(): { job: StoredJob; runner: string | null; isLost: boolean }[] {
    const rows = this.#db.prepare('SELECT text, runner, seen FROM job ORDER BY id').all() as Row[];
    return rows.map(({ text, runner, seen }) => {
      const job = JSON.parse(String(text)) as StoredJob;
      // A server that was late with its lease still runs its own job.
      const isOthers = job.progress === 'running' && runner !== this.#runner;
      return {
        job,
        runner: runner === null ? null : String(runner),
        isLost: isOthers && Date.now() - Number(seen) > leaseMs,
      };
    });
  }

  #write(job: StoredJob, runner: string | null): void {
    const put = this.#db.prepare('INSERT OR REPLACE INTO job (id, text, runner, seen) VALUES (?, ?, ?, ?)');
    put.run(job.id, JSON.stringify(job), runner, Date.now());
  }

  /** Exclusive among all servers. */
  #together<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}

type Row = Record<string, unknown>;

const now = () => new Date().toISOString();
