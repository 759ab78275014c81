import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { lte } from 'semver';
import { type Migration, migrations } from './migrations.ts';

export type Database = pg.Pool;
export type Connection = pg.PoolClient;

/** Connects to the database and waits until it answers. */
export async function openDatabase(url: string): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  // The pool replaces a broken idle connection.
  pool.on('error', ({ message }) => console.error(`database error: ${message}`));
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

/** Runs work in a transaction, exclusively among transactions with the same lock. */
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
    // Discard the connection together with its open transaction.
    connection.release(true);
    throw error;
  }
}

export type Lock = keyof typeof locks;
const locks = { migrations: 1, queue: 2 };

/** Migrates the tables forward to this release. Returns the applied migrations. */
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
