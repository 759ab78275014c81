import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { execa } from 'execa';
import { findContainers } from '../../rig/engine-api.ts';
import type { Place } from './look.ts';

export const ownerPassword = 'of the owner';

/** @param isLive without the tables that app and worker write into */
export function lookAtDatabase(place: Place, isLive: boolean): Promise<Record<string, string>> {
  return { postgres: lookAtPostgres, mariadb: lookAtMariadb, sqlite: lookAtSqlite }[place.database](
    place,
    isLive,
  );
}

/** What one who may do anything is told, in the database of the app. */
export const askOwner = (place: Place, sql: string): Promise<string> =>
  place.database === 'postgres' ? psql(place, 'svc', sql) : mariadb(place, sql, 'svc');

/** Names of the copies that lie beside the databases. */
export async function copies(place: Place): Promise<string[]> {
  if (place.database !== 'postgres') return [];
  const names = await psql(place, 'template1', 'SELECT datname FROM pg_database');
  return names.split('\n').filter((name) => ours.test(name));
}

/** Every row of `live` and `tally`, such as `app-v1.0.0-1a2b3c4d 17`. */
export async function liveRows(place: Place): Promise<{ live: string[]; tally: string[] }> {
  const ask = async (table: string): Promise<string[]> => {
    const sql = `SELECT concat(boot, ' ', n) FROM ${table} ORDER BY boot, n`;
    if (place.database === 'sqlite') {
      return withSqlite(place, (database) =>
        database
          .prepare(`SELECT boot, n FROM ${table} ORDER BY boot, n`)
          .all()
          .map(({ boot, n }) => `${boot} ${n}`),
      );
    }
    return (await askOwner(place, sql)).split('\n').filter((line) => line !== '');
  };
  return { live: await ask('live'), tally: await ask('tally') };
}

/** Copies that lie beside the databases are no data of the app's, and nobody may get at them. */
const ours = /^svc_(point|kept)_/;

async function lookAtPostgres(place: Place, isLive: boolean): Promise<Record<string, string>> {
  const databases = await psql(
    place,
    'template1',
    `SELECT datname, pg_get_userbyid(datdba), datacl, datconnlimit, datallowconn, datistemplate, encoding, datcollate,
       shobj_description(oid, 'pg_database'), dattablespace FROM pg_database ORDER BY datname`,
  );
  const lines = databases.split('\n');
  const told: Record<string, string> = {
    databases: lines.filter((line) => !ours.test(line)).join('\n'),
    'open copies': lines.filter((line) => ours.test(line) && line.split('|')[4] !== 'f').join('\n'),
    settings: await psql(
      place,
      'template1',
      `SELECT datname, rolname, setconfig FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase
         LEFT JOIN pg_roles r ON r.oid = setrole WHERE datname IS NULL OR datname !~ '^svc_(point|kept)_' ORDER BY 1, 2`,
    ),
    prepared: await psql(place, 'template1', 'SELECT gid, database FROM pg_prepared_xacts'),
    roles: quiet(await inDatabase(place, ['pg_dumpall', '-U', 'svc', '-l', 'template1', '--roles-only'])),
  };
  const names = lines
    .map((line) => line.split('|')[0] ?? '')
    .filter((name) => !ours.test(name) && !/^template/.test(name));
  const left = isLive ? ['live', 'tally', 'live_id_seq'].map((each) => `--exclude-table-data=${each}`) : [];
  for (const name of names) {
    const dump = await inDatabase(place, ['pg_dump', '-U', 'svc', '--create', ...left, '-d', name]);
    told[`database ${name}`] = sortRows(quiet(dump));
  }
  return told;
}

/** Newer ones put a word made by chance around a dump. */
const quiet = (dump: string) => dump.replace(/^\\(un)?restrict .*\n/gm, '');

/** Where in its table a row lies is no promise. */
const sortRows = (dump: string) =>
  dump.replace(/^(COPY .*;\n)([\s\S]*?)^\\\.$/gm, (_, head: string, rows: string) => {
    return `${head}${rows.split('\n').sort().join('\n')}\n\\.`;
  });

