import type { KnownBuildServer } from 'svc-updater/instance';
import type { Database } from './database.ts';

const command = 'curl -fLO https://example.org/svc-worker && systemctl --user restart svc-worker';

/** Other machines that run `svc-worker` in agent mode. An instance update does not update them. */
export class BuildServers {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async seen(name: string, version: string): Promise<void> {
    await this.#db.query(
      `INSERT INTO build_server VALUES ($1, $2, now())
       ON CONFLICT (name) DO UPDATE SET version = excluded.version, seen_at = excluded.seen_at`,
      [name, version],
    );
  }

  async list(): Promise<(KnownBuildServer & { seenAt: Date })[]> {
    const { rows } = await this.#db.query<{ name: string; version: string; seen_at: Date }>(
      'SELECT * FROM build_server ORDER BY name',
    );
    return rows.map(({ name, version, seen_at }) => ({ name, version, command, seenAt: seen_at }));
  }
}
