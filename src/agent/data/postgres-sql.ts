// What the server is asked and told, as text; it is spoken to elsewhere.

/** A name, whatever is in it. */
export const identifier = (name: string): string => `"${whole(name).replaceAll('"', '""')}"`;

/** A text, whatever is in it; every session has `standard_conforming_strings` on. */
export const literal = (text: string): string => `'${whole(text).replaceAll("'", "''")}'`;

const json = (value: unknown): string => `${literal(JSON.stringify(value))}::jsonb`;

function whole(text: string): string {
  if (text.includes('\0')) throw new Error('a name with a byte 0 in it');
  return text;
}

/** The names of databases that are ours: what is kept, what was put aside, what is looked at while it is closed. */
export const ownNames = /^svc_(?:point|kept|look)_[a-z0-9_]+$/;

/**
 * On a database that we have closed: who opens again needs to know no more, and it goes where the database goes, whatever it is
 * called.
 */
const mark = 'svc_updater.closed';
/** What it is called else, on one that is looked at while it is closed. */
const realName = 'svc_updater.name';
const isMarked = `EXISTS (SELECT FROM pg_db_role_setting s WHERE s.setdatabase = d.oid AND s.setrole = 0
  AND '${mark}=on' = ANY (s.setconfig))`;

export interface FoundDatabase {
  name: string;
  bytes: number;
  isOpen: boolean;
  isMarked: boolean;
  /** Of connections; -1 for none. */
  limit: number;
  /** What it says of the limit and the name that it is to get back: its owner may have said that. */
  real: string | null;
}

export interface ServerFacts {
  major: number;
  isSuperuser: boolean;
  isStandby: boolean;
  slots: number;
  subscriptions: number;
  prepared: readonly { id: string; database: string }[];
  directory: string;
  /** All but templates. */
  databases: readonly FoundDatabase[];
}

export const factsSql = `SELECT jsonb_build_object(
  'major', current_setting('server_version_num')::int / 10000,
  'isSuperuser', (SELECT rolsuper FROM pg_roles WHERE rolname = session_user),
  'isStandby', pg_is_in_recovery(),
  'slots', (SELECT count(*) FROM pg_replication_slots),
  'subscriptions', (SELECT count(*) FROM pg_subscription),
  'prepared', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', gid, 'database', database)), '[]') FROM pg_prepared_xacts),
  'directory', current_setting('data_directory'),
  'databases', (SELECT coalesce(jsonb_agg(jsonb_build_object('name', datname, 'bytes', pg_database_size(d.oid),
      'isOpen', datallowconn, 'isMarked', ${isMarked}, 'limit', datconnlimit, 'real', (SELECT substr(c, ${realName.length + 2})
        FROM pg_db_role_setting s, unnest(s.setconfig) c
        WHERE s.setdatabase = d.oid AND s.setrole = 0 AND c LIKE '${realName}=%')) ORDER BY datname COLLATE "C"), '[]')
    FROM pg_database d WHERE NOT datistemplate));`;

const transaction = (statements: readonly string[]): string =>
  ['BEGIN', ...statements, 'COMMIT'].map(end).join('\n');
const end = (statement: string): string => `${statement};`;

export const closeSql = (names: readonly string[]): string =>
  transaction(
    names.flatMap((name) => [
      `ALTER DATABASE ${identifier(name)} SET ${mark} = 'on'`,
      `ALTER DATABASE ${identifier(name)} ALLOW_CONNECTIONS false`,
    ]),
  );

export const openSql = (names: readonly string[]): string =>
  transaction(
    names.flatMap((name) => [
      `ALTER DATABASE ${identifier(name)} ALLOW_CONNECTIONS true`,
      `ALTER DATABASE ${identifier(name)} RESET ${mark}`,
    ]),
  );

export const allowSql = (name: string, isAllowed: boolean): string =>
  `ALTER DATABASE ${identifier(name)} ALLOW_CONNECTIONS ${isAllowed};`;

