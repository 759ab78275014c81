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
  /** More than one where a restart cut it short. */
  starts: number;
}

/** What the page can start. */
export const kinds = {
  deployment: { kind: 'deployment', title: 'web to production', seconds: 20, stuck: false },
  backup: { kind: 'backup', title: 'nightly', seconds: 6, stuck: false },
  stuck: { kind: 'backup', title: 'to a disk that is gone', seconds: 24 * 3600, stuck: true },
} as const satisfies Record<string, Pick<JobRow, 'kind' | 'title' | 'seconds' | 'stuck'>>;

/** The queue that the worker takes from, one job at a time. It is in the database, and so is that it is held. */
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

  /** The newest first. */
  async list(): Promise<JobRow[]> {
    const { rows } = await this.#db.query<JobRow>('SELECT * FROM job ORDER BY id DESC LIMIT 50');
    return rows;
  }

  async isHeld(): Promise<boolean> {
    const { rowCount } = await this.#db.query('SELECT 1 FROM hold');
    return rowCount === 1;
  }

  /** Alone with the worker's look at it: after this no job starts, whatever moment the worker is at. */
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

  /** The next one, begun; null where one runs, nothing waits or the queue is held. */
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

  /** Whether somebody has ended it meanwhile. */
  async isOver(id: string): Promise<boolean> {
    const { rowCount } = await this.#db.query("SELECT 1 FROM job WHERE id = $1 AND state = 'done'", [id]);
    return rowCount === 1;
  }

  async end(id: string): Promise<void> {
    await this.#db.query(
      "UPDATE job SET state = 'done', ended_at = now() WHERE id = $1 AND state <> 'done'",
      [id],
    );
  }

  /** What ran when the worker went away runs again. */
  async putBack(): Promise<void> {
    await this.#db.query("UPDATE job SET state = 'queued', started_at = null WHERE state = 'running'");
  }
}
