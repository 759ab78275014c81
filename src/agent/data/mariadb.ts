import { join } from 'node:path';
import { disk } from '../../files/file-system.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { DataKind, PointPlace } from './kind.ts';
import { Database, readWritten, type Written } from './mariadb-client.ts';
import * as server from './mariadb-server.ts';
import {
  listLostDefiners,
  majorOf,
  refusalsOf,
  type TableName,
  tellTables,
  wordsOf,
} from './mariadb-statements.ts';
import { roomAt } from './room-at.ts';
import { type Tally, tableDifference } from './table-difference.ts';

/** What was kept of the database of one service. */
interface Kept {
  service: string;
  flavor: server.Source['flavor'];
  /** `10.11` */
  major: string;
  schemas: Written;
  accounts: Written;
  tables: Readonly<Record<TableName, Tally>>;
  /** In whose name views are read, and who were no accounts any more: `app@%`. */
  definers: readonly string[];
}

/** How long sessions may take to go by themselves. */
const goMs = 5_000;
const bytesPerSecond = 35_000_000;

/** MariaDB and MySQL, dumped by their own programs in their own container. */
export const mariadb: DataKind<readonly server.Source[], readonly Kept[]> = {
  isSource: (value): value is readonly server.Source[] => Array.isArray(value) && value.every(isSource),
  isPart: (value): value is readonly Kept[] => Array.isArray(value) && value.every(isKept),

  async survey(asked, place, work) {
    const looks = await Promise.all(asked.map((service) => server.look(service, work)));
    const found = looks.filter((each) => typeof each !== 'string');
    const secondsOf = (bytes: number) => Math.ceil(bytes / bytesPerSecond) + 2;
    const bytes = found.reduce((sum, { facts }) => sum + facts.bytes, 0);
    return {
      source: found.map(({ source }) => source),
      words: found
        .map(({ source, facts }) => wordsOf(source.service, facts, 4 * secondsOf(facts.bytes)))
        .join(', '),
      bytes,
      seconds: found.reduce((sum, { facts }) => sum + secondsOf(facts.bytes), 0),
      rooms: [await roomAt(place, Math.ceil(bytes / 2))],
      refusals: looks.flatMap((each) =>
        typeof each === 'string' ? [each] : refusalsOf(each.source.service, each.facts),
      ),
    };
  },

  async close(source, work) {
    for (const each of source) {
      const database = await Database.enter(each.service, work, 'data-busy');
      await server.shut(database, each);
      const others = await server.othersAfter(database, goMs);
      if (others.length === 0) continue;
      await mariadb.open(source, work);
      const names = others.map(({ words }) => words).join('; ');
      throw new UpdateError('data-busy', `${each.service} has sessions of others: ${names}`);
    }
  },

  async evict(source, work) {
    for (const each of source) {
      const database = await Database.enter(each.service, work, 'data-busy');
      await server.shut(database, each);
      await server.empty(database, each, work);
    }
  },

  async save(source, place, work) {
    const kept: Kept[] = [];
    for (const each of source) {
      const database = await Database.enter(each.service, work, 'save-failed');
      await server.shut(database, each);
      const { schemas, accounts } = filesOf(each, place);
      const dumps = await server.dumpsOf(database, each);
      kept.push({
        service: each.service,
        major: majorOf(each.version),
        flavor: each.flavor,
        schemas: await database.dump(dumps.schemas, schemas),
        accounts: await database.dump(dumps.accounts, accounts),
        tables: await server.tally(database),
        definers: await server.namesOf(database, listLostDefiners),
      });
    }
    return kept;
  },

  async open(source, work) {
    for (const each of source) {
      await server.letIn(await Database.enter(each.service, work, 'data-not-back'), each);
    }
  },

  async discard(source, _part, place) {
    for (const each of source)
      for (const file of Object.values(filesOf(each, place))) await disk.remove(file);
  },

  async check(source, part, place, work) {
    for (const each of source) {
      const kept = keptOf(each, part);
      await checkFiles(kept, filesOf(each, place));
      const found = await Database.look(each.service, work);
      if (typeof found === 'string') throw new UpdateError('data-unfit', found);
      const { flavor, version } = await server.identityOf(found);
      if (flavor === kept.flavor && majorOf(version) === kept.major) continue;
      const message = `${each.service} is ${flavor} ${version}, and its data were kept of ${kept.flavor} ${kept.major}`;
      throw new UpdateError('data-unfit', message);
    }
  },

  // It is closed, so that a dump is one more.
  keep: (source, place, work) => mariadb.save(source, place, work),

  async restore(source, part, _kept, place, work) {
    for (const each of source) {
      const kept = keptOf(each, part);
      const files = filesOf(each, place);
      await checkFiles(kept, files);
      const database = await Database.enter(each.service, work, 'data-not-back');
      await server.shut(database, each);
      // A statement of a call that was killed may run on in the server.
      await server.empty(database, each, work);
      await server.replaceAll(database, each, files, kept.definers);
      const dumps = await server.dumpsOf(database, each);
      for (const what of ['schemas', 'accounts'] as const) {
        const { sha256 } = await database.dump(dumps[what], null);
        if (sha256 !== kept[what].sha256) throw database.failure(`its ${what} are not as they were kept`);
      }
    }
  },

  async compare(source, part, _place, work) {
    const then: Record<string, Tally> = {};
    const now: Record<string, Tally> = {};
    for (const each of source) {
      const found = await Database.look(each.service, work);
      if (typeof found === 'string') throw new UpdateError('data-unfit', found);
      const prefix = source.length > 1 ? `${each.service} ` : '';
      Object.assign(then, tellTables(keptOf(each, part).tables, prefix));
      Object.assign(now, tellTables(await server.tally(found), prefix));
    }
    return tableDifference(then, now);
  },
};

