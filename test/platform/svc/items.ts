import { gte } from 'semver';
import type { Database } from './database.ts';

export interface Item {
  id: string;
  name: string;
  made_at: Date;
  /** Null before v1.1.0, which added the column. */
  author: string | null;
}

/** The rows of the Data page. Each release uses the columns that its migrations created. */
export class Items {
  readonly #db: Database;
  readonly #author: string | null;

  constructor(db: Database, version: string) {
    this.#db = db;
    this.#author = gte(version, '2.0.0') ? 'author' : gte(version, '1.1.0') ? 'made_by' : null;
  }

  get showsAuthor(): boolean {
    return this.#author !== null;
  }

  /** Newest first. */
  async list(): Promise<Item[]> {
    const author = this.#author === null ? 'null' : this.#author;
    const { rows } = await this.#db.query<Item>(
      `SELECT id, name, made_at, ${author} AS author FROM item ORDER BY id DESC`,
    );
    return rows;
  }

  async add(name: string, author: string): Promise<void> {
    if (this.#author === null) await this.#db.query('INSERT INTO item (name) VALUES ($1)', [name]);
    else await this.#db.query(`INSERT INTO item (name, ${this.#author}) VALUES ($1, $2)`, [name, author]);
  }
}
