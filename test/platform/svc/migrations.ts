export interface Migration {
  /** The release that introduced it. */
  version: string;
  sql: string;
}

/** In release order. A released migration is never changed. */
export const migrations: readonly Migration[] = [
  {
    version: 'v1.0.0',
    sql: `
      CREATE TABLE session (secret text PRIMARY KEY, name text NOT NULL, role text NOT NULL, at timestamptz DEFAULT now());
      CREATE TABLE job (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        kind text NOT NULL,
        title text NOT NULL,
        seconds double precision NOT NULL,
        stuck boolean NOT NULL DEFAULT false,
        state text NOT NULL DEFAULT 'queued',
        queued_at timestamptz NOT NULL DEFAULT now(),
        started_at timestamptz,
        ended_at timestamptz,
        starts int NOT NULL DEFAULT 0
      );
      CREATE TABLE hold (held boolean PRIMARY KEY);
      CREATE TABLE item (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, made_at timestamptz DEFAULT now());
      CREATE TABLE update_store (key text PRIMARY KEY, text text NOT NULL);
      CREATE TABLE build_server (name text PRIMARY KEY, version text NOT NULL, seen_at timestamptz NOT NULL);`,
  },
  { version: 'v1.1.0', sql: `ALTER TABLE item ADD COLUMN made_by text NOT NULL DEFAULT 'unknown'` },
  { version: 'v2.0.0', sql: 'ALTER TABLE item RENAME COLUMN made_by TO author' },
];