async function lookAtMariadb(place: Place, isLive: boolean): Promise<Record<string, string>> {
  const systems = "'mysql', 'information_schema', 'performance_schema', 'sys'";
  const schemas = await mariadb(
    place,
    `SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME, SCHEMA_COMMENT
       FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN (${systems}) ORDER BY 1`,
  );
  const accounts = (await mariadb(place, 'SELECT User, Host, is_role FROM mysql.user ORDER BY 1, 2')).split(
    '\n',
  );
  const grants = accounts.map((line) => {
    const [user = '', host = '', isRole] = line.split('\t').map((each) => each.replaceAll("'", "''"));
    return `SHOW GRANTS FOR '${user}'${isRole === 'Y' ? '' : `@'${host}'`}`;
  });
  const tables = await mariadb(
    place,
    `SELECT concat(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES
       WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN (${systems}) ORDER BY 1`,
  );
  const asked = tables.split('\n').filter((name) => !(isLive && isLiveTable.test(name)));
  const names = schemas.split('\n').map((line) => line.split('\t')[0] ?? '');
  const left = isLive ? ['live', 'tally'].map((each) => `--ignore-table=svc.${each}`) : [];
  const dump = await inDatabase(place, [
    // What cannot be dumped, such as a view of a column that is gone, is told among its lines.
    ...['sh', '-c', '"$@" 2>&1 || echo "ended with $?"', 'sh', 'mariadb-dump', '--force'],
    ...[
      '-uroot',
      '--routines',
      '--triggers',
      '--events',
      '--skip-dump-date',
      '--order-by-primary',
      '--hex-blob',
    ],
    ...['--skip-extended-insert', ...left, '--databases', ...names],
  ]);
  return {
    schemas,
    accounts: await mariadb(place, 'SELECT Host, User, Priv FROM mysql.global_priv ORDER BY 1, 2'),
    grants: sortColumns(await mariadb(place, grants.join(';\n'))),
    roles: await mariadb(place, 'SELECT * FROM mysql.roles_mapping ORDER BY 1, 2, 3'),
    settings: await mariadb(place, 'SELECT @@event_scheduler, @@read_only'),
    prepared: await mariadb(place, 'XA RECOVER'),
    checksums: await mariadb(
      place,
      `CHECKSUM TABLE ${asked.map((name) => `\`${name.replace('.', '`.`')}\``).join(', ')} EXTENDED`,
    ),
    dump,
  };
}

/** The server has no order of them. */
const sortColumns = (grants: string) =>
  grants.replace(/\(([^)]+)\)/g, (_, columns: string) => `(${columns.split(', ').sort().join(', ')})`);

const isLiveTable = /^svc\.(live|tally)$/;

function lookAtSqlite(place: Place, isLive: boolean): Promise<Record<string, string>> {
  return withSqlite(place, (database) => {
    const all = (sql: string) => database.prepare(sql).all();
    const names = all("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => String(name));
    const asked = names.filter((name) => !(isLive && /^(live|tally)$/.test(name)));
    const sequence = isLive ? " WHERE name <> 'live'" : '';
    const rows = asked.map((name) => [
      `table ${name}`,
      all(`SELECT * FROM "${name}"${name === 'sqlite_sequence' ? sequence : ''}`)
        .map((row) =>
          JSON.stringify(
            Object.values(row).map((value) =>
              value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
            ),
          ),
        )
        .join('\n'),
    ]);
    return {
      schema: all('SELECT sql FROM sqlite_schema ORDER BY name')
        .map(({ sql }) => String(sql))
        .join('\n'),
      settings: JSON.stringify(
        ['user_version', 'journal_mode', 'integrity_check'].map((name) => all(`PRAGMA ${name}`)),
      ),
      ...Object.fromEntries(rows),
    };
  });
}

/** A copy with its log, because looking at the file itself would change what lies beside it. Taken again while somebody writes. */
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
  const { stdout } = await execa(
    'docker',
    ['exec', '-i', '-e', `MYSQL_PWD=${ownerPassword}`, db.Id, ...command],
    {
      input,
      timeout: 120_000,
      maxBuffer: 1e9,
    },
  );
  return stdout;
}
