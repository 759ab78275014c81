import { counted } from '../log/wording.ts';
import type { Tally } from './table-difference.ts';

/** What MariaDB and MySQL are told, and how their answers are read. It asks nobody. */

export type Flavor = 'mariadb' | 'mysql';

/** A table by its names, as one text that no two tables share. */
export type TableName = string;
export const tableName = (schema: string, table: string): TableName => `${quoted(schema)}.${quoted(table)}`;

export const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

/** The rows of an answer in batch form, which writes what would break a row with a backslash. */
export const rowsOf = (answer: string): string[][] =>
  answer
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t').map((cell) => cell.replaceAll(/\\(.)/g, (_, it) => escapes[it] ?? it)));
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', '0': '\0' };

/** `10.11` of `10.11.18-MariaDB-0+deb12u1`: what a dump is put back into. */
export const majorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

/** `#mysql50#lost+found` is a directory of the disk and no schema. */
export const ofUsers = (column: string): string =>
  `${column} NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') AND ${column} NOT LIKE '#mysql50#%'`;

export const listSchemas = `SELECT schema_name FROM information_schema.schemata WHERE ${ofUsers('schema_name')} ORDER BY 1;`;
export const listTables = `SELECT table_schema, table_name FROM information_schema.tables
  WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND ${ofUsers('table_schema')} ORDER BY 1, 2;`;
/** Views that read what is not there any more, which are known by their lack of columns: a dump ends at one. */
export const listBrokenViews = `SELECT table_schema, table_name FROM information_schema.views WHERE ${ofUsers('table_schema')}
  AND (table_schema, table_name) NOT IN (SELECT table_schema, table_name FROM information_schema.columns) ORDER BY 1, 2;`;
/** In whose name views are read, and who are no accounts any more: no view over such a view can be made. */
export const listLostDefiners = `SELECT DISTINCT definer FROM information_schema.views WHERE ${ofUsers('table_schema')}
  AND definer NOT IN (SELECT CONCAT(User, '@', Host) FROM mysql.user) ORDER BY 1;`;
export const inventDefiners = (definers: readonly string[]): string =>
  definers
    .map((definer) => {
      const at = definer.lastIndexOf('@');
      const name = `${literal(definer.slice(0, at))}@${literal(definer.slice(at + 1))}`;
      return `CREATE USER ${name} ACCOUNT LOCK; GRANT ALL ON *.* TO ${name};`;
    })
    .join('\n');
/** With the empty mode, in which a backslash is one of the quote's own. */
const literal = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;

export const tallyOf = (table: TableName): string =>
  `SELECT COUNT(*) FROM ${table}; CHECKSUM TABLE ${table} EXTENDED;`;

/** What a look at a server has found. */
export interface Facts {
  flavor: Flavor;
  version: string;
  schemas: number;
  tables: number;
  bytes: number;
  /** Tables of engines without transactions, those that keep their history, and columns that a dump rounds. */
  plain: number;
  versioned: number;
  floats: number;
  /** Replicas of it and masters that it follows, nodes of a cluster. */
  replication: boolean;
  prepared: number;
  brokenViews: readonly string[];
}

export const factsAsked = `SELECT COUNT(*) FROM information_schema.schemata WHERE ${ofUsers('schema_name')};
SELECT COUNT(*), COALESCE(SUM(data_length + index_length), 0), COALESCE(SUM(engine <> 'InnoDB'), 0),
  COALESCE(SUM(table_type = 'SYSTEM VERSIONED'), 0)
  FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND ${ofUsers('table_schema')};
SELECT COUNT(*) FROM information_schema.columns WHERE data_type = 'float' AND ${ofUsers('table_schema')};
SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%';`;
/** Each row of an answer is one. */
export const mastersOf = (flavor: Flavor): string =>
  `SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_connected' AND Value = 'ON';
${flavor === 'mariadb' ? 'SHOW ALL SLAVES STATUS;' : 'SELECT * FROM performance_schema.replication_connection_configuration;'}`;

const isAtLeast = (version: string, least: readonly number[]): boolean => {
  const parts = (/^[\d.]+/.exec(version)?.[0] ?? '').split('.').map(Number);
  const at = least.findIndex((number, place) => number !== (parts[place] ?? 0));
  return at < 0 || (parts[at] ?? 0) > (least[at] ?? 0);
};
const dumpsHistory = (version: string): boolean => isAtLeast(version, [10, 11]);

