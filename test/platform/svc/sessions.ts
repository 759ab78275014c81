import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from './database.ts';

export interface Person {
  name: string;
  role: 'admin' | 'user';
}

/** Who can log in, by a click: this is a demo. */
export const people: Readonly<Record<string, Person>> = {
  anna: { name: 'anna', role: 'admin' },
  ben: { name: 'ben', role: 'user' },
};

/** Logins, in the database: a restart of the app ends none. Of a login's secret only the hash is kept. */
export class Sessions {
  readonly #db: Database;
  readonly #apiToken: string | null;

  constructor(db: Database, apiToken: string | null) {
    this.#db = db;
    this.#apiToken = apiToken;
  }

  /** The cookie of a new login. */
  async begin({ name, role }: Person): Promise<string> {
    const secret = randomBytes(24).toString('base64url');
    await this.#db.query('INSERT INTO session (secret, name, role) VALUES ($1, $2, $3)', [
      hash(secret),
      name,
      role,
    ]);
    return `session=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${30 * 24 * 3600}`;
  }

  /** Whose login a request has; null for nobody's. */
  async of(headers: Headers): Promise<Person | null> {
    const bearer = /^Bearer (\S+)$/.exec(headers.get('authorization') ?? '')?.[1];
    if (bearer !== undefined) return this.#isApiToken(bearer) ? { name: 'the API', role: 'admin' } : null;
    const secret = secretOf(headers);
    if (secret === null) return null;
    const { rows } = await this.#db.query<Person>('SELECT name, role FROM session WHERE secret = $1', [
      hash(secret),
    ]);
    return rows[0] ?? null;
  }

  /** The cookie that takes the login away. */
  async end(headers: Headers): Promise<string> {
    const secret = secretOf(headers);
    if (secret !== null) await this.#db.query('DELETE FROM session WHERE secret = $1', [hash(secret)]);
    return 'session=; Path=/; Max-Age=0';
  }

  #isApiToken(given: string): boolean {
    return this.#apiToken !== null && sameSecret(given, this.#apiToken);
  }
}

/** In a time that does not tell how far they are alike. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

const secretOf = (headers: Headers) =>
  /(?:^|; *)session=([\w-]+)/.exec(headers.get('cookie') ?? '')?.[1] ?? null;
const hash = (secret: string) => createHash('sha256').update(secret).digest('hex');
