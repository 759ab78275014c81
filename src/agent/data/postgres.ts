import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { execIn } from '../../engine/cli/exec.ts';
import { disk } from '../../files/file-system.ts';
import { type ErrorCode, UpdateError } from '../../progress/update-error.ts';
import { counted } from '../log/wording.ts';
import type { DataKind, DataWork, PointPlace, Room } from './kind.ts';
import {
  copyName,
  dataOf,
  type KeptDatabase,
  type KeptFile,
  type Purpose,
  planRestore,
  refusalsOf,
  tellTables,
} from './postgres-plan.ts';
import {
  ask,
  hiddenOf,
  insideSql,
  load,
  lookName,
  openSession,
  PsqlError,
  type Session,
  writeDump,
} from './postgres-session.ts';
import {
  allowSql,
  asideSql,
  backSql,
  type Client,
  clientsSql,
  closeSql,
  copySql,
  createSql,
  dropSql,
  endClientsSql,
  factsSql,
  hideSql,
  literal,
  loadedFunctionsSql,
  openSql,
  orphansSql,
  ownNames,
  readSums,
  rolesSql,
  type ServerFacts,
  type ServerState,
  stateSql,
  sumsSql,
  type TableSums,
  transactionSql,
  unhideSql,
} from './postgres-sql.ts';
import { roomAt } from './room-at.ts';
import { tableDifference } from './table-difference.ts';

export interface PostgresSource {
  service: string;
  databases: readonly string[];
}

export interface PostgresPart {
  service: string;
  major: number;
  databases: readonly KeptDatabase[];
  /** Roles, what belongs to each database, and the sums of its tables: `Kept`. */
  state: KeptFile;
}

interface Kept {
  major: number;
  databases: readonly KeptDatabase[];
  server: ServerState;
  /** By database; null for what was put aside and never copied. */
  sums: Readonly<Record<string, TableSums>> | null;
  /** What would run while dumps are loaded (`loadedFunctionsSql`). */
  runs: readonly string[];
}

const patienceMs = 5_000;
const endMs = 10_000;
const pauseMs = 250;
/** Of the data, about. */
const copiedPerSecond = 300_000_000;
const dumpedPerSecond = 100_000_000;

export const postgres: DataKind<PostgresSource, PostgresPart> = {
  isSource: (value): value is PostgresSource => isSource(value),
  isPart: (value): value is PostgresPart => isPart(value),

  survey: (asked, place, work) =>
    under('data-unfit', 'data cannot be looked at', () => survey(asked, place, work)),

  close: ({ service }, work) =>
    under('save-failed', `databases of ${service} cannot be closed`, async () => {
      const session = await begin(service, work);
      await shut(session);
      const end = performance.now() + patienceMs;
      for (;;) {
        const within = await busy(session);
        if (within.length === 0) return;
        if (performance.now() > end) {
          await reopen(service, work);
          throw new UpdateError('data-busy', `${service} is in use: ${within.join('; ')}`, {
            advice: 'End what is named there, then run the update again.',
          });
        }
        await sleep(pauseMs);
      }
    }),

  evict: ({ service }, work) =>
    under('save-failed', `sessions of ${service} cannot be ended`, async () => {
      const session = await begin(service, work);
      await shut(session);
      await endClients(session);
      for (const { id, database } of (await look(session)).prepared) {
        work.log.warn(`rolls back the prepared transaction ${id} in ${database}`);
        await ask(session, allowSql(database, true));
        await ask(session, `ROLLBACK PREPARED ${literal(id)};`, { database });
        await ask(session, allowSql(database, false));
      }
      await endClients(session);
    }),

  save: (source, place, work) => take('point', source, place, work),
  keep: (source, place, work) => take('kept', source, place, work),

  open: ({ service }, work) =>
    under('data-not-back', `databases of ${service} cannot be opened`, async () => {
      await reopen(service, work);
    }),

  discard: ({ service }, part, place, work) =>
    under('save-failed', `what was kept of ${service} cannot be taken away`, async () => {
      const session = await begin(service, work);
      const own = part?.databases.map(({ copy }) => copy);
      for (const purpose of ['point', 'kept'] as const) await drop(session, purpose, place, own);
      const files = part ? filesOf(part) : await leftFiles(service, place);
      for (const file of files) await rm(join(place.here, file), { force: true });
    }),

  check: async ({ service }, part, place, work) => {
    await under(
      'point-damaged',
      `the restore point of ${service} cannot be held against its hashes`,
      async () => {
        const session = await begin(service, work);
        const { major, databases } = session.found;
        if (major !== part.major)
          throw new UpdateError(
            'data-unfit',
            `${service} is PostgreSQL ${major} now, and the restore point is of ${part.major}`,
          );
        const lost = part.databases.filter(
          ({ copy, dump }) => dump === null && !databases.some(({ name }) => name === copy),
        );
        if (lost.length > 0)
          throw new UpdateError(
            'point-damaged',
            `${service} no longer has ${lost.map(({ copy }) => copy).join(', ')}`,
          );
        const { sums, runs } = await readKept(part, place);
        if (runs.length > 0) throw new UpdateError('data-unfit', sayRuns(service, runs));
        for (const { name, copy, dump } of part.databases) {
          const then = sums?.[name];
          if (dump) await checkFile(dump, place);
          else if (then) prove(name, then, await sumsOfClosed(session, copy, true));
        }
      },
    );
  },

  restore: (source, part, kept, place, work) =>
    under('data-not-back', `the data of ${source.service} are not back`, () =>
      restore(part, kept, place, work),
    ),

  compare: ({ service }, part, place, work) =>
    under('point-damaged', `the data of ${service} cannot be compared`, async () => {
      const session = await begin(service, work);
      const { sums } = await readKept(part, place);
      const then: Record<string, TableSums> = {};
      for (const { name, copy } of part.databases) {
        then[name] = sums?.[name] ?? (await sumsOfClosed(session, copy, true));
      }
      const now: Record<string, TableSums> = {};
      for (const { name, isOpen } of dataOf(await look(session))) {
        now[name] = isOpen
          ? await sumsOf(session, name, false)
          : await hidden(session, name, (at) => sumsOf(session, at, false));
      }
      const isOne = new Set([...Object.keys(then), ...Object.keys(now)]).size === 1;
      return tableDifference(tellTables(then, isOne), tellTables(now, isOne));
    }),
};

