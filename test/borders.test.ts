import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** Rooms that every other may build on, and what each may import besides itself. */
const ground: Record<string, readonly string[]> = {
  progress: [],
  release: [],
  wire: [],
  files: ['progress'],
  compose: ['files', 'release', 'progress'],
  'engine/http': [],
  engine: ['engine/http', 'files', 'progress'],
  'engine/cli': ['engine', 'engine/http', 'files', 'progress'],
  'engine/api': ['engine', 'engine/cli', 'engine/http', 'files', 'progress'],
  feed: ['release', 'wire'],
  provenance: ['files', 'release'],
};

/** The rooms of a half, which may import besides what is named all of the ground. `''` is the half's own folder. */
const halves: Record<string, Record<string, readonly string[] | 'all'>> = {
  agent: {
    '': 'all',
    log: [],
    process: ['log'],
    state: ['log'],
    proof: [],
    drift: ['log', 'process'],
    data: ['log', 'process', 'state'],
    inspect: ['drift', 'log', 'process', 'state'],
    plan: ['inspect', 'log', 'proof', 'state'],
    facts: ['data', 'drift', 'inspect', 'log', 'plan', 'process', 'proof', 'state'],
    pull: ['facts', 'inspect', 'log', 'plan', 'process', 'state'],
    replace: ['data', 'drift', 'log', 'process', 'pull', 'state'],
    resume: ['data', 'inspect', 'log', 'plan', 'process', 'pull', 'replace', 'state'],
    bump: ['inspect', 'log', 'process', 'proof', 'state'],
    stack: ['bump', 'inspect', 'log', 'process', 'proof', 'pull', 'state'],
  },
  instance: {
    '': 'all',
    contract: [],
    host: ['contract'],
    store: ['contract', 'host'],
    place: ['contract'],
    offer: ['contract', 'host', 'place', 'store'],
    run: ['contract', 'host', 'offer', 'place', 'store'],
    schedule: ['contract', 'host', 'offer', 'run'],
    http: ['contract', 'host', 'run'],
    testing: ['contract', 'host', 'http', 'offer', 'run', 'schedule'],
  },
};

/** Programs of their own, with what of the ground they may import. */
const programs: Record<string, readonly string[]> = {
  client: ['feed', 'files', 'progress', 'provenance', 'release', 'wire'],
  web: ['progress', 'release', 'wire'],
};

/** The files outside `instance/http` that may import it: the domain knows nothing of HTTP. */
const httpImporters = ['instance/index.ts', 'instance/testing/scripted-updates.ts'];

/** Rooms whose `index.ts` alone is imported from outside. */
const doors = ['agent/drift', 'agent/stack'];

/** What decides, from facts that it is given: it asks nobody, and so has nothing to wait for. */
const deciders = [
  /^agent\/plan\//,
  /^agent\/drift\/(?!dry-run|recorder|facts|index)/,
  /^agent\/inspect\/services\//,
  /^instance\/run\/plan-resume\.ts$/,
  /^instance\/(?:contract\/time-window|schedule\/decide|run\/plan-prefetch)\.ts$/,
  /^web\/model\//,
  /^agent\/replace\/(?:plan-steps|health|others-watch)\.ts$/,
  /^agent\/replace\/rollback\/(?:plan-restore|find-losses)\.ts$/,
  /^agent\/resume\/(?:plan-earlier|later-change)\.ts$/,
  /^agent\/data\/(?:declare|choose-mounts|judge-rollback)\.ts$/,
  /^agent\/stack\/(?:check-image|choose-stack|next-write|plan-earlier|plan-moves|plan-pull|specs|tasks)\.ts$/,
  /^agent\/state\/(?:changeover|was-interrupted)\.ts$/,
];

/** What a file does that asks somebody: it waits, reads a clock, or knows a part of the system. */
const questions = (file: string, text: string): string[] =>
  [
    [/\b(?:async|await|Promise)\b(?!-)/, 'waits'],
    [/\b(?:performance|Date)\.now\b/, 'reads a clock'],
    [/\bfrom 'node:(?!path')/, 'knows the system'],
  ].flatMap(([form, what]) => ((form as RegExp).test(codeOf(text)) ? [`${file} ${what}`] : []));

/** Types of the package for the server and of the one for the browser, which have different fields. */
const exportedTwice = ['AutomaticChoice', 'RollbackOrder'];

