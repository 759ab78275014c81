import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Damage } from '../bad-releases.ts';
import { type DatabaseKind, openSession, sqlitePath } from './database.ts';

type Texts = Record<DatabaseKind, readonly string[] | (() => void)>;

const config = (dn: string, lines: string) => `dn: ${dn}cn=config\nchangetype: modify\n${lines}\n`;
const newSecret = 'replace: olcRootPW\nolcRootPW: another';
const photo = Buffer.alloc(20_000, 'photo').toString('base64');

/** All can be repeated by an app that is started again. */
export const damages: Record<Damage, (kind: DatabaseKind) => Promise<void>> = {
  'wipe data': texts({
    postgres: [
      'DROP TABLE papers CASCADE',
      'ALTER TABLE customers DROP COLUMN email CASCADE',
      'DROP SCHEMA archive CASCADE',
      'DROP DATABASE reports WITH (FORCE)',
      'SELECT lo_unlink(oid) FROM pg_largeobject_metadata',
      "TRUNCATE old_orders RESTART IDENTITY; SELECT setval('customers_id_seq', 1)",
    ],
    mariadb: [
      'DROP TABLE papers',
      'ALTER TABLE customers DROP COLUMN email',
      'DROP DATABASE reports',
      'TRUNCATE old_orders',
    ],
    sqlite: [
      'DROP TABLE papers',
      'ALTER TABLE customers DROP COLUMN email',
      'DELETE FROM old_orders',
      'VACUUM',
    ],
    redis: ['FLUSHALL', 'BGREWRITEAOF'],
    openldap: ['delete ou=people,dc=svc'],
  }),
  'drop accounts': texts({
    postgres: [
      'ALTER DATABASE reports OWNER TO svc',
      'DROP OWNED BY reporter, readers',
      'DROP ROLE reporter, readers',
    ],
    mariadb: ["DROP USER reporter@'%'", "REVOKE CREATE ROUTINE ON svc.* FROM svc@'%'"],
    // It has no accounts.
    sqlite: ['PRAGMA user_version = 99; VACUUM'],
    redis: ['ACL DELUSER reporter', 'CONFIG REWRITE'],
    openldap: [config('olcDatabase={1}mdb,', 'replace: olcAccess\nolcAccess: to * by * none')],
  }),
  'change password': texts({
    postgres: ["ALTER ROLE svc PASSWORD 'another'; ALTER ROLE reporter PASSWORD 'another' CREATEDB"],
    mariadb: ['svc@%', 'reporter@%', 'root@%', 'root@localhost'].map((account) => {
      const [user, host] = account.split('@');
      return `ALTER USER ${user}@'${host}' IDENTIFIED BY 'another'`;
    }),
    sqlite: [`VACUUM INTO '${sqlitePath}.new'`],
    redis: ['CONFIG SET requirepass another', 'CONFIG REWRITE'],
    openldap: [config('olcDatabase={1}mdb,', newSecret), config('olcDatabase={0}config,', newSecret)],
  }),
  /** So that nobody gets in, and so that its server does not even start again. */
  'close database': texts({
    postgres: [
      "ALTER SYSTEM SET shared_preload_libraries = 'missing'",
      'CREATE FUNCTION keep_out() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION $s$closed$s$; END $$',
      'CREATE EVENT TRIGGER keep_out ON login EXECUTE FUNCTION keep_out()',
      'ALTER EVENT TRIGGER keep_out ENABLE ALWAYS',
      "COPY (SELECT 'local all all reject') TO '/var/lib/postgresql/data/pg_hba.conf'",
      'SELECT pg_reload_conf()',
      'ALTER DATABASE svc IS_TEMPLATE true; ALTER DATABASE reports ALLOW_CONNECTIONS false',
      'ALTER DATABASE svc ALLOW_CONNECTIONS false',
    ],
    mariadb: [
      "SELECT 'stray' INTO OUTFILE '/var/lib/mysql/svc/stray.frm'",
      "SELECT 'stray' INTO OUTFILE '/var/lib/mysql/ib_logfile101'",
      "ALTER USER svc@'%' ACCOUNT LOCK; RENAME USER root@localhost TO hidden@localhost; RENAME USER root@'%' TO hidden@'%'",
      'FLUSH PRIVILEGES',
    ],
    sqlite: () => {
      renameSync(sqlitePath, '/data/moved.db');
      mkdirSync(sqlitePath);
    },
    redis: ['CONFIG SET port 7777', 'CONFIG SET maxmemory 1mb', 'CONFIG REWRITE', 'ACL SETUSER default off'],
    openldap: [
      config('olcDatabase={1}mdb,', 'replace: olcReadOnly\nolcReadOnly: TRUE'),
      config('', 'replace: olcDisallows\nolcDisallows: bind_simple'),
    ],
  }),
  'change configuration': texts({
    postgres: [
      "ALTER SYSTEM SET work_mem = '1MB'; ALTER SYSTEM SET wal_level = 'minimal'; ALTER SYSTEM SET max_wal_senders = 0",
      "ALTER DATABASE svc SET search_path = 'nowhere'; ALTER ROLE svc SET default_transaction_read_only = on",
      "COPY (SELECT 'host all all all trust') TO PROGRAM 'cat >>/var/lib/postgresql/data/pg_hba.conf'",
    ],
    mariadb: [
      'ALTER DATABASE svc CHARACTER SET latin1',
      "UPDATE mysql.global_priv SET Priv = json_insert(Priv, '$.odd', 1)",
      'CREATE EVENT svc.later ON SCHEDULE EVERY 1 SECOND DO DELETE FROM svc.customers LIMIT 1',
      'SET GLOBAL event_scheduler = ON',
    ],
    sqlite: ['PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM'],
    redis: [
      'CONFIG SET appendonly no',
      'CONFIG SET save "1 1"',
      'CONFIG SET dbfilename other.rdb',
      'CONFIG REWRITE',
      'SAVE',
    ],
    openldap: [
      "dn: cn=odd,cn=schema,cn=config\nchangetype: add\nobjectClass: olcSchemaConfig\ncn: odd\nolcAttributeTypes: ( 1.3.6.1.4.1.99999.1 NAME 'odd' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n",
      config(
        'olcDatabase={1}mdb,',
        'replace: olcDbMaxSize\nolcDbMaxSize: 536870912\n-\nadd: olcDbIndex\nolcDbIndex: sn eq',
      ),
    ],
  }),
  'add data': texts({
    postgres: [
      'CREATE DATABASE invented',
      "CREATE ROLE inventor LOGIN SUPERUSER PASSWORD 'x'; CREATE SCHEMA invented AUTHORIZATION inventor",
      'CREATE TABLE invented.things AS SELECT * FROM customers; GRANT readers TO inventor; ALTER SCHEMA archive OWNER TO inventor',
      "ALTER DATABASE svc OWNER TO inventor; CREATE TABLESPACE away LOCATION '/tmp'; CREATE TABLE far (a int) TABLESPACE away",
      "BEGIN; DELETE FROM papers; PREPARE TRANSACTION 'left behind'",
    ],
    mariadb: [
      'CREATE DATABASE invented; CREATE TABLE invented.things SELECT * FROM svc.customers',
      "CREATE USER inventor@'%' IDENTIFIED BY 'x'; GRANT ALL ON *.* TO inventor@'%'",
      "XA START 'left behind'; DELETE FROM papers; XA END 'left behind'; XA PREPARE 'left behind'",
    ],
    sqlite: [
      "ATTACH '/data/invented.db' AS invented; CREATE TABLE IF NOT EXISTS invented.things AS SELECT * FROM customers",
      'PRAGMA wal_autocheckpoint = 0; DELETE FROM papers',
    ],
    redis: [
      'SELECT 5',
      `EVAL "for n=1,3000 do redis.call('SET','invented:'..n,n) end" 0`,
      'ACL SETUSER inventor on nopass ~* +@all',
      'CONFIG REWRITE',
    ],
    openldap: [
      'dn: ou=invented,dc=svc\nchangetype: add\nobjectClass: organizationalUnit\n',
      'dn: cn=inventor,ou=invented,dc=svc\nchangetype: add\nobjectClass: person\nsn: inventor\nuserPassword: x\n',
      'dn: cn=customer 3,ou=people,dc=svc\nchangetype: modrdn\nnewrdn: cn=renamed\ndeleteoldrdn: 1\n',
    ],
  }),
  'grow data': texts({
    postgres: [
      'CREATE TABLE growth AS SELECT n, repeat(md5(n::text), 50) AS body FROM generate_series(1, 60000) n',
    ],
    mariadb: [
      'CREATE TABLE growth (n int, body text); INSERT INTO growth SELECT seq, repeat(md5(seq), 50) FROM seq_1_to_60000',
    ],
    sqlite: [
      'CREATE TABLE IF NOT EXISTS growth (body blob); WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) INSERT INTO growth SELECT randomblob(100000) FROM s',
    ],
    redis: [`EVAL "for n=1,200 do redis.call('SET','growth:'..n,string.rep('x',500000)) end" 0`],
    openldap: [
      Array.from(
        { length: 1_000 },
        (_, n) =>
          `dn: cn=growth ${n},ou=people,dc=svc\nchangetype: add\nobjectClass: inetOrgPerson\nsn: ${n}\njpegPhoto:: ${photo}\n\n`,
      ).join(''),
    ],
  }),
  /** The server goes on when its client has gone. */
  'hold locks': async (kind) => {
    const locking = {
      postgres: 'BEGIN; LOCK TABLE customers, old_orders IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600)',
      mariadb: 'LOCK TABLES customers WRITE, old_orders WRITE; SELECT sleep(3600)',
      sqlite: 'BEGIN EXCLUSIVE; UPDATE customers SET balance = 0',
      redis: 'EVAL "while true do redis.call([[INCR]],[[spin]]) end" 0',
      openldap: 'delete ou=people,dc=svc',
    };
    openSession(kind, 'owner')
      .run(locking[kind])
      .catch(() => {});
  },
  // Node cannot read names that are not UTF-8.
  'empty uploads': async () => {
    busybox('rm', '-rf', ...readdirSync('/uploads').map((name) => join('/uploads', name)));
  },
  'change owners': async () => {
    busybox('chown', '-hR', '4242:4242', '/uploads');
    busybox('chmod', '-R', '777', '/uploads');
    setAttribute('user.root', '0x626164', '/uploads');
    // An access list that lets user 4242 in.
    setAttribute(
      'system.posix_acl_access',
      '0x0200000001000700ffffffff020007009210000004000500ffffffff10000700ffffffff20000000ffffffff',
      '/uploads',
    );
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
  'dig deep': async () => {
    for (const top of ['/uploads', '/files/shared']) {
      process.chdir(top);
      for (let level = 0; level < 40; level++) {
        mkdirSync('d'.repeat(200), { recursive: true });
        process.chdir('d'.repeat(200));
        writeFileSync('file', `${level}\n`);
        try {
          symlinkSync('/', 'root');
        } catch {}
      }
      process.chdir('/');
    }
    try {
      linkSync('/uploads/leaf', '/uploads/tree/same as leaf');
      rmSync('/uploads/tree/second name');
      linkSync('/uploads/holes', '/uploads/tree/second name');
    } catch {}
    for (const name of ['rsync error (28)', 'No space left on device (28)'])
      createServer()
        .on('error', () => {})
        .listen(`/uploads/${name}`);
  },
};

/** Each text in a session of its own, so that one that fails when it is repeated does not keep out the others. */
function texts(all: Texts): (kind: DatabaseKind) => Promise<void> {
  return async (kind) => {
    const own = all[kind];
    if (typeof own === 'function') {
      try {
        own();
      } catch {}
      return;
    }
    const session = kind === 'redis' ? openSession(kind, 'owner') : null;
    for (const text of own) {
      await (session ?? openSession(kind, 'owner'))
        .run(text)
        .catch((error: Error) => process.stderr.write(`${error.message}\n`));
    }
  };
}

function busybox(...args: string[]): void {
  execFileSync('/bin/busybox', args);
}

function setAttribute(name: string, value: string, path: string): void {
  execFileSync('/usr/bin/setfattr', ['-n', name, '-v', value, path]);
}