/** What psql could not do is an end of the run with this code; a full disk is always told as one. */
async function under<T>(code: ErrorCode, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UpdateError || !(error instanceof PsqlError || isOfDisk(error))) throw error;
    const isFull = /No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/.test(error.message);
    throw new UpdateError(isFull && code === 'save-failed' ? 'no-space' : code, `${what}: ${error.message}`, {
      cause: error,
    });
  }
}

const isOfDisk = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

async function survey(asked: readonly string[], place: PointPlace, work: DataWork) {
  const [service = '', another] = asked;
  const session = await begin(service, work);
  const facts = session.found;
  const data = dataOf(facts);
  const withTimescale: string[] = [];
  const runs: string[] = [];
  for (const { name } of data.filter(({ isOpen }) => isOpen)) {
    const [has] = await ask(
      session,
      `SELECT to_jsonb(EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb'));`,
      { database: name },
    );
    if (has) withTimescale.push(name);
    if (place.isElsewhere) runs.push(...(await loadedFunctions(session, name)));
  }
  const bytes = data.reduce((sum, each) => sum + each.bytes, 0);
  const how = place.isElsewhere ? 'dumped' : 'copied';
  const names = data.map(({ name }) => name);
  return {
    source: { service, databases: names },
    words: `${service} (postgres, ${counted(names.length, 'database')}, ${Math.ceil(bytes / 1_000_000)} MB, ${how})`,
    bytes,
    seconds: Math.ceil(bytes / (place.isElsewhere ? dumpedPerSecond : copiedPerSecond)) + 1,
    rooms: [
      place.isElsewhere ? await roomAt(place, bytes) : await roomOfServer(session, service, facts, bytes),
    ],
    refusals: [
      ...refusalsOf(facts, service, withTimescale),
      ...(runs.length > 0 ? [sayRuns(service, runs)] : []),
      ...(another
        ? [
            `${asked.join(' and ')} have PostgreSQL, and one alone can be kept: say svc.data: none of the others`,
          ]
        : []),
    ],
  };
}

const loadedFunctions = async (session: Session, database: string): Promise<string[]> =>
  (await ask(session, loadedFunctionsSql, { database })) as string[];

const sayRuns = (service: string, runs: readonly string[]): string =>
  `a dump of ${service} is loaded as its superuser, and would run as that what others have made: ${runs.slice(0, 3).join(', ')}${runs.length > 3 ? ` and ${runs.length - 3} more` : ''}: leave out --restore-dir, as copies run nothing`;

