import type { Store } from 'svc-updater/instance';
import type { Database } from './database.ts';

/** The store of the update library: a database table, so that it survives container replacements. */
export function updateStore(db: Database): Store {
  return {
    async get(key) {
      const { rows } = await db.query<{ text: string }>('SELECT text FROM update_store WHERE key = $1', [
        key,
      ]);
      return rows[0]?.text ?? null;
    },
    // A single statement, so that only one of two concurrent writers succeeds.
    async set(key, text, { was }) {
      const { rowCount } =
        text === null
          ? was === null
            ? await db.query('SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM update_store WHERE key = $1)', [key])
            : await db.query('DELETE FROM update_store WHERE key = $1 AND text = $2', [key, was])
          : was === null
            ? await db.query('INSERT INTO update_store VALUES ($1, $2) ON CONFLICT DO NOTHING', [key, text])
            : await db.query('UPDATE update_store SET text = $2 WHERE key = $1 AND text = $3', [
                key,
                text,
                was,
              ]);
      return rowCount === 1;
    },
  };
}