/** For superusers alone, while we look into it: anybody can read in the catalogs what it is called. */
const limited = 'CONNECTION LIMIT 0';

/** Takes a closed database away from the name that others know, to look into it. */
export const hideSql = (name: string, hidden: string, limit: number): string =>
  transaction([
    `ALTER DATABASE ${identifier(name)} SET ${realName} = ${literal(`${limit}:${name}`)}`,
    `ALTER DATABASE ${identifier(name)} RENAME TO ${identifier(hidden)}`,
    `ALTER DATABASE ${identifier(hidden)} ${limited} ALLOW_CONNECTIONS true`,
  ]);

export const unhideSql = (hidden: string, name: string, limit: number): string =>
  transaction([
    `ALTER DATABASE ${identifier(hidden)} CONNECTION LIMIT ${Number(limit)} ALLOW_CONNECTIONS false`,
    `ALTER DATABASE ${identifier(hidden)} RENAME TO ${identifier(name)}`,
    `ALTER DATABASE ${identifier(name)} RESET ${realName}`,
  ]);

export const dropSql = (name: string): string => `DROP DATABASE IF EXISTS ${identifier(name)};`;

const names = (list: readonly string[]): string => `ARRAY[${list.map(literal).join(', ')}]::text[]`;
const others = (list: readonly string[]): string =>
  `pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = ANY (${names(list)})`;

export interface Client {
  user: string;
  application: string;
  address: string;
  database: string;
}

/** Who is in those databases besides us. */
export const clientsSql = (list: readonly string[]): string =>
  `SELECT jsonb_build_object('user', coalesce(usename, ''), 'application', coalesce(application_name, ''),
    'address', coalesce(host(client_addr), 'its own container'), 'database', datname) FROM ${others(list)};`;

export const endClientsSql = (list: readonly string[]): string =>
  `SELECT to_jsonb(pg_terminate_backend(pid)) FROM ${others(list)};`;

/**
 * A copy of the files, which is quick and synced by the server; older ones know no other way. It is owned by us: what refers to
 * a role would keep the new version from dropping that.
 */
export const copySql = (from: string, to: string, major: number): string =>
  `CREATE DATABASE ${identifier(to)} TEMPLATE ${identifier(from)}${major >= 15 ? ' STRATEGY file_copy' : ''} ${limited};
DELETE FROM pg_shdepend WHERE dbid = ${oidOf(to)};`;

const oidOf = (name: string): string => `(SELECT oid FROM pg_database WHERE datname = ${literal(name)})`;

type Row = Readonly<Record<string, unknown>>;

/** Folders that a server has left which was killed while it copied. */
export const orphansSql = `SELECT to_jsonb('base/' || f) FROM pg_ls_dir('base') f
  WHERE f ~ '^[0-9]+$' AND f::oid NOT IN (SELECT oid FROM pg_database);`;

/** What belongs to a database, and is not in it. Rows are as in the catalog of their name. */
export interface DatabaseState {
  owner: string;
  limit: number;
  acl: readonly string[] | null;
  comment: string | null;
  /** pg_db_role_setting */
  settings: readonly Row[];
  /** pg_shdepend: on roles, of its own privileges, and of all that is in it. */
  depends: readonly Row[];
  made: {
    encoding: string;
    collate: string;
    ctype: string;
    tablespace: string;
    provider: string;
    locale: string | null;
  };
}

/** What is no database's own. */
export interface ServerState {
  /** pg_authid */
  roles: readonly Row[];
  /** pg_auth_members, and pg_shdepend of those */
  members: readonly Row[];
  depends: readonly Row[];
  /** pg_db_role_setting of no database */
  settings: readonly Row[];
  /** pg_shdescription */
  comments: readonly Row[];
  databases: Readonly<Record<string, DatabaseState>>;
}

const rows = (from: string): string => `(SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM ${from})`;

