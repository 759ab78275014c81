import { setTimeout as sleep } from 'node:timers/promises';
import type { DataWork } from './kind.ts';
import { Database } from './mariadb-client.ts';
import * as say from './mariadb-statements.ts';
import type { Tally } from './table-difference.ts';

/** The database of one service. */
export interface Source {
  service: string;
  flavor: say.Flavor;
  /** `10.11.18-MariaDB` */
  version: string;
  /** Bytes of one statement that the server takes. */
  packet: number;
}

/** Its data, and who may do what with them. */
export interface DumpFiles {
  schemas: string;
  accounts: string;
}

/** What sessions that are ended may take: what they have not committed is rolled back first. */
const endMs = 300_000;
/** A row that is written out may be twice as long as the server takes in one statement: this is the most that there is. */
const longestPacket = 2 ** 30;

/** A look at one database; why it cannot be had, where it cannot. */
export async function look(
  service: string,
  work: DataWork,
): Promise<{ source: Source; facts: say.Facts } | string> {
  const found = await Database.look(service, work);
  if (typeof found === 'string') return found;
  const source = { service, ...(await identityOf(found)) };
  const [schemas, tables, floats, replicas] = await found.ask(say.factsAsked);
  const masters = await found.ask(say.mastersOf(source.flavor));
  const number = (row: readonly string[] | undefined, at = 0) => Number(row?.[at] ?? 0);
  const facts: say.Facts = {
    flavor: source.flavor,
    version: source.version,
    schemas: number(schemas),
    tables: number(tables),
    bytes: number(tables, 1),
    plain: number(tables, 2),
    versioned: number(tables, 3),
    floats: number(floats),
    replication: number(replicas) > 0 || masters.length > 0,
    brokenViews: await namesOf(found, say.listBrokenViews),
    prepared: (await found.ask('XA RECOVER;')).length,
  };
  return { source, facts };
}

export async function identityOf(database: Database): Promise<Omit<Source, 'service'>> {
  const [[version = '', packet] = []] = await database.ask('SELECT VERSION(), @@GLOBAL.max_allowed_packet;');
  return { flavor: /mariadb/i.test(version) ? 'mariadb' : 'mysql', version, packet: Number(packet) };
}

/** Locks all accounts but ours, and has the server begin nothing by itself. */
export async function shut(database: Database, { flavor }: Source): Promise<void> {
  await carryOut(database, flavor, say.lock(flavor));
  const [[scheduler] = []] = await database.ask('SELECT @@GLOBAL.event_scheduler;');
  if (scheduler === 'ON') await database.ask('SET GLOBAL event_scheduler = OFF;');
}

export async function letIn(database: Database, { flavor }: Source): Promise<void> {
  const before = await database.ask(say.schedulerBefore(flavor));
  if (before.some(([scheduler]) => scheduler === 'ON'))
    await database.ask('SET GLOBAL event_scheduler = ON;');
  await carryOut(database, flavor, say.unlock(flavor));
}

/** MySQL answers with the statements to be run. */
async function carryOut(database: Database, flavor: say.Flavor, statements: string): Promise<void> {
  const rows = await database.ask(statements);
  if (flavor === 'mysql') await database.ask(rows.map(([statement]) => statement).join('\n'));
}

/** Sessions of others that do not go in that time. */
export async function othersAfter(database: Database, waitMs: number): Promise<say.Session[]> {
  for (const end = performance.now() + waitMs; ; await sleep(250)) {
    const others = say.othersIn(await database.ask('SELECT CONNECTION_ID(); SHOW PROCESSLIST;'));
    if (others.length === 0 || performance.now() > end) return others;
  }
}

/** Ends all other sessions, and what sessions that are gone have left prepared. */
export async function empty(database: Database, { flavor }: Source, { log }: DataWork): Promise<void> {
  for (const { words } of await othersAfter(database, 0))
    log.info(`ending a session at ${database.service}: ${words}`);
  for (const end = performance.now() + endMs; ; await sleep(500)) {
    const others = await othersAfter(database, 0);
    if (others.length === 0) break;
    if (performance.now() > end)
      throw database.failure(`sessions do not end: ${others.map(({ words }) => words).join('; ')}`);
    // One that has gone by itself is none to be ended.
    await database.ask(others.map(({ id }) => `KILL ${id};`).join('\n'), { force: true });
  }
  const form = flavor === 'mariadb' ? "FORMAT='SQL'" : 'CONVERT XID';
  for (const statement of say.rollBackPrepared(flavor, await database.ask(`XA RECOVER ${form};`))) {
    log.info(`at ${database.service}: ${statement}`);
    await database.ask(statement);
  }
}

/** The names in an answer, joined by dots where they are two. */
export const namesOf = async (database: Database, statement: string): Promise<string[]> =>
  (await database.ask(statement)).map((names) => names.join('.'));

/** How the whole of it is dumped now. */
export async function dumpsOf(
  database: Database,
  { flavor, version }: Source,
): Promise<Record<keyof DumpFiles, string[]>> {
  const [schemas, broken] = [
    await namesOf(database, say.listSchemas),
    await namesOf(database, say.listBrokenViews),
  ];
  return {
    schemas: say.dumpOfSchemas(flavor, version, schemas, broken),
    accounts: say.dumpOfPrivileges(flavor, await namesOf(database, say.listPrivilegeTables)),
  };
}

/** Rows and checksums of all tables. */
export async function tally(database: Database): Promise<Record<say.TableName, Tally>> {
  const tables = (await database.ask(say.listTables)).map(([schema = '', table = '']) =>
    say.tableName(schema, table),
  );
  const rows = await database.ask(tables.map(say.tallyOf).join('\n'));
  return Object.fromEntries(
    tables.map((table, at) => {
      const [[count] = [], [, checksum = 'NULL'] = []] = rows.slice(2 * at);
      return [table, [Number(count), checksum === 'NULL' ? null : checksum] as const];
    }),
  );
}

/**
 * Puts both dumps in the place of what is there. The accounts come first, as a view over another one's view asks for that
 * one's rights, and once more at the end, as dropping and creating routines changes what accounts may do. They are as they
 * were dumped then: closed, and marked for who lets them in. Killed anywhere, it leaves ourselves as the only ones who get
 * in, and is repeated.
 */
export async function replaceAll(
  database: Database,
  { packet }: Source,
  files: DumpFiles,
  definers: readonly string[],
): Promise<void> {
  const schemas = await namesOf(database, say.listSchemas);
  const drops = schemas.map((name) => `DROP DATABASE ${say.quoted(name)};`);
  await database.ask(`SET SESSION foreign_key_checks = OFF;\n${drops.join('\n')}`);
  await database.ask(`SET GLOBAL max_allowed_packet = ${longestPacket};`);
  await replaceAccounts(database, files.accounts);
  await database.ask(say.inventDefiners(definers));
  await database.load(files.schemas);
  await replaceAccounts(database, files.accounts);
  await database.ask(`SET GLOBAL max_allowed_packet = ${packet};`);
}

async function replaceAccounts(database: Database, file: string): Promise<void> {
  await database.ask(say.emptyPrivileges(await namesOf(database, say.listPrivilegeTables)));
  await database.load(file, 'mysql');
  await database.ask('FLUSH PRIVILEGES;');
}
