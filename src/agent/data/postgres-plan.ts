// What is to be done about databases, from what the server says; it asks nobody.

import { type FoundDatabase, ownNames, type ServerFacts, type TableSums } from './postgres-sql.ts';
import type { Tally } from './table-difference.ts';

/** A kept database. */
export interface KeptDatabase {
  name: string;
  /** Its name among the others: of the copy, of what was put aside, or of what a dump is loaded into. */
  copy: string;
  /** The file in the place, where it is a dump. */
  dump: KeptFile | null;
}

export interface KeptFile {
  file: string;
  /** Hexadecimal. */
  sha256: string;
}

export type Purpose = 'point' | 'kept';

export const copyName = (purpose: Purpose, place: string, index: number): string =>
  `svc_${purpose}_${place}_${index}`;

/** Those that are somebody's data: whoever closed a database before did that himself. */
export const dataOf = ({ databases }: Pick<ServerFacts, 'databases'>): FoundDatabase[] =>
  databases.filter(({ name, isOpen, isMarked }) => !ownNames.test(name) && (isOpen || isMarked));

/** The oldest major with a role that reads all, and nothing else. */
const oldest = 14;

export function refusalsOf(facts: ServerFacts, service: string, withTimescale: readonly string[]): string[] {
  const prepared = facts.prepared.map(({ id, database }) => `${id} in ${database}`);
  const found: (string | false)[] = [
    facts.major < oldest &&
      `${service} is PostgreSQL ${facts.major}, and its data can be kept from ${oldest} on: say svc.data: none, and make a dump yourself`,
    !facts.isSuperuser &&
      `POSTGRES_USER of ${service} is no superuser, who alone can keep roles and all databases: name the one that is`,
    facts.isStandby && `${service} follows another server: its data can be kept on that one alone`,
    facts.subscriptions > 0 &&
      `${service} has subscriptions, which would take what went on since a second time: drop them, or say svc.data: none`,
    facts.slots > 0 &&
      `${service} has replication slots, whose readers would not see that it went back: drop them, or say svc.data: none`,
    prepared.length > 0 &&
      `${service} has prepared transactions (${prepared.join(', ')}): commit them, or roll them back`,
    withTimescale.length > 0 &&
      `${withTimescale.join(', ')} in ${service} has the extension timescaledb, which a copy does not hold as a whole: say svc.data: none, and make a dump yourself`,
    dataOf(facts).length === 0 && `${service} has no database that lets anybody in`,
  ];
  return found.filter((each) => each !== false);
}

export interface RestorePlan {
  /** The present is put aside, and the roles are as they were then. */
  aside: readonly KeptDatabase[];
  /** Dumps to be loaded, into what is taken away first where it is there. */
  load: readonly KeptDatabase[];
  /** What is held against its sums and gets its name; empty where all is done. */
  back: readonly KeptDatabase[];
  /** Kept but in no other way, though it is there. */
  missing: readonly string[];
}

/**
 * What is left of a restore. Copies are swapped by one transaction: none of them is there once it is done. Dumps are loaded in
 * between, when roles are as the dump needs them: the present is away then, and the names of the app are free.
 */
export function planRestore(
  existing: readonly string[],
  point: readonly KeptDatabase[],
  kept: readonly KeptDatabase[],
): RestorePlan {
  const isThere = (name: string) => existing.includes(name);
  const isDump = point.some(({ dump }) => dump !== null);
  const isAside = kept.some(({ copy }) => isThere(copy));
  const areBack = point.every(({ name }) => isThere(name));
  const done = { aside: [], load: [], back: [], missing: [] };
  if (isDump) {
    // Where the present is kept as a dump, too, nothing tells an end from the beginning: it is done once more.
    if (areBack && isAside) return done;
    return {
      ...done,
      aside: isAside ? [] : kept.filter(({ name }) => isThere(name)),
      load: point,
      back: point,
    };
  }
  const there = point.filter(({ copy }) => isThere(copy));
  if (there.length === 0 && areBack && (isAside || kept.every(({ dump }) => dump !== null))) return done;
  const missing = point.filter(({ copy }) => !isThere(copy)).map(({ copy }) => copy);
  return { ...done, aside: kept.filter(({ name }) => isThere(name)), back: point, missing };
}

/** The tables of several databases by how people call them; what is no table is left out. */
export function tellTables(sums: Readonly<Record<string, TableSums>>, isOne: boolean): Record<string, Tally> {
  return Object.fromEntries(
    Object.entries(sums).flatMap(([database, tables]) =>
      Object.entries(tables)
        .filter(([key]) => !/^(?:catalog|sequence|view) /.test(key) && key !== 'pg_catalog.pg_largeobject')
        .map(([key, [rows, sum]]): [string, Tally] => [
          `${isOne ? '' : `${database}: `}${key.replace(/^public\./, '')}`,
          [Number(rows), sum],
        ]),
    ),
  );
}