async function roomOfServer(
  { engine, container }: Session,
  service: string,
  { directory }: ServerFacts,
  needed: number,
): Promise<Room> {
  const look = 'stat -c %d "$1" && df -Pk "$1"';
  const { stdout } = await execIn(engine, container, ['sh', '-c', look, 'sh', directory]);
  const lines = stdout.trim().split('\n');
  const free = Number(/\s(\d+)\s+\d+%/.exec(lines.at(-1) ?? '')?.[1]) * 1024;
  if (!Number.isFinite(free) || !/^\d+$/.test(lines[0] ?? ''))
    throw new UpdateError(
      'data-unfit',
      `the container of ${service} does not tell the room at ${directory}: it needs stat and df`,
    );
  return { device: lines[0] ?? '', where: `the data of ${service}`, needed, free };
}

/** Ends what a kill has left, and gives back what was looked at under another name, or was open to us. */
async function begin(service: string, work: DataWork): Promise<Session> {
  const session = await openSession(service, work);
  let isMended = false;
  for (const each of session.found.databases) {
    const was = hiddenOf(each);
    if (was) await ask(session, unhideSql(each.name, was.name, was.limit));
    else if (ownNames.test(each.name) && each.isOpen) await ask(session, allowSql(each.name, false));
    else continue;
    isMended = true;
  }
  return isMended ? { ...session, found: await look(session) } : session;
}

const look = async (session: Session): Promise<ServerFacts> =>
  (await ask(session, factsSql))[0] as ServerFacts;

async function shut(session: Session): Promise<void> {
  await ask(session, closeSql(dataOf(session.found).map(({ name }) => name)));
}

async function reopen(service: string, work: DataWork): Promise<void> {
  const session = await begin(service, work);
  const marked = session.found.databases.filter(({ isMarked }) => isMarked);
  await ask(session, openSql(marked.map(({ name }) => name)));
}

/** Who is in closed databases. */
async function busy(session: Session): Promise<string[]> {
  const closed = dataOf(session.found).map(({ name }) => name);
  const said = await ask(session, clientsSql(closed) + factsSql);
  const { prepared } = said.pop() as ServerFacts;
  const clients = said as Client[];
  return [
    ...clients.map(
      ({ user, application, address, database }) =>
        `${user} in ${database} from ${address}${application ? ` (${application})` : ''}`,
    ),
    ...prepared.map(({ id, database }) => `the prepared transaction ${id} in ${database}`),
  ];
}

async function endClients(session: Session): Promise<void> {
  const closed = dataOf(session.found).map(({ name }) => name);
  for (const end = performance.now() + endMs; ; await sleep(pauseMs)) {
    if ((await ask(session, endClientsSql(closed))).length === 0) return;
    if (performance.now() > end) throw new PsqlError(`still there: ${(await busy(session)).join('; ')}`);
  }
}

const stateFile = (purpose: Purpose, service: string): string => `${service}.${purpose}.json`;
const dumpFile = (purpose: Purpose, service: string, index: number): string =>
  `${service}.${purpose}.${index}.sql.zst`;

/** Closed databases into the place. What is only put aside needs no copy: it is the thing itself. */
async function take(
  purpose: Purpose,
  { service }: PostgresSource,
  place: PointPlace,
  work: DataWork,
): Promise<PostgresPart> {
  return under('save-failed', `the data of ${service} cannot be kept`, async () => {
    const session = await begin(service, work);
    const isOnlyNamed = purpose === 'kept' && !place.isElsewhere;
    if (isOnlyNamed && copiesOf(session, purpose, place).length > 0) {
      // A restore has put it aside: there is no other one, and what was said of it then holds.
      return await partOf(stateFile(purpose, service), service, place);
    }
    await drop(session, purpose, place);
    const { major, databases: existing } = session.found;
    const names = dataOf({ databases: existing }).map(({ name }) => name);
    const said = await ask(session, orphansSql + stateSql(names));
    const server = said.pop() as ServerState;
    tellOrphans(said as string[], service, work);
    const databases: KeptDatabase[] = [];
    const sums: Record<string, TableSums> = {};
    const runs: string[] = [];
    let bytes = 0;
    for (const [index, name] of names.entries()) {
      const copy = copyName(purpose, place.name, index);
      let dump: KeptFile | null = null;
      if (place.isElsewhere) {
        const file = dumpFile(purpose, service, index);
        await hidden(session, name, async (at) => {
          runs.push(...(await loadedFunctions(session, at)));
          dump = await dumpTo(session, at, place, file);
          sums[name] = await sumsOf(session, at, false);
        });
      } else if (!isOnlyNamed) {
        // One call for all of it: each costs as much as the copy of a small database.
        const script = copySql(name, copy, major) + insideSql(copy, sumsSql(true)) + allowSql(copy, false);
        sums[name] = readSums(await ask(session, script));
      }
      databases.push({ name, copy, dump });
      bytes += existing.find((each) => each.name === name)?.bytes ?? 0;
      work.onProgress?.(bytes);
    }
    // The data of a new version are kept whatever is in them: whether they may be loaded is asked when somebody wants that.
    if (purpose === 'point' && runs.length > 0) throw new UpdateError('save-failed', sayRuns(service, runs));
    // Copying has done that, too. Else a crash would have sequences go on further than they stood.
    if (place.isElsewhere || isOnlyNamed) await ask(session, 'CHECKPOINT;');
    const kept: Kept = { major, databases, server, sums: isOnlyNamed ? null : sums, runs };
    await writeSynced(place, stateFile(purpose, service), JSON.stringify(kept));
    return await partOf(stateFile(purpose, service), service, place);
  });
}