/** Why it cannot be kept, a sentence each. */
export function refusalsOf(service: string, facts: Facts): string[] {
  const { flavor, version, versioned, prepared } = facts;
  const least = flavor === 'mariadb' ? [10, 4] : [8, 0, 21];
  return [
    !isAtLeast(version, least) &&
      `${service} is ${flavor} ${version}, where accounts cannot be closed for the time: ${least.join('.')} is the first that can`,
    facts.schemas === 0 && `${service} has no database yet: there is nothing to be kept`,
    facts.replication &&
      `${service} replicates, or is replicated: what is put back would reach the others, too`,
    versioned > 0 &&
      !dumpsHistory(version) &&
      `${service} has ${versioned} tables with their history, which no dump of ${flavor} ${version} has: 10.11 is the first`,
    ...facts.brokenViews.map(
      (view) =>
        `${service} has a view that reads what is not there: ${view} would be lost; mend it or drop it`,
    ),
    prepared > 0 && `${service} has ${prepared} prepared transactions (XA RECOVER), which nobody has ended`,
  ].filter((each) => each !== false);
}

/** For people, what is kept. */
export function wordsOf(service: string, facts: Facts, seconds: number): string {
  const { flavor, version, schemas, bytes, plain, floats } = facts;
  const parts = [
    `${flavor} ${majorOf(version)}`,
    counted(schemas, 'database'),
    `${Math.ceil(bytes / 1_000_000)} MB`,
    `dumped; putting them back takes about ${seconds} s`,
    ...(plain > 0 ? [`${counted(plain, 'Aria or MyISAM table')}, kept while nobody writes`] : []),
    ...(floats > 0 ? [`${counted(floats, 'FLOAT column')}, kept to 6 digits`] : []),
  ];
  return `${service} (${parts.join(', ')})`;
}

/** Where accounts and what they may do are written, by any version. The first one that is there has the locks. */
const privilegeTables =
  'global_priv user db tables_priv columns_priv procs_priv proxies_priv roles_mapping role_edges default_roles global_grants password_history'.split(
    ' ',
  );
export const listPrivilegeTables = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'mysql'
  AND table_type = 'BASE TABLE' AND table_name IN ('${privilegeTables.join("', '")}') ORDER BY 1;`;

const isOurs = "User = 'root' AND Host = 'localhost'";
const withOurs = ['global_priv', 'user', 'global_grants'];
/** Our own account stays throughout: without it nobody could repeat what a kill has cut. */
export const emptyPrivileges = (tables: readonly string[]): string =>
  tables
    .map((table) => `DELETE FROM mysql.${table}${withOurs.includes(table) ? ` WHERE NOT (${isOurs})` : ''};`)
    .join('\n');

/** The public image's account for its health check, which may read and write nothing. */
const isHealthCheck = "User = 'healthcheck' AND Host IN ('localhost', '127.0.0.1', '::1')";

const lockMariadb = `UPDATE mysql.global_priv
  SET Priv = JSON_COMPACT(JSON_SET(Priv, '$.account_locked', true, '$.svc_updater', @@GLOBAL.event_scheduler))
  WHERE NOT (${isOurs}) AND NOT (${isHealthCheck}) AND JSON_VALUE(Priv, '$.is_role') IS NULL
    AND COALESCE(JSON_VALUE(Priv, '$.account_locked'), 0) IN (0, 'false');
FLUSH PRIVILEGES;`;
const unlockMariadb = `UPDATE mysql.global_priv SET Priv = JSON_COMPACT(JSON_REMOVE(Priv, '$.account_locked', '$.svc_updater'))
  WHERE JSON_EXISTS(Priv, '$.svc_updater');