/** All that a copy or a dump leaves out, as one value. */
export const stateSql = (list: readonly string[]): string => `SELECT jsonb_build_object(
  'roles', ${rows("pg_authid t WHERE rolname !~ '^pg_'")},
  'members', ${rows('pg_auth_members t')},
  'depends', ${rows("pg_shdepend t WHERE dbid = 0 AND classid = 'pg_auth_members'::regclass")},
  'settings', ${rows('pg_db_role_setting t WHERE setdatabase = 0')},
  'comments', ${rows("pg_shdescription t WHERE classoid = 'pg_authid'::regclass")},
  'databases', (SELECT coalesce(jsonb_object_agg(datname, jsonb_build_object(
    'owner', pg_get_userbyid(datdba), 'limit', datconnlimit, 'acl', to_jsonb(datacl),
    'comment', shobj_description(d.oid, 'pg_database'),
    'settings', ${rows(`(SELECT setrole, kept.setconfig FROM pg_db_role_setting s, LATERAL (SELECT array_agg(c) AS setconfig
      FROM unnest(s.setconfig) c WHERE c NOT LIKE 'svc_updater.%') kept
      WHERE s.setdatabase = d.oid AND kept.setconfig IS NOT NULL) t`)},
    'depends', ${rows("pg_shdepend t WHERE dbid = d.oid OR (dbid = 0 AND classid = 'pg_database'::regclass AND objid = d.oid AND deptype = 'a')")},
    'made', jsonb_build_object('encoding', pg_encoding_to_char(encoding), 'collate', datcollate, 'ctype', datctype,
      'tablespace', (SELECT spcname FROM pg_tablespace s WHERE s.oid = dattablespace),
      'provider', coalesce(to_jsonb(d)->>'datlocprovider', 'c'),
      'locale', coalesce(to_jsonb(d)->>'datlocale', to_jsonb(d)->>'daticulocale')))), '{}')
    FROM pg_database d WHERE datname = ANY (${names(list)})));`;

/** An empty database that a dump fits into. */
export function createSql(name: string, { made }: DatabaseState): string {
  const provider = { i: 'icu', b: 'builtin' }[made.provider];
  const key = made.provider === 'b' ? 'BUILTIN_LOCALE' : 'ICU_LOCALE';
  const locale = provider && made.locale ? ` LOCALE_PROVIDER ${provider} ${key} ${literal(made.locale)}` : '';
  return `CREATE DATABASE ${identifier(name)} TEMPLATE template0 ENCODING ${literal(made.encoding)}
  LC_COLLATE ${literal(made.collate)} LC_CTYPE ${literal(made.ctype)}${locale} TABLESPACE ${identifier(made.tablespace)} ${limited};`;
}

interface Renamed {
  /** What the app calls it. */
  name: string;
  /** What we call it. */
  copy: string;
}

/** Takes the present away from the app's names. What it has to do with roles is kept in its state, so that those can go. */
export const asideSql = ({ name, copy }: Renamed): string[] => [
  `ALTER DATABASE ${identifier(name)} OWNER TO CURRENT_USER`,
  `ALTER DATABASE ${identifier(name)} ${limited}`,
  `UPDATE pg_database SET datacl = NULL WHERE datname = ${literal(name)}`,
  `DELETE FROM pg_shdepend WHERE dbid = ${oidOf(name)}
    OR (dbid = 0 AND classid = 'pg_database'::regclass AND objid = ${oidOf(name)} AND deptype = 'a')`,
  `DELETE FROM pg_db_role_setting WHERE setdatabase = ${oidOf(name)}`,
  `ALTER DATABASE ${identifier(name)} RENAME TO ${identifier(copy)}`,
];