/** What a file of this place says was kept. */
async function partOf(file: string, service: string, place: PointPlace): Promise<PostgresPart> {
  const sha256 = await hashOf(join(place.here, file));
  const { major, databases } = await readKept({ state: { file, sha256 } }, place);
  return { service, major, databases, state: { file, sha256 } };
}

function tellOrphans(orphans: readonly string[], service: string, { log }: DataWork): void {
  if (orphans.length > 0)
    log.warn(
      `${service} has folders of no database, left when it was killed while it copied: ${orphans.join(', ')}`,
    );
}

async function restore(
  part: PostgresPart,
  kept: PostgresPart | null,
  place: PointPlace,
  work: DataWork,
): Promise<void> {
  const session = await begin(part.service, work);
  const existing = session.found.databases.map(({ name }) => name);
  // Nobody wants them again: they are put aside all the same, as both are swapped at once, and dropped then.
  const lost = (name: string, index: number): KeptDatabase => ({
    name,
    copy: copyName('kept', place.name, index),
    dump: null,
  });
  const aside = kept?.databases ?? dataOf(session.found).map(({ name }, index) => lost(name, index));
  const { server, sums } = await readKept(part, place);
  const plan = planRestore(existing, part.databases, aside);
  if (plan.missing.length > 0) throw new PsqlError(`there is no ${plan.missing.join(', ')} any more`);
  const away = plan.aside.flatMap(asideSql);
  const back = plan.back.flatMap((each) => {
    const state = server.databases[each.name];
    if (state === undefined) throw new PsqlError(`nothing was kept of what belongs to ${each.name}`);
    return backSql(each, state, each.dump !== null);
  });
  if (plan.load.length > 0 && away.length > 0) {
    await ask(session, transactionSql([...away, ...rolesSql(server)]));
    away.length = 0;
  }
  for (const { name, copy, dump } of plan.load) {
    const state = server.databases[name];
    if (dump === null || state === undefined) throw new PsqlError(`there is no dump of ${name}`);
    await checkFile(dump, place);
    await ask(session, dropSql(copy));
    await ask(session, createSql(copy, state));
    const script = createReadStream(join(place.here, dump.file)).pipe(createZstdDecompress());
    await load(session, copy, script);
  }
  for (const { name, copy, dump } of plan.back) {
    const proven = sums?.[name];
    if (proven) prove(name, proven, await sumsOfClosed(session, copy, dump === null));
  }
  if (plan.load.length > 0) await ask(session, transactionSql(back));
  else if (back.length > 0) await ask(session, transactionSql([...away, ...rolesSql(server), ...back]));
  for (const { copy, dump } of aside) if (dump || kept === null) await ask(session, dropSql(copy));
  await ask(session, 'CHECKPOINT;');
}

function prove(database: string, then: TableSums, now: TableSums): void {
  const keys = new Set([...Object.keys(then), ...Object.keys(now)]);
  const other = [...keys].filter((key) => then[key]?.join() !== now[key]?.join());
  if (other.length === 0) return;
  throw new UpdateError(
    'point-damaged',
    `what was kept of ${database} is no longer the same: ${other.slice(0, 5).join(', ')}`,
  );
}

