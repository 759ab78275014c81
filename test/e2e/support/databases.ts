import { execa } from 'execa';
import { expect } from 'vitest';
import { composeText } from '../../rig/compose-text.ts';
import { mariadbImage } from '../../rig/databases/mariadb.ts';
import { postgresImage } from '../../rig/databases/postgres.ts';
import { expectWords } from './attempt.ts';
import { createInstance } from './instance.ts';

/** A database server that is the service `db` of an instance. */
interface Database {
  name: string;
  image(): Promise<string>;
  home: string;
  environment: string;
  client: readonly string[];
  dump: readonly string[];
}

export const postgres: Database = {
  name: 'PostgreSQL',
  image: () => postgresImage(15),
  home: '/var/lib/postgresql/data',
  environment: 'POSTGRES_USER: boss, POSTGRES_PASSWORD: Tiger, POSTGRES_DB: app',
  client: ['psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-U', 'boss', '-d', 'app'],
  dump: ['pg_dumpall', '-h', '127.0.0.1', '-U', 'boss'],
};

export const mariadb: Database = {
  name: 'MariaDB',
  image: mariadbImage,
  home: '/var/lib/mysql',
  environment: 'MARIADB_ROOT_PASSWORD: Tiger, MARIADB_DATABASE: app',
  client: ['mariadb', '-uroot', '-BN', 'app'],
  dump: ['mariadb-dump', '-uroot', '--skip-dump-date', '--routines', '--databases', 'app'],
};

export const databases: readonly Database[] = [postgres, mariadb];

const old = `CREATE TABLE orders (id int PRIMARY KEY, item varchar(20));
  INSERT INTO orders VALUES (1, 'one'), (2, 'two'), (3, 'three');
  CREATE VIEW more AS SELECT id FROM orders WHERE id > 1;`;
const spoil =
  "DROP VIEW more; DELETE FROM orders WHERE id > 1; ALTER TABLE orders ADD note varchar(20) DEFAULT 'new';";
export const migrate =
  "ALTER TABLE orders ADD total int DEFAULT 7; INSERT INTO orders VALUES (4, 'four', 8);";

/** An instance with this database as its `db`. `dump` returns a dump by the program of the database. */
export async function startWith(database: Database, publish: string[]) {
  const image = await database.image();
  const instance = await createInstance({
    up: ['--no-deps', 'app', 'worker', 'db'],
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts })
          .replace(`image: ${c.parts}/db:1\n    command: db`, `image: ${image}`)
          .replace(
            "volumes: ['db:/var/lib/db', './data/dump:/dump']",
            `volumes: ['db:${database.home}']\n    environment: { ${database.environment} }`,
          ),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
    publish,
  });
  const passwords = ['--env', 'PGPASSWORD=Tiger', '--env', 'MYSQL_PWD=Tiger'];
  const ask = async (command: readonly string[], input = '') => {
    const run = ['exec', '--interactive', ...passwords, `${instance.project}-db-1`, ...command];
    return (await execa('docker', run, { input, timeout: 60_000 })).stdout;
  };
  const sql = (statements: string) => ask(database.client, statements);
  const dump = async () => (await ask(database.dump)).replaceAll(/^\\(?:un)?restrict .*$/gm, '');
  const isUp = () => expect.poll(() => sql('SELECT 1').catch(() => ''), { timeout: 60_000 }).toBe('1');
  await isUp();
  await sql(old);
  return { instance, sql, dump, isUp };
}

/** Checks that a rollback restores the data that a failed release changed. */
export async function expectDataBack(database: Database): Promise<void> {
  const { instance, sql, dump, isUp } = await startWith(database, []);
  // The ready command fails once the test has changed the data.
  const ready = ['sh', '-c', 'until [ -e /data/spoiled ]; do sleep 0.1; done; exit 3'];
  await instance.publish('v1.1.2', { labels: { 'svc.ready': JSON.stringify(ready) } });
  const before = await dump();
  expect(before).toContain('three');
  const run = instance.startUpdate(['--target', 'v1.1.2', '--restore-point']);
  await run.waitFor('running the ready command');
  await sql(spoil);
  expect(await dump()).not.toBe(before);
  await instance.write('data/spoiled', '');
  expectWords(await run.done, {
    exitCode: 4,
    says: [
      'the restore point will contain ',
      'v1.1.2 failed; rolling back to v1.0.0 with the data saved at ',
    ],
    ends: [/^failed \(rolled-back\): v1\.0\.0 is running again /],
  });
  await isUp();
  expect(await dump()).toBe(before);
  expect(await instance.version()).toBe('v1.0.0');
}
