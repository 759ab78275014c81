import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';

export const databaseKinds = ['postgres', 'mariadb', 'sqlite', 'redis', 'openldap'] as const;
export type DatabaseKind = (typeof databaseKinds)[number];

/** A session at the database. After a text that fails, it is over. */
export interface Session {
  /** SQL, commands of redis (one a line), or LDIF. */
  run(text: string): Promise<void>;
}

/** The app's own user, or one that may do anything. */
export type Who = 'app' | 'owner';

export const sqlitePath = '/data/svc.db';
const { DB_PASSWORD = '', DB_ROOT_PASSWORD = '' } = process.env;

export function openSession(kind: DatabaseKind, who: Who = 'app'): Session {
  if (kind === 'sqlite') return openSqlite();
  if (kind === 'redis') return new RedisSession();
  return kind === 'openldap' ? { run: modify } : new ClientSession(kind, who);
}

/** The database's own client reads SQL from its standard input. */
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
      // A signal to the app's process group does not end its sessions: they end with their input.
      detached: true,
    });
    // A client that has exited is noticed by its missing answer.
    this.#child.stdin.on('error', () => {});
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#said += chunk;
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  run(sql: string): Promise<void> {
    const answered = this.#last.then(() => this.#ask(sql));
    this.#last = answered.catch(() => {});
    return answered;
  }

  async #ask(sql: string): Promise<void> {
    this.#marks += 1;
    const mark = `-- ${this.#marks} is done --`;
    this.#child.stdin.write(`${sql};\nSELECT '${mark}';\n`);
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`the session is over: ${this.#said.trim()}`);
      if (value === mark) return;
    }
  }
}

function client(kind: 'postgres' | 'mariadb', who: Who) {
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
  return { run: async (sql) => database.exec(sql) };
}

class RedisSession implements Session {
  #socket: Socket;
  #lines: AsyncIterator<string>;

  constructor() {
    this.#socket = connect(6379, 'db');
    this.#socket.on('error', () => {});
    this.#lines = createInterface({ input: this.#socket })[Symbol.asyncIterator]();
  }

  async run(commands: string): Promise<void> {
    for (const line of ['', ...commands.split('\n')]) {
      // Quoted words may contain spaces.
      const words = line === '' ? ['AUTH', DB_PASSWORD] : (line.match(/"[^"]*"|\S+/g) ?? []);
      const plain = words.map((word) => word.replaceAll('"', ''));
      const parts = plain.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
      this.#socket.write(`*${plain.length}\r\n${parts.join('')}`);
      await this.#answer();
    }
  }

  async #answer(): Promise<void> {
    const { value = '', done } = await this.#lines.next();
    if (done || value.startsWith('-')) throw new Error(`redis: ${value || 'the connection is closed'}`);
    const count = Number(value.slice(1));
    if (value.startsWith('$') && count >= 0) await this.#lines.next();
    if (value.startsWith('*')) for (let at = 0; at < count; at++) await this.#answer();
  }
}

const accepted = [0, 68, 20];

/** Applies LDIF as the administrator of the data or of the configuration; `delete DN` deletes a subtree. Repeats are accepted. */
async function modify(ldif: string): Promise<void> {
  const [, tree] = /^delete (.*)/.exec(ldif) ?? [];
  const user = `cn=admin,${ldif.includes('cn=config') ? 'cn=config' : 'dc=svc'}`;
  const flags = ['-x', '-H', 'ldap://db', '-D', user, '-w', DB_PASSWORD];
  const child = tree
    ? spawn('ldapdelete', [...flags, '-r', tree])
    : spawn('ldapmodify', [...flags, '-c'], { stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  child.stdin?.on('error', () => {}).end(ldif);
  const [code] = await once(child, 'close');
  if (!accepted.includes(code)) throw new Error(`ldap: ${said}`);
}