/** The copies of this place that were there when the session was begun, in the server's order. */
function copiesOf({ found }: Session, purpose: Purpose, { name }: PointPlace): string[] {
  const form = new RegExp(`^svc_${purpose}_${name}_\\d+$`);
  return found.databases.map((each) => each.name).filter((each) => form.test(each));
}

async function drop(
  session: Session,
  purpose: Purpose,
  place: PointPlace,
  own?: readonly string[],
): Promise<void> {
  for (const name of copiesOf(session, purpose, place))
    if (own?.includes(name) ?? true) await ask(session, dropSql(name));
}

const sumsOf = async (session: Session, database: string, isCopy: boolean): Promise<TableSums> =>
  readSums(await ask(session, sumsSql(isCopy), { database }));

/** Of one whose name only we know. */
async function sumsOfClosed(session: Session, name: string, isCopy: boolean): Promise<TableSums> {
  const script = allowSql(name, true) + insideSql(name, sumsSql(isCopy)) + allowSql(name, false);
  return readSums(await ask(session, script));
}

/** Works in a closed database under another name: it would have to be open under its own to those who try that. */
async function hidden<T>(session: Session, name: string, work: (at: string) => Promise<T>): Promise<T> {
  const at = lookName(name);
  const limit = (await look(session)).databases.find((each) => each.name === name)?.limit ?? -1;
  await ask(session, hideSql(name, at, limit));
  const done = await work(at);
  await ask(session, unhideSql(at, name, limit));
  return done;
}

async function dumpTo(
  session: Session,
  database: string,
  place: PointPlace,
  file: string,
): Promise<KeptFile> {
  const hash = createHash('sha256');
  const path = join(place.here, file);
  await rm(path, { force: true });
  const output = new PassThrough();
  let tail = '';
  const watched = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      tail = (tail + chunk.subarray(-500).toString('latin1')).slice(-500);
      yield chunk;
    }
  };
  const hashed = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
  const written = pipeline(
    output,
    watched,
    createZstdCompress(),
    hashed,
    createWriteStream(path, { mode: 0o600, flush: true }),
  );
  await Promise.all([writeDump(session, database, output).finally(() => output.end()), written]);
  if (!tail.includes('-- PostgreSQL database dump complete'))
    throw new PsqlError(`the dump of ${database} was cut`);
  return { file, sha256: hash.digest('hex') };
}

async function writeSynced({ here }: PointPlace, file: string, text: string): Promise<void> {
  await rm(join(here, file), { force: true });
  await writeFile(join(here, file), text, { mode: 0o600, flush: true });
  await disk.sync(here);
}

async function readKept({ state }: Pick<PostgresPart, 'state'>, place: PointPlace): Promise<Kept> {
  await checkFile(state, place);
  return JSON.parse(await readFile(join(place.here, state.file), 'utf8'));
}

async function checkFile({ file, sha256 }: KeptFile, { here }: PointPlace): Promise<void> {
  const found = await hashOf(join(here, file)).catch(() => 'none');
  if (found !== sha256) throw new UpdateError('point-damaged', `${join(here, file)} is not as it was kept`);
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

const filesOf = ({ state, databases }: PostgresPart): string[] => [
  state.file,
  ...databases.flatMap(({ dump }) => (dump ? [dump.file] : [])),
];

const leftFiles = async (service: string, { here }: PointPlace): Promise<string[]> =>
  (await readdir(here).catch(() => [])).filter(
    (file) => file.startsWith(`${service}.`) && /\.(?:point|kept)\.(?:json|\d+\.sql\.zst)$/.test(file),
  );

type Raw = Readonly<Record<string, unknown>>;
const isRaw = (value: unknown): value is Raw => typeof value === 'object' && value !== null;
const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');

const isSource = (value: unknown): boolean =>
  isRaw(value) && isText(value.service) && Array.isArray(value.databases) && value.databases.every(isText);

/** A file of the place, and nothing above it. */
const isFile = (value: unknown): boolean =>
  isRaw(value) && /^\w[\w.-]*$/.test(String(value.file)) && /^[0-9a-f]{64}$/.test(String(value.sha256));

const isPart = (value: unknown): boolean =>
  isRaw(value) &&
  isText(value.service) &&
  Number.isInteger(value.major) &&
  isFile(value.state) &&
  Array.isArray(value.databases) &&
  value.databases.every(
    (each) =>
      isRaw(each) &&
      isText(each.name) &&
      !ownNames.test(each.name) &&
      isText(each.copy) &&
      ownNames.test(each.copy) &&
      (each.dump === null || isFile(each.dump)),
  );
