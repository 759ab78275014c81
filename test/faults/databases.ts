import { debianLayer } from '../platform/rig/debian.ts';
import { postgres as postgresPrograms } from '../platform/rig/stand-ins.ts';
import { mariadbImage } from '../rig/databases/mariadb.ts';
import { openldapImage } from '../rig/databases/openldap.ts';
import { postgresImage } from '../rig/databases/postgres.ts';
import { redisImage } from '../rig/databases/redis.ts';
import type { Layer } from '../rig/image.ts';

/** Kinds of data on a stage; `files` has no database. */
export const dataKinds = ['files', 'postgres', 'redis', 'mariadb', 'openldap'] as const;
export type DataKind = (typeof dataKinds)[number];

export const firstVersion = 'v1.0.0';
export const password = 'correct horse battery';

/** Runs a command in the database's container. */
type InDatabase = (command: readonly string[], input?: string) => Promise<string>;

interface Database {
  image(): Promise<string>;
  /** The lines of its service. */
  lines: string;
  /** The owner's client, which reads from its standard input. */
  client: readonly string[];
  /** Layers with the client for the app's image: see restore-app.sh. */
  layers(): Promise<Layer[]>;
  /** Succeeds once the database answers. */
  question: string;
  seed: string;
  /** Changes the data to a value that no earlier try has used. */
  touch(word: string): string;
  /** The version that has migrated the data. */
  version(inDatabase: InDatabase): Promise<string>;
  /** A dump of all data, created by the database's programs, as unordered lines. */
  dump(inDatabase: InDatabase): Promise<string>;
  /** Rows that app and worker write until they stop: name of the start, and number. */
  liveRows(inDatabase: InDatabase): Promise<string[]>;
}

const sqlClients = {
  postgres: ['psql', ...'-h 127.0.0.1 -U svc -d svc -X -q -A -t -v ON_ERROR_STOP=1'.split(' ')],
  mariadb: ['mariadb', '-uroot', '--batch', '--skip-column-names', 'svc'],
};
const tables = `CREATE TABLE schema_of (version varchar(20));
INSERT INTO schema_of VALUES ('${firstVersion}');
CREATE TABLE live (boot varchar(60), n integer, PRIMARY KEY (boot, n));
CREATE TABLE things (id integer PRIMARY KEY, name varchar(200));
`;
const sql = (client: readonly string[]) => ({
  client,
  question: 'SELECT 1',
  touch: (word: string) => `UPDATE things SET name = '${word}' WHERE id = 1`,
  version: (inDatabase: InDatabase) => inDatabase(client, 'SELECT max(version) FROM schema_of'),
  liveRows: async (inDatabase: InDatabase) =>
    linesOf(await inDatabase(client, "SELECT concat(boot, ' ', n) FROM live")),
});

const redisClient = ['redis-cli', '-e'];
const slapcat = (database: number) =>
  `slapcat -o ldif-wrap=no -F /var/lib/ldap/config -n ${database}`.split(' ');

