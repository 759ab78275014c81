import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from './database.ts';

export interface Person {
  name: string;
  role: 'admin' | 'user';
}

/** Users of the demo, who log in with one click. */
export const people: Readonly<Record<string, Person>> = {
  anna: { name: 'anna', role: 'admin' },
  ben: { name: 'ben', role: 'user' },
};

/** Logins, stored in the database so that they survive restarts. Only the hash of a secret is stored. */
export class Sessions {
  readonly #db: Database;
  readonly #apiToken: string | null;

  constructor(db: Database, apiToken: string | null) {
    this.#db = db;
    this.#apiToken = apiToken;
  }

  /** Creates a login. @returns its cookie */
  async begin({ name, role }: Person): Promise<string> {
    const secret = randomBytes(24).toString('base64url');
    await this.#db.query('INSERT INTO session (secret, name, role) VALUES ($1, $2, $3)', [
      hash(secret),
      name,
      role,
    ]);
    return `session=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${30 * 24 * 3600}`;
  }

  /** The person who sent a request; null without a valid login. */
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

  /** Deletes a login. @returns the cookie that removes it from the browser */
  async end(headers: Headers): Promise<string> {
    const secret = secretOf(headers);
    if (secret !== null) await this.#db.query('DELETE FROM session WHERE secret = $1', [hash(secret)]);
    return 'session=; Path=/; Max-Age=0';
  }

  #isApiToken(given: string): boolean {
    return this.#apiToken !== null && sameSecret(given, this.#apiToken);
  }
}

/** Compares in constant time. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

const secretOf = (headers: Headers) =>
  /(?:^|; *)session=([\w-]+)/.exec(headers.get('cookie') ?? '')?.[1] ?? null;
const hash = (secret: string) => createHash('sha256').update(secret).digest('hex');