/** Gives the kept one its name, and what belongs to it. A dump has brought what it depends on inside. */
export function backSql({ name, copy }: Renamed, state: DatabaseState, isDump: boolean): string[] {
  const { owner, limit, acl, comment, settings, depends } = state;
  return [
    `ALTER DATABASE ${identifier(copy)} RENAME TO ${identifier(name)}`,
    `ALTER DATABASE ${identifier(name)} OWNER TO ${identifier(owner)}`,
    `ALTER DATABASE ${identifier(name)} CONNECTION LIMIT ${Number(limit)}`,
    `UPDATE pg_database SET datacl = a.acl FROM jsonb_to_record(${json({ acl })}) a(acl aclitem[]) WHERE datname = ${literal(name)}`,
    `COMMENT ON DATABASE ${identifier(name)} IS ${comment === null ? 'NULL' : literal(comment)}`,
    `DELETE FROM pg_shdepend WHERE ${isDump ? 'false' : `dbid = ${oidOf(name)}`}`,
    `INSERT INTO pg_shdepend SELECT CASE WHEN dbid = 0 THEN 0 ELSE ${oidOf(name)} END, classid,
      CASE WHEN dbid = 0 THEN ${oidOf(name)} ELSE objid END, objsubid, refclassid, refobjid, deptype
      FROM ${populated('pg_shdepend', depends)} WHERE dbid = 0 OR ${!isDump}`,
    `INSERT INTO pg_db_role_setting SELECT ${oidOf(name)}, setrole, setconfig FROM ${populated('pg_db_role_setting', settings)}`,
    `ALTER DATABASE ${identifier(name)} SET ${mark} = 'on'`,
    `ALTER DATABASE ${identifier(name)} ALLOW_CONNECTIONS false`,
  ];
}

const populated = (catalog: string, list: readonly Row[]): string =>
  `jsonb_populate_recordset(NULL::${catalog}, ${json(list)})`;

const attributes =
  'rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit, rolpassword, rolvaliduntil';

/**
 * Roles as they were. Written into the catalogs: a role that was dropped comes back under its number, which all that it owned in
 * a copy says, and a password only as its hash. One that is new, and owns something that stays, stays without a login.
 */
export const rolesSql = ({ roles, members, depends, settings, comments }: ServerState): string[] => {
  const then = populated('pg_authid', roles);
  return [
    'DELETE FROM pg_auth_members',
    `DELETE FROM pg_shdepend WHERE dbid = 0 AND classid = 'pg_auth_members'::regclass`,
    `DELETE FROM pg_db_role_setting WHERE setdatabase = 0`,
    `DO $do$ DECLARE r record; BEGIN
      FOR r IN SELECT oid, rolname FROM pg_authid WHERE rolname !~ '^pg_'
        AND oid NOT IN (SELECT oid FROM ${then.replaceAll('$do$', '$do\\u0024')}) LOOP
        BEGIN EXECUTE format('DROP ROLE %I', r.rolname);
        EXCEPTION WHEN dependent_objects_still_exist THEN
          UPDATE pg_authid SET rolname = 'svc_new_' || r.oid, rolcanlogin = false, rolsuper = false WHERE oid = r.oid;
        END;
      END LOOP;
    END $do$`,
    `UPDATE pg_authid a SET rolname = 'svc_was_' || a.oid FROM ${then} t WHERE a.oid = t.oid AND a.rolname <> t.rolname`,
    `UPDATE pg_authid a SET (${attributes}) = (${attributes.replaceAll(/\brol/g, 't.rol')}) FROM ${then} t WHERE a.oid = t.oid`,
    `INSERT INTO pg_authid (oid, ${attributes}) SELECT oid, ${attributes} FROM ${then} t WHERE oid NOT IN (SELECT oid FROM pg_authid)`,
    `INSERT INTO pg_auth_members SELECT * FROM ${populated('pg_auth_members', members)}`,
    `INSERT INTO pg_shdepend SELECT * FROM ${populated('pg_shdepend', depends)}`,
    `INSERT INTO pg_db_role_setting SELECT * FROM ${populated('pg_db_role_setting', settings)}`,
    `DELETE FROM pg_shdescription WHERE classoid = 'pg_authid'::regclass`,
    `INSERT INTO pg_shdescription SELECT * FROM ${populated('pg_shdescription', comments)}`,
  ];
};

export { transaction as transactionSql };

