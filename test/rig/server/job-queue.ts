import { DatabaseSync } from 'node:sqlite';
import type { Job, JobQueue } from '../../../src/server/contract/instance-options.ts';

/** What a test asks for. */
export interface JobRequest {
  kind: Job['kind'];
  /** How long it runs. */
  milliseconds: number;
  /** `queued`: waits for something else and is never started. Default: started as soon as it is its turn. */
  state?: 'queued';
  title?: string;
  /** It says that it will not end by itself. */
  stuck?: boolean;
}

export interface StoredJob extends JobRequest {
  id: number;
  progress: 'queued' | 'running' | 'done';
  /** ISO 8601, like the two below. */
  queuedAt: string;
  started: string | null;
  ended: string | null;
  /** How often it was started: more than once where the server went away in the middle. */
  runs: number;
}

export interface QueueOptions {
  /** The database, which all servers of the instance share. */
  file: string;
  /** Told of every call, whether it changes anything or not. */
  onHold(action: 'hold' | 'resume', wasHeld: boolean): void;
}

/** How often a server looks for what another one has queued or let go on, and tells that it runs its job still. */
const beatMs = 100;
/** Whoever has not told so for this long has gone away. */
const leaseMs = 1_000;

/** The app's queue, in a database: one job at a time at all servers together, in the order in which they came. */
export class SharedQueue implements JobQueue {
  readonly #options: QueueOptions;
  readonly #db: DatabaseSync;
  readonly #runner = crypto.randomUUID();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#db = new DatabaseSync(options.file, { timeout: 5_000 });
    // What a killed process has written is there; a machine that dies is not among what is tried.
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

  /** What runs is not awaited: it is run again, here or elsewhere. */
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

  /** Ends the one of that number, whatever it does. */
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
      // What ran at a server that went away is run again.
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

  /** Ends the own job that is over, or says that it runs still; then begins the next one, where none runs anywhere. */
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
      // A server that was slow to tell has not lost what it runs itself.
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

  /** No other server is in between. */
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