export const databases: Record<Exclude<DataKind, 'files'>, Database> = {
  postgres: {
    ...sql(sqlClients.postgres),
    image: () => postgresImage(15),
    lines: `environment: [POSTGRES_USER=svc, POSTGRES_DB=svc, 'POSTGRES_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['db:/var/lib/postgresql/data']`,
    layers: async () => [await debianLayer(postgresPrograms)],
    seed: `${tables}INSERT INTO things SELECT n, 'thing ' || repeat(md5(n::text), 3) FROM generate_series(1, 20000) n;
CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT SELECT ON things TO clerk; CREATE SEQUENCE numbers START 7`,
    dump: async (inDatabase) =>
      // Newer versions write a random word around a dump.
      (await inDatabase(['pg_dumpall', '-h', '127.0.0.1', '-U', 'svc'])).replace(
        /^\\(un)?restrict .*\n/gm,
        '',
      ),
  },
  mariadb: {
    ...sql(sqlClients.mariadb),
    image: mariadbImage,
    lines: `environment: [MARIADB_DATABASE=svc, 'MARIADB_ROOT_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['db:/var/lib/mysql']`,
    layers: async () => [await client('mariadb-client-core', ['usr/bin/mariadb'])],
    seed: `${tables}INSERT INTO things SELECT seq, concat('thing ', repeat(md5(seq), 3)) FROM seq_1_to_20000;
CREATE USER clerk@'%' IDENTIFIED BY 'clerk'; GRANT SELECT ON svc.things TO clerk@'%'; CREATE SEQUENCE numbers START 7`,
    dump: async (inDatabase) =>
      (await inDatabase([
        'mariadb-dump',
        ...'-uroot --routines --triggers --skip-dump-date --skip-extended-insert --databases svc'.split(' '),
      ])) + (await inDatabase(sqlClients.mariadb, 'SELECT * FROM mysql.global_priv')),
  },
  redis: {
    image: redisImage,
    lines: `environment: ['REDIS_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['db:/data']`,
    client: redisClient,
    // Busybox contains nc.
    layers: async () => [],
    question: 'PING',
    seed: `EVAL "for n=1,5000 do redis.call('SET','thing:'..n,string.rep('x',n%200)) end" 0\nSET schema ${firstVersion}\n`,
    touch: (word) => `SET thing:1 ${word}\n`,
    version: (inDatabase) => inDatabase(redisClient, 'GET schema'),
    async dump(inDatabase) {
      const keys = linesOf(await inDatabase(redisClient, 'KEYS *'));
      const asked = keys.map((key) => `DEBUG DIGEST-VALUE ${key}\n`).join('');
      const digests = (await inDatabase(redisClient, asked)).split('\n');
      return keys.map((key, at) => `${key} ${digests[at]}`).join('\n');
    },
    async liveRows(inDatabase) {
      const rows: string[] = [];
      for (const key of linesOf(await inDatabase(redisClient, 'KEYS live:*'))) {
        const numbers = linesOf(await inDatabase(redisClient, `LRANGE ${key} 0 -1`));
        rows.push(...numbers.map((n) => `${key.replace('live:', '')} ${n}`));
      }
      return rows;
    },
  },
  openldap: {
    image: openldapImage,
    lines: `environment: ['LDAP_PASSWORD=\${DB_PASSWORD:?}']
    volumes: ['db:/var/lib/ldap']`,
    client: [...'ldapmodify -a -x -H ldapi:/// -D cn=admin,dc=svc -w'.split(' '), password],
    layers: async () => [await client('ldap-utils', ['usr/bin/ldapmodify', 'usr/bin/ldapsearch'])],
    question: '',
    seed: `dn: dc=svc\nobjectClass: dcObject\nobjectClass: organization\no: svc\n
dn: ou=live,dc=svc\nobjectClass: organizationalUnit\n
dn: cn=schema,dc=svc\nobjectClass: organizationalRole\ndescription: ${firstVersion}\n
${Array.from({ length: 400 }, (_, n) => `dn: cn=thing ${n + 1},dc=svc\nobjectClass: organizationalRole\ndescription: ${'x'.repeat(1 + n)}\n`).join('\n')}`,
    touch: (word) =>
      `dn: cn=thing 1,dc=svc\nchangetype: modify\nreplace: description\ndescription: ${word}\n`,
    version: async (inDatabase) =>
      /^dn: cn=schema,dc=svc\n(?:.+\n)*?description: (.*)$/m.exec(await inDatabase(slapcat(1)))?.[1] ?? '',
    async dump(inDatabase) {
      // Each entry becomes a line; the first entry contains the number of the last write.
      const entries = (await inDatabase(slapcat(1))).split('\n\n').map((each) => each.replaceAll('\n', '; '));
      return `${entries.join('\n').replace(/contextCSN: [^;]*; /g, '')}\n${await inDatabase(slapcat(0))}`;
    },
    liveRows: async (inDatabase) =>
      [...(await inDatabase(slapcat(1))).matchAll(/^dn: cn=(\S+)\.(\d+),ou=live/gm)].map(
        ([, boot, n]) => `${boot} ${n}`,
      ),
  },
};

const client = (name: string, paths: readonly string[]): Promise<Layer> =>
  debianLayer({ name: `restore-${name}`, package: name, paths });

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');
