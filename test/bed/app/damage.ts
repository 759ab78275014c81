import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Damage } from '../bad-releases.ts';
import { type DatabaseKind, openSession, sqlitePath } from './database.ts';

type Statements = Record<DatabaseKind, string>;

/** What each does to the data. Every one may be done again, by an app that is started again. */
export const damages: Record<Damage, (kind: DatabaseKind) => Promise<void>> = {
  'drop table and column': statements({
    postgres:
      'DROP TABLE IF EXISTS papers CASCADE; ALTER TABLE customers DROP COLUMN IF EXISTS email CASCADE',
    mariadb: 'DROP TABLE IF EXISTS papers; ALTER TABLE customers DROP COLUMN IF EXISTS email',
    sqlite: 'DROP TABLE IF EXISTS papers; ALTER TABLE customers DROP COLUMN email',
  }),
  'drop role': statements({
    postgres:
      'ALTER DATABASE reports OWNER TO svc; DROP OWNED BY reporter, readers; DROP ROLE IF EXISTS reporter, readers',
    mariadb: "DROP USER IF EXISTS reporter@'%'; REVOKE CREATE ROUTINE ON svc.* FROM svc@'%'",
    // There are none; another thing that is in no table.
    sqlite: 'PRAGMA user_version = 99; VACUUM',
  }),
  'change password': statements({
    postgres: "ALTER ROLE svc PASSWORD 'another'; ALTER ROLE reporter PASSWORD 'another' CREATEDB",
    mariadb: "ALTER USER svc@'%' IDENTIFIED BY 'another'; ALTER USER reporter@'%' IDENTIFIED BY 'another'",
    sqlite: `VACUUM INTO '${sqlitePath}.new'`,
  }),
  'create databases and roles': statements({
    postgres: `CREATE DATABASE invented; CREATE ROLE inventor LOGIN SUPERUSER PASSWORD 'x'; CREATE SCHEMA invented AUTHORIZATION inventor;
      CREATE TABLE invented.things AS SELECT * FROM customers; GRANT readers TO inventor; ALTER SCHEMA archive OWNER TO inventor;
      ALTER DATABASE svc SET work_mem = '1MB'; ALTER DATABASE svc OWNER TO inventor; REVOKE CONNECT ON DATABASE svc FROM PUBLIC`,
    mariadb: `CREATE DATABASE IF NOT EXISTS invented; CREATE TABLE IF NOT EXISTS invented.things SELECT * FROM svc.customers;
      CREATE USER IF NOT EXISTS inventor@'%' IDENTIFIED BY 'x'; GRANT ALL ON *.* TO inventor@'%'; ALTER DATABASE svc CHARACTER SET latin1`,
    sqlite: `ATTACH '/data/invented.db' AS invented; CREATE TABLE IF NOT EXISTS invented.things AS SELECT * FROM customers`,
  }),
  'rewrite sequences': statements({
    postgres: `TRUNCATE papers, old_orders RESTART IDENTITY; SELECT setval('customers_id_seq', 1); ALTER SEQUENCE invoices RESTART WITH 1 INCREMENT BY 2;
      SELECT lo_unlink(oid) FROM pg_largeobject_metadata`,
    mariadb:
      'TRUNCATE old_orders; ALTER TABLE customers AUTO_INCREMENT = 100000; ALTER SEQUENCE invoices RESTART 1',
    sqlite: "DELETE FROM old_orders; UPDATE sqlite_sequence SET seq = 1 WHERE name <> 'live'",
  }),
  'prepare transaction': statements({
    postgres: "BEGIN; DELETE FROM papers; PREPARE TRANSACTION 'left behind'",
    mariadb: "XA START 'left behind'; DELETE FROM papers; XA END 'left behind'; XA PREPARE 'left behind'",
    // A log that the next one who opens the file has to put into it.
    sqlite: 'PRAGMA wal_autocheckpoint = 0; DELETE FROM papers; UPDATE customers SET balance = 0',
  }),
  /** A statement that goes on in the server when its client has gone. */
  'hold locks': async (kind) => {
    const locking = {
      postgres: 'BEGIN; LOCK TABLE customers, old_orders IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600)',
      mariadb: 'LOCK TABLES customers WRITE, old_orders WRITE; SELECT sleep(3600)',
      sqlite: 'BEGIN EXCLUSIVE; UPDATE customers SET balance = 0',
    };
    openSession(kind, 'owner')
      .run(locking[kind])
      .catch(() => {});
    openSession(kind)
      .run('BEGIN; SELECT count(*) FROM tally')
      .catch(() => {});
  },
  // By a program that takes names as bytes, as some of them are no text.
  'empty uploads': async () => {
    busybox('rm', '-rf', ...readdirSync('/uploads').map((name) => join('/uploads', name)));
  },
  'change owners': async () => {
    busybox('chown', '-hR', '4242:4242', '/uploads');
    busybox('chmod', '-R', '777', '/uploads');
    utimesSync('/uploads', 1, 1);
  },
  'fill disk': async () => {
    for (let size = 1024 * 1024; size >= 512; ) {
      try {
        writeFileSync('/files/filling', Buffer.alloc(size, 1), { flag: 'a' });
      } catch {
        size /= 2;
      }
    }
  },
  'link for directory': async () => {
    renameSync('/uploads/tree', '/uploads/moved');
    symlinkSync('/etc', '/uploads/tree');
    rmSync('/uploads/plain.txt', { force: true });
    mkdirSync('/uploads/plain.txt');
    writeFileSync('/uploads/plain.txt/within', 'a file where a directory was\n');
    rmSync('/files/leaf', { recursive: true, force: true });
    symlinkSync('/uploads/plain.txt', '/files/leaf');
  },
  'write 10,000 files': async () => {
    for (let at = 0; at < 10_000; at++) {
      const folder = `/uploads/invented/${at % 100}`;
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/${at}`, `${at}\n`);
    }
  },
};

/** Each by a session of its own, so that one that fails at a second start does not keep the others away. */
function statements(sql: Statements): (kind: DatabaseKind) => Promise<void> {
  return async (kind) => {
    await openSession(kind, 'owner')
      .run(sql[kind])
      .catch((error: Error) => process.stderr.write(`${error.message}\n`));
  };
}

function busybox(...args: string[]): void {
  execFileSync('/bin/busybox', args);
}
