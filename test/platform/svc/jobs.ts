import type { Job, JobQueue } from 'svc-updater/instance';
import { type Database, together } from './database.ts';

export interface JobRow {
  id: string;
  kind: Job['kind'];
  title: string;
  seconds: number;
  stuck: boolean;
  state: 'queued' | 'running' | 'done';
  queued_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  /** More than one if a restart interrupted the job. */
  starts: number;
}

/** The jobs that the page can start. */
export const kinds = {
  deployment: { kind: 'deployment', title: 'web to production', seconds: 20, stuck: false },
  backup: { kind: 'backup', title: 'nightly', seconds: 6, stuck: false },
  stuck: { kind: 'backup', title: 'to a missing disk', seconds: 24 * 3600, stuck: true },
} as const satisfies Record<string, Pick<JobRow, 'kind' | 'title' | 'seconds' | 'stuck'>>;

/** The queue of the worker, one job at a time. The queue and its hold are stored in the database. */
export class Jobs implements JobQueue {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async add(name: keyof typeof kinds): Promise<void> {
    const { kind, title, seconds, stuck } = kinds[name];
    await this.#db.query('INSERT INTO job (kind, title, seconds, stuck) VALUES ($1, $2, $3, $4)', [
      kind,
      title,
      seconds,
      stuck,
    ]);
  }

  /** Newest first. */
  async list(): Promise<JobRow[]> {
    const { rows } = await this.#db.query<JobRow>('SELECT * FROM job ORDER BY id DESC LIMIT 50');
    return rows;
  }

  async isHeld(): Promise<boolean> {
    const { rowCount } = await this.#db.query('SELECT 1 FROM hold');
    return rowCount === 1;
  }

  /** Uses the same lock as the worker: afterwards no job starts. */
  async hold(): Promise<void> {
    await together(this.#db, 'queue', (c) =>
      c.query('INSERT INTO hold VALUES (true) ON CONFLICT DO NOTHING'),
    );
  }

  async resume(): Promise<void> {
    await this.#db.query('DELETE FROM hold');
  }

  async jobs(): Promise<Job[]> {
    const { rows } = await this.#db.query<JobRow>("SELECT * FROM job WHERE state <> 'done' ORDER BY id");
    return rows.map(({ kind, title, stuck, state, started_at, queued_at }) => {
      const isRunning = state === 'running';
      return {
        kind,
        title,
        stuck: stuck && isRunning,
        state: isRunning ? 'running' : 'queued',
        since: started_at ?? queued_at,
      };
    });
  }

  /** Starts the next job. Null if a job is running, none is queued or the queue is held. */
  async takeNext(): Promise<JobRow | null> {
    return together(this.#db, 'queue', async (c) => {
      const { rows } = await c.query<JobRow>(
        `UPDATE job SET state = 'running', started_at = now(), starts = starts + 1
         WHERE id = (SELECT min(id) FROM job WHERE state = 'queued')
           AND NOT EXISTS (SELECT 1 FROM job WHERE state = 'running')
           AND NOT EXISTS (SELECT 1 FROM hold)
         RETURNING *`,
      );
      return rows[0] ?? null;
    });
  }

  /** Whether the job was ended by a user. */
  async isDone(id: string): Promise<boolean> {
    const { rowCount } = await this.#db.query("SELECT 1 FROM job WHERE id = $1 AND state = 'done'", [id]);
    return rowCount === 1;
  }

  async end(id: string): Promise<void> {
    await this.#db.query(
      "UPDATE job SET state = 'done', ended_at = now() WHERE id = $1 AND state <> 'done'",
      [id],
    );
  }

  /** Queues jobs again that were running when the worker stopped. */
  async requeueRunning(): Promise<void> {
    await this.#db.query("UPDATE job SET state = 'queued', started_at = null WHERE state = 'running'");
  }
}
