import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { mariadbImage } from './mariadb.ts';

/** With all that a password must not break: quotes of SQL and of the shell, and a backslash. */
const password = 'ro"o\'t$`\\x';

/** A MariaDB of its own, as the service `db` of a compose project. */
export class MariadbServer {
  readonly name: string;
  readonly #image: string;

  private constructor(name: string, image: string) {
    this.name = name;
    this.#image = image;
  }

  static async start(run: string, args: readonly string[] = []): Promise<MariadbServer> {
    const server = new MariadbServer(`${run}-${randomBytes(3).toString('hex')}`, await mariadbImage());
    const labels = { project: server.name, service: 'db', 'container-number': '1', oneoff: 'False' };
    const flags = [
      ...['--name', server.name, '--volume', `${server.name}:/var/lib/mysql`],
      ...Object.entries(labels).flatMap(([key, value]) => ['--label', `com.docker.compose.${key}=${value}`]),
      ...['--env', `MARIADB_ROOT_PASSWORD=${password}`, '--env', 'MARIADB_DATABASE=svc'],
      ...['--env', 'MARIADB_USER=svc', '--env', 'MARIADB_PASSWORD=secret'],
    ];
    await docker(['run', '--detach', ...flags, server.#image, 'mariadbd', ...args]);
    await server.ready();
    return server;
  }

  async ready(): Promise<void> {
    for (let tries = 0; tries < 240; tries++) {
      if ((await this.run(['mariadb', '-uroot', '-e', 'SELECT 1'])).exitCode === 0) return;
      await sleep(500);
    }
    throw new Error(
      `${this.name} does not answer: ${(await docker(['logs', '--tail', '20', this.name])).all}`,
    );
  }

  /** What its root is answered. */
  async sql(statements: string, args: readonly string[] = []): Promise<string> {
    const { exitCode, stdout, all } = await this.run(
      ['mariadb', '-uroot', '-BN', '--default-character-set=utf8mb4', ...args],
      statements,
    );
    if (exitCode !== 0) throw new Error(all);
    return stdout;
  }

  /** What somebody else is answered, who comes by the network. */
  as(user: string, secret: string, statements: string) {
    return this.run(['mariadb', '-h127.0.0.1', `-u${user}`, '-BN'], statements, secret);
  }

  run(command: readonly string[], input = '', secret = password) {
    const interactive = input === '' ? [] : ['--interactive'];
    return docker(['exec', ...interactive, '--env', `MYSQL_PWD=${secret}`, this.name, ...command], input);
  }

  /** As by the kernel; it is up again when this ends. */
  async kill(): Promise<void> {
    await docker(['kill', this.name]);
    await docker(['start', this.name]);
  }

  /** All that there is, as other programs than the product's tell of it. */
  async look(): Promise<string> {
    const names = (await this.sql('SHOW DATABASES', ['-r']))
      .split('\n')
      .filter((name) => !system.includes(name));
    // Without locks, which a view whose definer is gone would refuse.
    const dump = ['mariadb-dump', '-uroot', '--routines', '--events', '--hex-blob', '--single-transaction'];
    const dumped = await this.run([
      ...dump,
      '--dump-history',
      '--skip-dump-date',
      '--databases',
      '--',
      ...names,
    ]);
    if (dumped.exitCode !== 0) throw new Error(dumped.stderr);
    const accounts = await this.sql(
      "SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)), JSON_VALUE(Priv, '$.is_role') FROM mysql.global_priv ORDER BY 1",
      ['-r'],
    );
    const shown = accounts.split('\n').map((line) => {
      const [account = '', isRole] = line.split('\t');
      const name = isRole === '1' ? account.replace(/@''$/, '') : account;
      return `${isRole === '1' ? '' : `SHOW CREATE USER ${account};`} SHOW GRANTS FOR ${name};`;
    });
    const tables = await this.sql(
      `SELECT CONCAT('CHECKSUM TABLE \`', REPLACE(table_schema, '\`', '\`\`'), '\`.\`', REPLACE(table_name, '\`', '\`\`'), '\` EXTENDED;')
        FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
        AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') ORDER BY 1`,
      ['-r'],
    );
    const settings = 'SELECT @@GLOBAL.event_scheduler, @@GLOBAL.max_allowed_packet';
    return [
      dumped.stdout,
      await this.sql(shown.join('\n')),
      await this.sql(tables),
      await this.sql(settings),
    ].join('\n');
  }

  async remove(): Promise<void> {
    await docker(['rm', '--force', '--volumes', this.name]);
    await docker(['volume', 'rm', '--force', this.name]);
  }
}

const system = ['information_schema', 'performance_schema', 'mysql', 'sys', ''];

const docker = (args: readonly string[], input = '') =>
  execa('docker', args, { input, all: true, reject: false, timeout: 120_000 });
