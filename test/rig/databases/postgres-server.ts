import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { type PostgresMajor, postgresImage } from './postgres.ts';

/** A server in a container that is labelled as compose labels it, and is asked without the product. */
export interface PostgresServer {
  project: string;
  service: string;
  container: string;
  /** Runs statements as the superuser, and gives the rows as text. */
  sql(statements: string, database?: string): Promise<string>;
  /** Everything of the server, as its own programs write it down. */
  judge(): Promise<string>;
  kill(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

const user = 'boss';

export async function startPostgres(major: PostgresMajor): Promise<PostgresServer> {
  const project = `svct-pg-${randomBytes(4).toString('hex')}`;
  const container = `${project}-db-1`;
  const docker = async (...args: string[]) => (await execa('docker', args, { timeout: 120_000 })).stdout;
  const labels = { project, service: 'db', oneoff: 'False', 'container-number': '1' };
  const flags = Object.entries(labels).flatMap(([key, value]) => [
    '--label',
    `com.docker.compose.${key}=${value}`,
  ]);
  const settings = ['-c', 'max_prepared_transactions=5'];
  const image = await postgresImage(major);
  await docker(
    ...['run', '--detach', '--name', container, ...flags, '--volume', `${project}:/var/lib/postgresql/data`],
    ...['--env', `POSTGRES_USER=${user}`, '--env', 'POSTGRES_PASSWORD=Tiger', '--env', 'POSTGRES_DB=app'],
    ...[image, ...settings],
  );
  const ready = async () => {
    for (let i = 0; i < 240; i++, await sleep(250)) {
      // The first server, which makes the database, does not listen on TCP.
      const asked = ['exec', container, 'pg_isready', '-h', '127.0.0.1', '-U', user];
      if ((await execa('docker', asked, { reject: false })).exitCode === 0) return;
    }
    throw new Error(`${container} does not begin: ${await docker('logs', '--tail', '20', container)}`);
  };
  const sql = async (statements: string, database = 'app') => {
    const asked = [
      'exec',
      '-i',
      container,
      'psql',
      '-XqAt',
      '-v',
      'ON_ERROR_STOP=1',
      '-U',
      user,
      '-d',
      database,
    ];
    return (await execa('docker', asked, { input: statements, timeout: 120_000 })).stdout;
  };
  await ready();
  return {
    project,
    service: 'db',
    container,
    sql,
    async judge() {
      const names = await sql(
        'SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1',
        'template1',
      );
      // Whatever the database sets for those who come in.
      const asked = ['exec', '-e', 'PGOPTIONS=-c role=none'];
      const texts = [await docker('exec', container, 'pg_dumpall', '--globals-only', '-U', user)];
      for (const name of names.split('\n')) {
        texts.push(
          await docker(...asked, '-e', `PGDATABASE=${name}`, container, 'pg_dump', '--create', '-U', user),
        );
      }
      return texts.join('\n').replaceAll(/^\\(?:un)?restrict .*$/gm, '');
    },
    kill: async () => void (await docker('kill', container)),
    start: async () => {
      await docker('start', container);
      await ready();
    },
    async remove() {
      await execa('docker', ['rm', '--force', '--volumes', container], { reject: false });
      await execa('docker', ['volume', 'rm', '--force', project], { reject: false });
    },
  };
}
