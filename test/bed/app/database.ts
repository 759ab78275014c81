import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';

export type DatabaseKind = 'postgres' | 'mariadb' | 'sqlite';

/** A session at the database. After a statement that fails, it is over. */
export interface Session {
  /** The first column of what the last of the statements gives. */
  run(sql: string): Promise<string[]>;
}

/** As the app's own user, or as one who may do anything. */
export type Who = 'app' | 'owner';

export const sqlitePath = '/data/svc.db';

export function openSession(kind: DatabaseKind, who: Who = 'app'): Session {
  return kind === 'sqlite' ? openSqlite() : new ClientSession(kind, who);
}

/** By the database's own client, which is fed by its input, so that no driver is needed for any of them. */
class ClientSession implements Session {
  #child;
  #lines: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();
  #said = '';
  #marks = 0;

  constructor(kind: 'postgres' | 'mariadb', who: Who) {
    const { command, args, env } = client(kind, who);
    this.#child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A signal to the app's group is none to its sessions, which end with their input.
      detached: true,
    });
    // What is written to a client that has ended is told by its missing answer.
    this.#child.stdin.on('error', () => {});
    this.#child.stderr.on('data', (piece: Buffer) => {
      this.#said += piece;
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  run(sql: string): Promise<string[]> {
    const answered = this.#last.then(() => this.#ask(sql));
    this.#last = answered.catch(() => {});
    return answered;
  }

  async #ask(sql: string): Promise<string[]> {
    this.#marks += 1;
    const mark = `-- ${this.#marks} is done --`;
    this.#child.stdin.write(`${sql};\nSELECT '${mark}';\n`);
    const lines: string[] = [];
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`the session is over: ${this.#said.trim()}`);
      if (value === mark) return lines;
      lines.push(value);
    }
  }
}

function client(kind: 'postgres' | 'mariadb', who: Who) {
  const { DB_PASSWORD = '', DB_ROOT_PASSWORD = '' } = process.env;
  if (kind === 'postgres') {
    return {
      command: 'psql',
      args: ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1'],
      env: { PGHOST: 'db', PGUSER: 'svc', PGDATABASE: 'svc', PGPASSWORD: DB_PASSWORD },
    };
  }
  const [user, password] = who === 'app' ? ['svc', DB_PASSWORD] : ['root', DB_ROOT_PASSWORD];
  return {
    command: 'mariadb',
    args: ['--host=db', `--user=${user}`, '--batch', '--skip-column-names', '--unbuffered', 'svc'],
    env: { MYSQL_PWD: password },
  };
}

function openSqlite(): Session {
  const database = new DatabaseSync(sqlitePath, { timeout: 10_000 });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  return {
    async run(sql) {
      if (!/^\s*SELECT/i.test(sql)) {
        database.exec(sql);
        return [];
      }
      return database
        .prepare(sql)
        .all()
        .map((row) => String(Object.values(row)[0]));
    },
  };
}
