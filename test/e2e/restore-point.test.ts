import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { composeText } from '../rig/compose-text.ts';
import { mariadbImage } from '../rig/databases/mariadb.ts';
import { postgresImage } from '../rig/databases/postgres.ts';
import { expectWords } from './support/attempt.ts';
import { alone, createInstance } from './support/instance.ts';
import { ownData } from './support/own-data.ts';

// docs/contract.md 5.20 to 5.26, for data in files and in databases.

const start = (publish: string[]) =>
  createInstance({
    ...alone,
    layout: ownData,
    publish,
  });

test('after a bad release the old one runs on its data of before', async () => {
  const instance = await start(['v1.1.2']);
  await instance.write('data/note', 'of v1.0.0\n');
  const run = await instance.update(['--target', 'v1.1.2', '--restore-point', '--wait-timeout', '5']);
  expectWords(run, {
    exitCode: 4,
    says: ['restore point: ', 'v1.1.2 did not come up: going back to v1.0.0 with its data of'],
    ends: [
      /^failed \(went-back\): v1\.0\.0 runs again with its data of \d\d:\d\d:\d\d; what v1\.1\.2 did in /,
    ],
  });
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.boots()).not.toContain('app v1.1.2');
});

test('a good release is gone back from, and that is undone', async () => {
  const instance = await start(['v1.1.0']);
  await instance.write('data/note', 'of v1.0.0\n');
  const run = await instance.update(['--target', 'v1.1.0', '--restore-point']);
  expect(run.exitCode).toBe(0);
  await instance.write('data/note', 'of v1.1.0\n');
  const dry = await instance.update(['back']);
  expect(dry.exitCode).toBe(0);
  const back = await instance.update(['back', '--yes']);
  expect(back.exitCode).toBe(0);
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
  const again = await instance.update(['back', '--yes']);
  expect(again.exitCode).toBe(0);
  expect(await instance.version()).toBe('v1.1.0');
  expect(await instance.read('data/note')).toBe('of v1.1.0\n');
});

const databases = [
  {
    name: 'PostgreSQL 15',
    kind: 'postgres',
    image: () => postgresImage(15),
    home: '/var/lib/postgresql/data',
    environment: 'POSTGRES_USER: boss, POSTGRES_PASSWORD: Tiger, POSTGRES_DB: app',
    client: ['psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-U', 'boss', '-d', 'app'],
    dump: ['pg_dumpall', '-h', '127.0.0.1', '-U', 'boss'],
  },
  {
    name: 'MariaDB',
    kind: 'mariadb',
    image: mariadbImage,
    home: '/var/lib/mysql',
    environment: 'MARIADB_ROOT_PASSWORD: Tiger, MARIADB_DATABASE: app',
    client: ['mariadb', '-uroot', '-BN', 'app'],
    dump: ['mariadb-dump', '-uroot', '--skip-dump-date', '--routines', '--databases', 'app'],
  },
];

const old = `CREATE TABLE orders (id int PRIMARY KEY, item varchar(20));
  INSERT INTO orders VALUES (1, 'one'), (2, 'two'), (3, 'three');
  CREATE VIEW more AS SELECT id FROM orders WHERE id > 1;`;
const spoil =
  "DROP VIEW more; DELETE FROM orders WHERE id > 1; ALTER TABLE orders ADD note varchar(20) DEFAULT 'new';";
const migrate = "ALTER TABLE orders ADD total int DEFAULT 7; INSERT INTO orders VALUES (4, 'four', 8);";

/** An instance with that server as its `db`; `dump` is what the server's own program makes of the data. */
async function startWith(database: (typeof databases)[number], publish: string[]) {
  const image = await database.image();
  const instance = await createInstance({
    up: ['--no-deps', 'app', 'worker', 'db'],
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts })
          .replace(`image: ${c.parts}/db:1\n    command: db`, `image: ${image}`)
          .replace(
            "volumes: ['db:/var/lib/db', './data/dump:/dump']",
            `volumes: ['db:${database.home}']\n    labels: { svc.data: ${database.kind} }\n    environment: { ${database.environment} }`,
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
  await expect.poll(() => sql('SELECT 1').catch(() => ''), { timeout: 60_000 }).toBe('1');
  await sql(old);
  return { instance, sql, dump };
}

describe.each(databases)('$name', (database) => {
  test('is as before a bad release', async () => {
    const { instance, sql, dump } = await startWith(database, ['v1.1.2']);
    const before = await dump();
    expect(before).toContain('three');
    const run = instance.startUpdate(['--target', 'v1.1.2', '--restore-point', '--wait-timeout', '10']);
    let isOver = false;
    void run.done.finally(() => {
      isOver = true;
    });
    while (!isOver && !(await instance.boots()).includes('app v1.1.2')) await sleep(100);
    await sql(spoil);
    expect(await dump()).not.toBe(before);
    expectWords(await run.done, {
      exitCode: 4,
      says: ['restore point: ', 'v1.1.2 did not come up: going back to v1.0.0 with its data of'],
      ends: [/^failed \(went-back\): v1\.0\.0 runs again with its data of /],
    });
    expect(await dump()).toBe(before);
    expect(await instance.version()).toBe('v1.0.0');
  });

  test('goes back from a good release, and forward again', async () => {
    const { instance, sql, dump } = await startWith(database, ['v1.1.0']);
    const before = await dump();
    const good = await instance.update(['--target', 'v1.1.0', '--restore-point']);
    expect(good.exitCode, good.log).toBe(0);
    await sql(migrate);
    const after = await dump();
    for (const [version, data] of [
      ['v1.0.0', before],
      ['v1.1.0', after],
    ]) {
      const back = await instance.update(['back', '--yes']);
      expect(back.exitCode, back.log).toBe(0);
      expect(await dump()).toBe(data);
      expect(await instance.version()).toBe(version);
    }
  });
});
