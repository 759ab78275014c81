import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { execa } from 'execa';
import { findContainers } from '../../rig/engine-api.ts';
import { appPassword, ownerPassword } from '../databases.ts';
import type { Place } from './look.ts';

type Texts = Record<string, string>;

/** By the database's own programs. @param isLive without what app and worker write */
export const lookAtDatabase = (place: Place, isLive: boolean): Promise<Texts> =>
  ({
    postgres: lookAtPostgres,
    mariadb: lookAtMariadb,
    sqlite: lookAtSqlite,
    redis: lookAtRedis,
    openldap: lookAtOpenldap,
  })[place.database](place, isLive);

/** As the owner of the database, in its language. */
export const askOwner = (place: Place, text: string): Promise<string> => {
  if (place.database === 'redis') return inDatabase(place, ['redis-cli'], text);
  if (place.database === 'openldap')
    return inDatabase(
      place,
      ['ldapadd', '-x', '-H', 'ldapi:///', '-D', 'cn=admin,dc=svc', '-w', appPassword],
      text,
    );
  return place.database === 'postgres' ? psql(place, 'svc', text) : mariadb(place, text, 'svc');
};

/** Throws until the database answers. */
export const askReady = (place: Place): Promise<string> => {
  const root = ['ldapsearch', '-x', '-H', 'ldapi:///', '-b', '', '-s', 'base'];
  if (place.database === 'openldap') return inDatabase(place, root);
  // The first server, which creates the database, does not listen.
  if (place.database === 'postgres') return inDatabase(place, ['pg_isready', '-h', '127.0.0.1']);
  return askOwner(place, place.database === 'redis' ? 'PING' : 'SELECT 1');
};

