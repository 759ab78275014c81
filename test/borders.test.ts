import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** Rooms that every other may build on, and what each may import besides itself. */
const ground: Record<string, readonly string[]> = {
  'core/progress': [],
  'core/release': [],
  'core/files': ['core/progress'],
  'core/compose': ['core/files', 'core/release', 'core/progress'],
  wire: [],
  presentation: ['core/release', 'wire'],
  'engine/http': [],
  engine: ['engine/http', 'core/files', 'core/progress'],
  'engine/cli': ['engine', 'engine/http', 'core/files', 'core/progress'],
  'engine/api': ['engine', 'engine/cli', 'engine/http', 'core/files', 'core/progress'],
  feed: ['core/release', 'wire'],
  provenance: ['core/files', 'core/release'],
  notify: ['core/progress'],
};

const run = ['run', 'run/log', 'run/state'];

/** The rooms of a half, which may import besides what is named all of the ground. `''` is the half's own folder. */
const halves: Record<string, Record<string, readonly string[] | 'all'>> = {
  updater: {
    'run/log': [],
    'run/state': ['run/log'],
    run: ['run/log'],
    plan: ['run', 'run/log'],
    data: run,
    'compose/proof': [],
    'compose/drift': ['run', 'run/log', 'compose/inspect'],
    'compose/inspect': [...run, 'plan'],
    'compose/plan': [...run, 'plan', 'data', 'compose/inspect', 'compose/proof'],
    'compose/facts': [
      ...run,
      'plan',
      'data',
      'compose/drift',
      'compose/inspect',
      'compose/plan',
      'compose/proof',
    ],
    'compose/pull': ['run', 'run/log', 'plan', 'compose/facts', 'compose/inspect', 'compose/plan'],
    'compose/replace': [...run, 'data', 'compose/inspect', 'compose/pull'],
    'compose/loop': [...run, 'data', 'compose/inspect', 'compose/plan', 'compose/pull', 'compose/replace'],
    'compose/resume': [...run, 'data', 'compose/inspect', 'compose/loop', 'compose/pull', 'compose/replace'],
    'compose/bump': [...run, 'compose/inspect', 'compose/proof'],
    compose: [
      ...run,
      'plan',
      'data',
      'compose/drift',
      'compose/facts',
      'compose/inspect',
      'compose/loop',
      'compose/plan',
      'compose/pull',
      'compose/replace',
      'compose/resume',
    ],
    report: [...run, 'compose/inspect'],
    swarm: [...run, 'plan', 'compose/bump', 'compose/inspect', 'compose/proof', 'compose/pull'],
    commands: 'all',
  },
  server: {
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
    serve: 'all',
  },
};

/** Programs of their own, with what of the ground they may import. */
const programs: Record<string, readonly string[]> = {
  client: ['feed', 'core/files', 'core/progress', 'presentation', 'provenance', 'core/release', 'wire'],
  web: ['core/progress', 'core/release', 'presentation', 'wire'],
};

/** The files outside `server/http` that may import it: the domain knows nothing of HTTP. */
const httpImporters = ['server/index.ts', 'server/testing/scripted-updates.ts'];

/** Rooms whose `index.ts` alone is imported from outside. */
const doors = ['updater/compose/drift', 'updater/swarm'];

/** What decides, from facts that it is given: it asks nobody, and so has nothing to wait for. */
const deciders = [
  /^updater\/plan\/(?:release-plan|check-required-release)\.ts$/,
  /^updater\/compose\/plan\//,
  /^updater\/compose\/drift\/(?!facts|index)/,
  /^updater\/compose\/inspect\/services\//,
  /^server\/run\/plan-resume\.ts$/,
  /^server\/(?:contract\/time-window|schedule\/decide|run\/plan-prefetch)\.ts$/,
  /^presentation\//,
  /^web\/model\//,
  /^updater\/compose\/loop\/next-step\.ts$/,
  /^updater\/compose\/replace\/(?:replace-steps|health|others-watch)\.ts$/,
  /^updater\/compose\/replace\/rollback\/(?:restore-steps|find-losses)\.ts$/,
  /^updater\/compose\/resume\/(?:plan-earlier|later-change)\.ts$/,
  /^updater\/data\/(?:declare|choose-mounts|judge-rollback)\.ts$/,
  /^updater\/swarm\/(?:choose-stack|next-write|plan-earlier|plan-moves|plan-pull|specs|tasks)\.ts$/,
  /^updater\/run\/state\/(?:changeover|run-state|was-interrupted)\.ts$/,
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
  ['.svc-updater', 'core/progress/state-name.ts'],
  ['compose.cluster.yaml', 'updater/compose/inspect/installation.ts'],
];

/**
 * Who in the updater may read the clock of the machine, which anybody may set at any moment: to say when something was,
 * never how long it took or is waited for.
 */
const wallClockReaders: readonly [file: string, what: string][] = [
  ['updater/commands/main.ts', 'when the run began'],
  ['updater/compose/replace/save.ts', 'when the data was saved'],
  ['updater/run/log/log.ts', 'the time of a line'],
  ['updater/run/state/journal.ts', 'the folder of a journal that is put aside'],
  ['updater/run/state/lock.ts', 'since when the lock is held'],
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

const rooms = [
  ...Object.keys(ground),
  ...Object.keys(programs),
  ...Object.entries(halves).flatMap(([half, inner]) =>
    Object.keys(inner).map((room) => (room === '' ? half : `${half}/${room}`)),
  ),
].sort((a, b) => b.length - a.length);

/** The room that a file is in: the innermost whose folder holds it, `engine/cli` or `updater/compose/plan`. */
const roomOf = (file: string): string => rooms.find((room) => file.startsWith(`${room}/`)) ?? dirname(file);

function mayImport(room: string, other: string): boolean {
  if (room === other) return true;
  const own = ground[room] ?? programs[room];
  if (own) return own.includes(other);
  if (other in ground) return true;
  const [half = ''] = room.split('/');
  const allowed = halves[half]?.[room.slice(half.length + 1)];
  return (
    other.startsWith(half) &&
    (allowed === 'all' || (allowed?.includes(other.slice(half.length + 1)) ?? false))
  );
}

const isKnown = (room: string): boolean => rooms.includes(room);

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
    ['core/release/tag.ts', "import type { x } from '../progress/event.ts';", ['core/progress/event.ts']],
    ['engine/container.ts', "export * from './api/swarm.ts';", ['engine/api/swarm.ts']],
    [
      'engine/cli/down.ts',
      "import {\n  a,\n  b,\n} from '../../core/compose/edit.ts';",
      ['core/compose/edit.ts'],
    ],
    ['server/run/launch.ts', "await import('../../updater/commands/main.ts');", ['updater/commands/main.ts']],
    ['client/main.ts', 'import "../web/notice.ts";', ['web/notice.ts']],
    ['updater/run/log/log.ts', "import { x } from '../state/journal.ts';", ['updater/run/state/journal.ts']],
    [
      'updater/compose/index.ts',
      "import { x } from './resume/later-change.ts';\nimport { z } from 'semver';",
      [],
    ],
    ['updater/compose/plan/version-sentences.ts', "// from '../index.ts'\n/* import '../x.ts' */", []],
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
    const isHttp = (file: string) => file.startsWith('server/http/');
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
    const updater = [...texts].filter(([file]) => !/^(?:server|feed|client|presentation|web)\//.test(file));
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
