import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { differs } from '../../judge/differs.ts';
import type { DatabaseKind } from '../app/database.ts';
import { lookAtDatabase } from './databases.ts';
import { lookAtSurroundings } from './surroundings.ts';

// The judge of the bed uses nothing of the updater: the databases' own dumps, a walk over the files in Python, and the engine's
// inspections. App and worker write every few milliseconds until they are stopped, so there are two kinds of rows. If the writers
// are *paused* before the update, everything must be as before, to the last byte and time. If they *write on*, everything but the
// live part must be so, and the live part is compared with the witness (`live.ts`). The old version then waits at a gate until
// the judge has looked.

/** Where the data of an instance are, for who looks from outside. */
export interface Place {
  project: string;
  directory: string;
  database: DatabaseKind;
  /** Directories of the host by what they are called here. */
  trees: Readonly<Record<string, string>>;
}

export interface Look {
  /** Each file by tree and path. */
  files: Record<string, Record<string, Node>>;
  /** Texts by what they tell of: dumps, lists of roles, settings. */
  database: Record<string, string>;
  /** Everything else: containers, volumes, networks, images, compose files. */
  surroundings: Record<string, unknown>;
}

/** What `walk.py` tells of a path. */
export type Node = Record<string, unknown>;

/** @param isLive without what app and worker write */
export async function look(place: Place, isLive: boolean): Promise<Look> {
  const trees = Object.entries(place.trees).map(async ([name, directory]) => {
    const tree = await walk(directory);
    return [name, isLive ? withoutLive(tree) : tree] as const;
  });
  const [files, database, surroundings] = await Promise.all([
    Promise.all(trees),
    lookAtDatabase(place, isLive),
    lookAtSurroundings(place),
  ]);
  return { files: Object.fromEntries(files), database, surroundings };
}

const walker = fileURLToPath(new URL('walk.py', import.meta.url));

export async function walk(directory: string): Promise<Record<string, Node>> {
  const { stdout } = await execa('python3', [walker, directory], { timeout: 300_000, maxBuffer: 1e9 });
  return JSON.parse(stdout);
}

/** Files that writers write, and the time of the directory that they write them into. */
function withoutLive(tree: Record<string, Node>): Record<string, Node> {
  const quiet = Object.entries(tree).filter(([path]) => !/^(live\/|svc\.db)/.test(path));
  const busy = 'svc.db' in tree ? '.' : 'live';
  return Object.fromEntries(
    quiet.map(([path, node]) => [path, path === busy ? { ...node, time: '' } : node]),
  );
}

/** A sentence for each thing that is not as it was; none where all is. */
export function judge(before: Look, after: Look): string[] {
  return [
    ...Object.keys({ ...before.files, ...after.files }).flatMap((tree) =>
      judgeThings(`files of ${tree}`, before.files[tree] ?? {}, after.files[tree] ?? {}),
    ),
    ...Object.keys({ ...before.database, ...after.database }).flatMap((text) =>
      judgeText(text, before.database[text], after.database[text]),
    ),
    ...judgeThings('surroundings', before.surroundings, after.surroundings),
  ];
}

/** Of thousands of the same kind, a few will do for people. */
export function shorten(facts: readonly string[]): string[] {
  const kinds = Map.groupBy(facts, (fact) => fact.split(': ')[0] ?? '');
  return [...kinds].flatMap(([kind, all]) => {
    const shown = all.slice(0, 4).map((fact) => (fact.length > 400 ? `${fact.slice(0, 400)}…` : fact));
    return all.length > 4 ? [...shown, `${kind}: and ${all.length - 4} more`] : shown;
  });
}

function judgeThings(
  what: string,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): string[] {
  return Object.keys({ ...before, ...after }).flatMap((path) =>
    differs(`${what}: ${JSON.stringify(path)}`, before[path], after[path]),
  );
}

/** The lines that only one of them has. */
function judgeText(what: string, before = '', after = ''): string[] {
  if (before === after) return [];
  const only = (text: string, other: string) => {
    const known = new Set(other.split('\n'));
    return text.split('\n').filter((line) => !known.has(line));
  };
  const lines = [
    ...only(before, after).map((line) => `${what}: - ${line}`),
    ...only(after, before).map((line) => `${what}: + ${line}`),
  ];
  return lines.length > 0 ? lines : [`${what}: the same lines in another order or number`];
}