/** Every row of `live` and `tally`, such as `app-v1.0.0-1a2b3c4d 17`. */
export async function liveRows(place: Place): Promise<{ live: string[]; tally: string[] }> {
  if (place.database === 'redis') return redisRows(place);
  if (place.database === 'openldap') return ldapRows(place);
  const ask = async (table: string): Promise<string[]> => {
    if (place.database !== 'sqlite')
      return linesOf(await askOwner(place, `SELECT concat(boot, ' ', n) FROM ${table} ORDER BY boot, n`));
    return withSqlite(place, (database) =>
      database
        .prepare(`SELECT boot, n FROM ${table}`)
        .all()
        .map(({ boot, n }) => `${boot} ${n}`),
    );
  };
  return { live: await ask('live'), tally: await ask('tally') };
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

async function lookAtPostgres(place: Place, isLive: boolean): Promise<Texts> {
  const ask = (sql: string) => psql(place, 'template1', sql);
  const databases = await ask(
    `SELECT datname, pg_get_userbyid(datdba), datacl, datconnlimit, datallowconn, datistemplate, encoding, datcollate,
       shobj_description(oid, 'pg_database'), dattablespace FROM pg_database ORDER BY datname`,
  );
  const left = isLive ? ['live', 'tally', 'live_id_seq'].map((each) => `--exclude-table-data=${each}`) : [];
  const told: Texts = {
    databases,
    settings: await ask(
      "SELECT name, setting FROM pg_settings WHERE source = 'configuration file' ORDER BY 1",
    ),
    files: await inDatabase(place, [
      'sh',
      '-c',
      'cd /var/lib/postgresql/data && cat pg_hba.conf pg_ident.conf postgresql.auto.conf postgresql.conf && ls pg_tblspc',
    ]),
    prepared: await ask('SELECT gid, database FROM pg_prepared_xacts'),
    globals: quiet(await inDatabase(place, ['pg_dumpall', '-U', 'svc', '-l', 'template1', '--globals-only'])),
  };
  for (const [name = ''] of linesOf(databases).map((line) => line.split('|'))) {
    if (name.startsWith('template')) continue;
    const dump = ['pg_dump', '-U', 'svc', '--create', ...left, '-d', name];
    told[`database ${name}`] = sortRows(quiet(await inDatabase(place, dump)));
  }
  return told;
}

/** Newer versions put a random word around a dump. */
const quiet = (dump: string) => dump.replace(/^\\(un)?restrict .*\n/gm, '');

/** A table has no order of rows. */
const sortRows = (dump: string) =>
  dump.replace(/^(COPY .*;\n)([\s\S]*?)^\\\.$/gm, (_, head: string, rows: string) => {
    return `${head}${rows.split('\n').sort().join('\n')}\n\\.`;
  });

async function lookAtMariadb(place: Place, isLive: boolean): Promise<Texts> {
  const left = isLive ? ['live', 'tally'].map((each) => `--ignore-table=svc.${each}`) : [];
  const flags =
    '--routines --triggers --events --skip-dump-date --order-by-primary --hex-blob --skip-extended-insert';
  const dump = ['mariadb-dump', '-uroot', '--force', '--all-databases', ...flags.split(' '), ...left];
  return {
    // An object that cannot be dumped, such as a view of a column that is gone, is reported among its lines.
    dump: await inDatabase(place, ['sh', '-c', '"$@" 2>&1 || echo "failed with $?"', 'sh', ...dump]),
    settings: await mariadb(place, 'SELECT @@event_scheduler, @@read_only'),
    prepared: await mariadb(place, 'XA RECOVER'),
    files: await inDatabase(place, ['sh', '-c', 'cd /var/lib/mysql && ls . svc']),
  };
}

function lookAtSqlite(place: Place, isLive: boolean): Promise<Texts> {
  return withSqlite(place, (database) => {
    const all = (sql: string) => database.prepare(sql).all();
    const names = all("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => String(name));
    const asked = names.filter((name) => !(isLive && /^(live|tally)$/.test(name)));
    const sequence = isLive ? " WHERE name <> 'live'" : '';
    const rows = asked.map((name) => [
      `table ${name}`,
      all(`SELECT * FROM "${name}"${name === 'sqlite_sequence' ? sequence : ''}`)
        .map((row) =>
          JSON.stringify(Object.values(row), (_, value) =>
            value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
          ),
        )
        .join('\n'),
    ]);
    return {
      schema: all('SELECT sql FROM sqlite_schema ORDER BY name')
        .map(({ sql }) => String(sql))
        .join('\n'),
      settings: JSON.stringify(
        ['user_version', 'journal_mode', 'page_size', 'integrity_check'].map((name) => all(`PRAGMA ${name}`)),
      ),
      ...Object.fromEntries(rows),
    };
  });
}

/** A copy with its log, because reading the file itself would change it. Repeated while the app writes. */
async function withSqlite<T>(place: Place, ask: (database: DatabaseSync) => T): Promise<T> {
  for (let tries = 0; ; tries++) {
    const directory = await mkdtemp(join(tmpdir(), 'bed-sqlite-'));
    try {
      const from = place.trees.data ?? '';
      for (const name of (await readdir(from)).filter((each) => /^svc\.db(-wal)?$/.test(each))) {
        await cp(join(from, name), join(directory, name));
      }
      const database = new DatabaseSync(join(directory, 'svc.db'));
      try {
        return ask(database);
      } finally {
        database.close();
      }
    } catch (error) {
      if (tries === 20) throw error;
    } finally {
      await rm(directory, { recursive: true });
    }
  }
}

async function lookAtRedis(place: Place, isLive: boolean): Promise<Texts> {
  // A client for each key would take minutes.
  const keys = linesOf(
    await inDatabase(place, [
      'sh',
      '-c',
      'for db in $(seq 0 15); do redis-cli -n $db --scan | sed "s/^/$db /"; done',
    ]),
  ).filter((line) => !(isLive && /^\d+ (live|tally):/.test(line)));
  const commands = keys.toSorted().map((line) => {
    const [db, ...key] = line.split(' ');
    return `SELECT ${db}\nDEBUG DIGEST-VALUE "${key.join(' ')}"\nPEXPIRETIME "${key.join(' ')}"`;
  });
  const answers = linesOf(await inDatabase(place, ['redis-cli'], `${commands.join('\n')}\n`));
  const ask = (command: string) => inDatabase(place, ['redis-cli'], command);
  return {
    keys: keys
      .toSorted()
      .map((line, at) => `${line} ${answers[at * 3 + 1]} ${answers[at * 3 + 2]}`)
      .join('\n'),
    configuration: configurationOf(await ask('CONFIG GET *')),
    file: await inDatabase(place, ['cat', '/data/redis.conf']),
    accounts: (await ask('ACL LIST')).replaceAll(' sanitize-payload', ''),
    functions: await ask('FUNCTION LIST WITHCODE'),
  };
}

/** Names and values alternate, after each start in another order. */
const configurationOf = (text: string): string =>
  text
    .split('\n')
    .flatMap((line, at, all) => (at % 2 === 0 ? [`${line} ${all[at + 1]}`] : []))
    .sort()
    .join('\n');

async function redisRows(place: Place): Promise<{ live: string[]; tally: string[] }> {
  const keys = linesOf(await askOwner(place, 'KEYS live:*'));
  const [live, tally]: [string[], string[]] = [[], []];
  for (const boot of keys.map((key) => key.replace('live:', ''))) {
    live.push(...linesOf(await askOwner(place, `LRANGE live:${boot} 0 -1`)).map((n) => `${boot} ${n}`));
    tally.push(`${boot} ${await askOwner(place, `GET tally:${boot}`)}`);
  }
  return { live, tally };
}

const slapcat = (place: Place, ...args: string[]) =>
  inDatabase(place, ['slapcat', '-o', 'ldif-wrap=no', '-F', '/var/lib/ldap/config', ...args]);

async function lookAtOpenldap(place: Place, isLive: boolean): Promise<Texts> {
  const data = await slapcat(place, '-n', '1');
  const quietEntries = data
    .split('\n\n')
    .filter((entry) => !/^dn: .*ou=live,dc=svc$/m.test(entry))
    .map((entry) => entry.replace(/^contextCSN:.*\n?/gm, ''));
  return { data: isLive ? quietEntries.join('\n\n') : data, configuration: await slapcat(place, '-n', '0') };
}

async function ldapRows(place: Place): Promise<{ live: string[]; tally: string[] }> {
  const [live, tally]: [string[], string[]] = [[], []];
  for (const entry of (await slapcat(place, '-n', '1')).split('\n\n')) {
    const boot = /^dn: cn=(\S+),ou=live/m.exec(entry)?.[1];
    if (boot === undefined) continue;
    live.push(...[...entry.matchAll(/^description: (\d+)$/gm)].map(([, n]) => `${boot} ${n}`));
    tally.push(...[...entry.matchAll(/^serialNumber: (\d+)$/gm)].map(([, n]) => `${boot} ${n}`));
  }
  return { live, tally };
}

const psql = (place: Place, database: string, sql: string) =>
  inDatabase(
    place,
    ['psql', '-U', 'svc', '-d', database, '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1'],
    sql,
  );

const mariadb = (place: Place, sql: string, schema = 'mysql') =>
  inDatabase(place, ['mariadb', '-uroot', '--batch', '--skip-column-names', schema], sql);

async function inDatabase({ project }: Place, command: readonly string[], input = ''): Promise<string> {
  const containers = await findContainers(project);
  const db = containers.find(({ Config }) => Config.Labels['com.docker.compose.service'] === 'db');
  if (db === undefined) throw new Error('there is no database');
  const secrets = ['-e', `MYSQL_PWD=${ownerPassword}`, '-e', `REDISCLI_AUTH=${appPassword}`];
  const { stdout } = await execa('docker', ['exec', '-i', ...secrets, db.Id, ...command], {
    input,
    timeout: 120_000,
    maxBuffer: 1e9,
  });
  return stdout;
}