const exportedNames = (text: string): string[] =>
  [
    ...text.matchAll(
      /^export (?:abstract |async |declare )*(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm,
    ),
  ].map(([, name = '']) => name);

/** Names that one file alone may write, so that they are changed in one place. */
const writtenOnce: readonly [name: string, file: string][] = [
  ['com.docker.compose', 'engine/labels.ts'],
  ['org.opencontainers', 'engine/labels.ts'],
  ['.svc-updater', 'progress/state-name.ts'],
  ['compose.cluster.yaml', 'agent/inspect/installation.ts'],
];

/**
 * Who in the updater may read the clock of the machine, which anybody may set at any moment: to say when something was,
 * never how long it took or is waited for.
 */
const wallClockReaders: readonly [file: string, what: string][] = [
  ['agent/log/log.ts', 'the time of a line'],
  ['agent/main.ts', 'when the run began'],
  ['agent/replace/save.ts', 'when the data was saved'],
  ['agent/state/journal.ts', 'the folder of a journal that is put aside'],
  ['agent/state/lock.ts', 'since when the lock is held'],
];
const readsWallClock = (text: string): boolean =>
  /\bDate(?:\.now\b|\(\s*\)|(?![\w(.]))|\bTemporal\b/.test(codeOf(text));

/** The text without its comments; text that looks like one inside a string may go, too. */
const codeOf = (text: string): string => text.replace(/\/\*.*?\*\/|(?<=^|\s)\/\/[^\n]*/gs, '');

/** Every module that a text imports, statically or not, for types or not. */
function importsOf(text: string): string[] {
  const form = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*|\bnew\s+URL\s*\(\s*)(['"`])([^'"`\n]+)\1/g;
  return [...codeOf(text).matchAll(form)].map(([, , name = '']) => name);
}

/** The files that a file imports, by their paths under `src`. */
const targetsOf = (file: string, text: string): string[] =>
  importsOf(text)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(source, resolve(source, dirname(file), name)));

/** The room that a file is in, `engine/cli` or `agent/plan`; the folder itself where it has no rooms. */
function roomOf(file: string): string {
  const [room = '', inner, ...rest] = file.split('/');
  const hasRooms = room in halves || Object.keys(ground).some((name) => name.startsWith(`${room}/`));
  return hasRooms && inner !== undefined && rest.length > 0 ? `${room}/${inner}` : room;
}

function isKnown(room: string): boolean {
  const [half = '', inner = ''] = room.split('/');
  return room in ground || room in programs || (halves[half] !== undefined && inner in halves[half]);
}

function mayImport(room: string, other: string): boolean {
  if (room === other) return true;
  if (room in ground) return ground[room]?.includes(other) ?? false;
  if (room in programs) return programs[room]?.includes(other) ?? false;
  const [half = '', inner = ''] = room.split('/');
  if (other in ground) return true;
  const allowed = halves[half]?.[inner];
  const [otherHalf, otherInner = ''] = other.split('/');
  return otherHalf === half && (allowed === 'all' || (allowed?.includes(otherInner) ?? false));
}

/** The imports of one file that cross a border. */
const crossings = (file: string, text: string): string[] =>
  targetsOf(file, text)
    .filter((target) => !mayImport(roomOf(file), roomOf(target)))
    .map((target) => `${file} imports ${target}`);

/** A way through imports that leads back to where it began, for each file that has one. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (file: string, way: readonly string[]) => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(' → '));
    if (way.includes(file) || done.has(file)) return;
    for (const target of imports.get(file) ?? []) walk(target, [...way, file]);
    done.add(file);
  };
  for (const file of imports.keys()) walk(file, []);
  return found;
}

/** Whatever decides by the phase of the log, or cuts an engine from its signal, does so behind everybody's back. */
const hiddenWires = (file: string, text: string): string[] =>
  [
    [/\bengine\.signal\s*=[^=]/, 'assigns engine.signal'],
    [/\.onAway\s*=[^=]/, 'assigns onAway'],
    [/\blog\.phase\b/, 'reads or sets log.phase'],
  ].flatMap(([form, what]) => ((form as RegExp).test(codeOf(text)) ? [`${file} ${what}`] : []));

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.[cm]?[tj]sx?$/.test(name),
);
const texts = new Map(files.map((file) => [file, readFileSync(join(source, file), 'utf8')] as const));
const each = (look: (file: string, text: string) => string[]): string[] =>
  [...texts].flatMap(([file, text]) => look(file, text));

describe('the borders between rooms', () => {
  it('are crossed by no file', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(each(crossings)).toEqual([]);
  });

  it('are around every folder', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !isKnown(room))).toEqual([]);
  });

  it.each([
    ['release/tag.ts', "import type { x } from '../progress/event.ts';", ['progress/event.ts']],
    ['engine/container.ts', "export * from './api/api.ts';", ['engine/api/api.ts']],
    ['engine/cli/down.ts', "import {\n  a,\n  b,\n} from '../../compose/edit.ts';", ['compose/edit.ts']],
    ['instance/run/launch.ts', "await import('../../agent/main.ts');", ['agent/main.ts']],
    ['client/main.ts', 'import "../web/notice.ts";', ['web/notice.ts']],
    ['agent/log/log.ts', "import { x } from '../state/journal.ts';", ['agent/state/journal.ts']],
    ['agent/update.ts', "import { x } from './resume/later-change.ts';\nimport { z } from 'semver';", []],
    ['agent/plan/version-sentences.ts', "// from '../update.ts'\n/* import '../x.ts' */", []],
  ])('are seen in %s: %j', (file, text, targets) => {
    expect(crossings(file, text)).toEqual(targets.map((target) => `${file} imports ${target}`));
  });
});