/** Rows, and their sum: the same for the same rows in whatever order. By `"schema".table`. */
export type TableSums = Readonly<Record<string, readonly [count: string, sum: string]>>;

/** What tells in a copy that everything besides rows is as it was; without what roles and vacuuming change. */
const catalogs = [
  'attrdef',
  'constraint',
  'enum',
  'extension',
  'largeobject_metadata',
  'namespace',
  'policy',
].concat(['proc', 'rewrite', 'trigger']);

const sumOf = (text: string): string =>
  `count(*)::text, coalesce(sum(hashtextextended(${text}, 0)::numeric), 0)::text`;

/**
 * Sums of all tables of a database, one line each: `["public.orders", "214", "-13"]`. What a crash empties is left out, and what
 * is no row of this server. A dump makes materialized views anew, and deparses what is in catalogs: those are held against each
 * other in copies alone.
 *
 * To plan a query is enough to call the functions of a table's indexes and statistics, and a cast of its rows calls one, too.
 * They are somebody's who must not do what a superuser may: all that reads tables is in one function of a role that reads and
 * no more, in which nobody can become another one. Nothing but its end follows it, with which that role was never there.
 */
export const sumsSql = (isCopy: boolean): string => `
${isCopy ? catalogs.map(catalogSum).join('\n') : ''}
BEGIN;
CREATE ROLE ${reader} BYPASSRLS;
GRANT pg_read_all_data TO ${reader};
CREATE FUNCTION pg_temp.svc_sums() RETURNS SETOF jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $do$
DECLARE t record; BEGIN
  FOR t IN SELECT nspname, relname, relkind, quote_ident(nspname) || '.' || quote_ident(relname) AS key
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind IN ('r', 'S'${isCopy ? ", 'm'" : ''}) AND relpersistence = 'p' AND relispopulated
      AND (nspname !~ '^pg_' AND nspname <> 'information_schema' OR c.oid = 'pg_largeobject'::regclass) LOOP
    RETURN QUERY EXECUTE CASE t.relkind
      WHEN 'S' THEN format('SELECT jsonb_build_array(%L, last_value::text, is_called::text) FROM %I.%I', 'sequence ' || t.key, t.nspname, t.relname)
      ELSE format('SELECT jsonb_build_array(%L, ${sumOf('concat(svc_row.*)')}) FROM ONLY %I.%I svc_row',
        CASE t.relkind WHEN 'm' THEN 'view ' ELSE '' END || t.key, t.nspname, t.relname) END;
    -- What was called may have set that.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  END LOOP;
END $do$;
ALTER FUNCTION pg_temp.svc_sums() OWNER TO ${reader};
SELECT pg_temp.svc_sums();
ROLLBACK;`;

/** For the time of a transaction that is rolled back. */
const reader = 'svc_updater_reader';

/**
 * Functions of who is no superuser that run while a dump is loaded, by whoever loads it: of checks, generated columns, domains,
 * indexes and what else a table is made with.
 */
export const loadedFunctionsSql = `SELECT to_jsonb(p.oid::regprocedure::text || ' of ' || rolname)
  FROM pg_proc p JOIN pg_roles r ON r.oid = proowner
  WHERE NOT rolsuper AND EXISTS (SELECT FROM pg_depend d WHERE refclassid = 'pg_proc'::regclass AND refobjid = p.oid
    AND classid NOT IN ('pg_proc'::regclass, 'pg_trigger'::regclass, 'pg_rewrite'::regclass, 'pg_policy'::regclass))
  ORDER BY 1;`;

const catalogSum = (name: string): string =>
  `SELECT jsonb_build_array('catalog ${name}', ${sumOf(`(to_jsonb(t) - '{proacl,nspacl,lomacl}'::text[])::text`)}) FROM pg_${name} t;`;

export const readSums = (lines: readonly unknown[]): TableSums =>
  Object.fromEntries(
    (lines as [string, string, string][]).map(([key, count, sum]) => [key, [count, sum] as const]),
  );
