import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { lte } from 'semver';
import { type Migration, migrations } from './migrations.ts';

export type Database = pg.Pool;
export type Connection = pg.PoolClient;

/** A connection to the database, once it answers. */
export async function openDatabase(url: string): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  // An idle connection that breaks is replaced by the pool.
  pool.on('error', ({ message }) => console.error(`the database: ${message}`));
  for (let tries = 0; ; tries++) {
    try {
      await pool.query('SELECT 1');
      return pool;
    } catch (error) {
      if (tries === 60) throw new Error('the database does not answer', { cause: error });
      await sleep(500);
    }
  }
}

/** What one connection does as a whole or not at all, and alone among those that take the same lock. */
export async function together<T>(
  db: Database,
  lock: Lock | null,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await db.connect();
  try {
    await connection.query('BEGIN');
    if (lock !== null) await connection.query('SELECT pg_advisory_xact_lock($1)', [locks[lock]]);
    const result = await work(connection);
    await connection.query('COMMIT');
    connection.release();
    return result;
  } catch (error) {
    // Whatever it is in the middle of goes with the connection.
    connection.release(true);
    throw error;
  }
}

export type Lock = keyof typeof locks;
const locks = { migrations: 1, queue: 2 };

/** Brings the tables to what this release expects. Forward only: there is no way back. Gives what was done. */
export function migrate(db: Database, version: string): Promise<Migration[]> {
  return together(db, 'migrations', async (connection) => {
    await connection.query(
      'CREATE TABLE IF NOT EXISTS migration (version text PRIMARY KEY, at timestamptz DEFAULT now())',
    );
    const { rows } = await connection.query<{ version: string }>('SELECT version FROM migration');
    const done = new Set(rows.map((row) => row.version));
    const left = migrations.filter((each) => !done.has(each.version) && lte(each.version, version));
    for (const migration of left) {
      await connection.query(migration.sql);
      await connection.query('INSERT INTO migration (version) VALUES ($1)', [migration.version]);
    }
    return left;
  });
}