describe('the house', () => {
  it('is entered by the doors of its rooms', () => {
    const beside = ([file, text]: [string, string]) =>
      targetsOf(file, text)
        .filter((target) => doors.some((room) => dirname(target) === room && dirname(file) !== room))
        .filter((target) => !target.endsWith('/index.ts'))
        .map((target) => `${file} imports ${target}`);
    expect([...texts].flatMap(beside)).toEqual([]);
  });

  it('answers requests above the domain', () => {
    const isHttp = (file: string) => file.startsWith('instance/http/');
    const importers = [...texts].filter(
      ([file, text]) => !isHttp(file) && targetsOf(file, text).some((target) => isHttp(target)),
    );
    expect(importers.map(([file]) => file).sort()).toEqual(httpImporters);
  });

  it('has no circle of imports', () => {
    expect(circles(new Map([...texts].map(([file, text]) => [file, targetsOf(file, text)])))).toEqual([]);
  });

  it('has no folder for one file', () => {
    const folders = Map.groupBy(files, dirname);
    expect([...folders].filter(([, list]) => list.length === 1).map(([folder]) => folder)).toEqual([]);
  });

  it('decides without asking', () => {
    expect(
      each((file, text) => (deciders.some((form) => form.test(file)) ? questions(file, text) : [])),
    ).toEqual([]);
  });

  it('has no wire that nobody sees', () => {
    expect(each(hiddenWires)).toEqual([]);
  });

  it('has the clock of the machine read by few', () => {
    const updater = [...texts].filter(([file]) => !/^(?:instance|feed|client|web)\//.test(file));
    const readers = updater.filter(([, text]) => readsWallClock(text)).map(([file]) => file);
    expect(readers.sort()).toEqual(wallClockReaders.map(([file]) => file));
  });

  it.each(writtenOnce)('writes %s in %s alone', (name, file) => {
    const holders = [...texts].filter(([, text]) => codeOf(text).includes(name)).map(([holder]) => holder);
    expect(holders).toEqual([file]);
  });

  it('exports each name once', () => {
    const exporters = new Map<string, string[]>();
    for (const [file, text] of texts)
      for (const name of exportedNames(text)) exporters.set(name, [...(exporters.get(name) ?? []), file]);
    const twice = [...exporters].filter(([, files]) => files.length > 1).map(([name]) => name);
    expect(twice.sort()).toEqual(exportedTwice);
  });

  it('is looked at by what sees something', () => {
    expect(questions('a.ts', 'async function f(engine: Engine) {}')).toHaveLength(1);
    expect(questions('a.ts', "import { join } from 'node:path'; // await nobody")).toEqual([]);
    expect(readsWallClock('const late = Date.now() > end;')).toBe(true);
    expect(readsWallClock('new Date(given); // not Date.now()')).toBe(false);
    expect(circles(new Map(Object.entries({ a: ['b', 'c'], b: ['d'], c: [], d: ['b'] })))).toHaveLength(1);
    expect(hiddenWires('a.ts', "if (log.phase === 'done') return;")).toHaveLength(1);
  });
});