const filesOf = ({ service }: server.Source, { here }: PointPlace): server.DumpFiles => ({
  schemas: join(here, `mariadb-${service}.sql.zst`),
  accounts: join(here, `mariadb-${service}-accounts.sql.zst`),
});

function keptOf({ service }: server.Source, part: readonly Kept[]): Kept {
  const kept = part.find((each) => each.service === service);
  if (kept === undefined)
    throw new UpdateError('point-damaged', `the restore point has nothing of ${service}`);
  return kept;
}

async function checkFiles(kept: Kept, files: server.DumpFiles): Promise<void> {
  for (const what of ['schemas', 'accounts'] as const) {
    const found = await readWritten(files[what]).catch((cause) => {
      throw new UpdateError('point-damaged', `${files[what]} cannot be read: ${cause.message}`, { cause });
    });
    if (found.sha256 !== kept[what].sha256)
      throw new UpdateError('point-damaged', `${files[what]} is not what was written there`);
  }
}

type Unknown<T> = { [K in keyof T]?: unknown };
/** As compose calls a service; part of a file's name. */
const isService = (value: unknown): value is string => typeof value === 'string' && /^[\w.-]+$/.test(value);
const isFlavor = (value: unknown): boolean => value === 'mariadb' || value === 'mysql';
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function isSource(value: unknown): value is server.Source {
  if (!isObject(value)) return false;
  const { service, flavor, version, packet } = value as Unknown<server.Source>;
  return isService(service) && isFlavor(flavor) && typeof version === 'string' && isCount(packet);
}

function isKept(value: unknown): value is Kept {
  if (!isObject(value)) return false;
  const { service, flavor, major, schemas, accounts, tables, definers } = value as Unknown<Kept>;
  if (!isService(service) || !isFlavor(flavor) || typeof major !== 'string') return false;
  if (!Array.isArray(definers) || !definers.every((each) => typeof each === 'string')) return false;
  return (
    isWritten(schemas) && isWritten(accounts) && isObject(tables) && Object.values(tables).every(isTally)
  );
}

const isWritten = (value: unknown): value is Written =>
  isObject(value) &&
  'sha256' in value &&
  /^[0-9a-f]{64}$/.test(String(value.sha256)) &&
  'bytes' in value &&
  isCount(value.bytes);

const isTally = (value: unknown): value is Tally =>
  Array.isArray(value) &&
  value.length === 2 &&
  isCount(value[0]) &&
  (value[1] === null || typeof value[1] === 'string');