FLUSH PRIVILEGES;`;

const account = "QUOTE(User), '@', QUOTE(Host)";
const lockMysql = `SELECT CONCAT('ALTER USER ', ${account}, ' ACCOUNT LOCK ATTRIBUTE ',
    QUOTE(JSON_OBJECT('svc_updater', @@GLOBAL.event_scheduler)), ';')
  FROM mysql.user WHERE NOT (${isOurs}) AND NOT (${isHealthCheck}) AND account_locked = 'N';`;
const unlockMysql = `SELECT CONCAT('ALTER USER ', ${account}, ' ACCOUNT UNLOCK ATTRIBUTE ', QUOTE('{"svc_updater": null}'), ';')
  FROM mysql.user WHERE JSON_CONTAINS_PATH(User_attributes, 'one', '$.metadata.svc_updater');`;

/**
 * The lock carries a mark of ours in the same row, with what the event scheduler was: whatever a kill leaves, `open` finds
 * there who was let in before, and a dump of closed accounts brings closed accounts back.
 * @returns what does it, or for MySQL what gives the statements that do
 */
export const lock = (flavor: Flavor): string => (flavor === 'mariadb' ? lockMariadb : lockMysql);
export const unlock = (flavor: Flavor): string => (flavor === 'mariadb' ? unlockMariadb : unlockMysql);
/** What the scheduler was when accounts were locked, one row for each value. */
export const schedulerBefore = (flavor: Flavor): string =>
  flavor === 'mariadb'
    ? "SELECT DISTINCT JSON_VALUE(Priv, '$.svc_updater') FROM mysql.global_priv WHERE JSON_EXISTS(Priv, '$.svc_updater');"
    : `SELECT DISTINCT User_attributes->>'$.metadata.svc_updater' FROM mysql.user
        WHERE JSON_CONTAINS_PATH(User_attributes, 'one', '$.metadata.svc_updater');`;

/** A session of somebody else, and how a person knows it: `svc from 172.18.0.3, in svc`. */
export interface Session {
  id: string;
  words: string;
}

/** @param rows our own id, then the answer to `SHOW PROCESSLIST` */
export const othersIn = ([own, ...rows]: readonly (readonly string[])[]): Session[] =>
  rows
    .filter(([id, user, , , command]) => id !== own?.[0] && !isServers(user) && command !== 'Daemon')
    .map(([id = '', user = '', host = '', schema = 'NULL']) => ({
      id,
      words: `${user} from ${host.replace(/:\d+$/, '')}${schema === 'NULL' ? '' : `, in ${schema}`}`,
    }));
const isServers = (user = ''): boolean => ['system user', 'event_scheduler', 'healthcheck'].includes(user);

/** @param rows of `XA RECOVER FORMAT='SQL'` or `XA RECOVER CONVERT XID`: format, two lengths, and the two parts */
export const rollBackPrepared = (flavor: Flavor, rows: readonly (readonly string[])[]): string[] =>
  rows.map(([format = '', first = '', , data = '']) => {
    if (flavor === 'mariadb') return `XA ROLLBACK ${data};`;
    const hex = data.slice(2);
    const at = 2 * Number(first);
    return `XA ROLLBACK X'${hex.slice(0, at)}',X'${hex.slice(at)}',${format};`;
  });

/** What of a dump's program is the same in every version, and makes the same bytes of the same data. */
const dumpFlags =
  '--single-transaction --quick --hex-blob --order-by-primary --skip-dump-date --tz-utc --default-character-set=utf8mb4 --max-allowed-packet=1G'.split(
    ' ',
  );
const flagsOf = (flavor: Flavor): string[] =>
  flavor === 'mysql' ? [...dumpFlags, '--set-gtid-purged=OFF', '--no-tablespaces'] : dumpFlags;

export const dumpOfSchemas = (
  flavor: Flavor,
  version: string,
  schemas: readonly string[],
  brokenViews: readonly string[],
): string[] => [
  ...flagsOf(flavor),
  ...['--routines', '--events', '--triggers'],
  ...(flavor === 'mariadb' && dumpsHistory(version) ? ['--dump-history'] : []),
  ...brokenViews.map((view) => `--ignore-table=${view}`),
  ...['--databases', '--', ...schemas],
];
export const dumpOfPrivileges = (flavor: Flavor, tables: readonly string[]): string[] => [
  ...flagsOf(flavor),
  ...['--no-create-info', '--skip-triggers', '--skip-add-locks', '--complete-insert', '--replace'],
  ...['--', 'mysql', ...tables],
];

/** The tallies of a server's tables by how people call them; `prefix` tells servers apart. */
export const tellTables = (tables: Readonly<Record<TableName, Tally>>, prefix = ''): Record<string, Tally> =>
  Object.fromEntries(Object.entries(tables).map(([name, tally]) => [prefix + spoken(name), tally]));

const spoken = (table: TableName): string =>
  table.replaceAll(/`((?:[^`]|``)*)`/g, '$1').replaceAll('``', '`');
