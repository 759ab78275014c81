import type { Store } from 'svc-updater/instance';
import type { Database } from './database.ts';

/** Where the update library keeps its texts: a table, so that they outlive every container. */
export function keptTexts(db: Database): Store {
  return {
    async get(key) {
      const { rows } = await db.query<{ text: string }>('SELECT text FROM kept_text WHERE key = $1', [key]);
      return rows[0]?.text ?? null;
    },
    // One statement each, so that of two servers that want to change the same text one sees that it came second.
    async set(key, text, { was }) {
      const { rowCount } =
        text === null
          ? was === null
            ? await db.query('SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM kept_text WHERE key = $1)', [key])
            : await db.query('DELETE FROM kept_text WHERE key = $1 AND text = $2', [key, was])
          : was === null
            ? await db.query('INSERT INTO kept_text VALUES ($1, $2) ON CONFLICT DO NOTHING', [key, text])
            : await db.query('UPDATE kept_text SET text = $2 WHERE key = $1 AND text = $3', [key, text, was]);
      return rowCount === 1;
    },
  };
}
