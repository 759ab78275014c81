import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { exportedNames } from './exported-names.ts';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** Modules in a folder, by their names in it. */
const below = (folder: string, names: string): string[] =>
  names.split(' ').map((name) => `${folder}/${name}`);

/** Shared modules that every other module may import, and the modules that each of them may import. */
const ground: Record<string, readonly string[]> = {
  'core/text': [],
  'core/progress': ['core/text'],
  'core/names': ['core/text'],
  'core/errors': ['core/names', 'core/progress'],
  'core/cancellation': [],
  'core/command-line': ['core/errors'],
  'core/mounts': ['core/errors'],
  'core/files': ['core/errors', 'core/mounts', 'core/names'],
  'core/release': [],
  'core/compose': ['core/errors', 'core/files', 'core/release'],
  wire: [],
  presentation: ['core/release', 'wire'],
  'engine/http': [],
  'engine/objects': ['core/mounts'],
  'engine/registry': ['core/errors', 'core/files', 'engine/objects'],
  'engine/self': ['core/mounts', 'engine/objects'],
  'engine/comparison': ['engine/http', 'engine/objects'],
  engine: ['core/mounts', 'engine/http', 'engine/objects', 'engine/registry', 'engine/self'],
  'engine/cli': [
    'engine',
    ...below('core', 'cancellation command-line errors'),
    ...below('engine', 'http objects registry'),
  ],
  'engine/swarm': ['core/errors', 'engine', 'engine/cli', 'engine/http', 'engine/objects'],
  'engine/containers': [
    'engine',
    ...below('core', 'errors files'),
    ...below('engine', 'cli comparison http objects'),
  ],
  feed: ['core/release', 'wire'],
  provenance: ['core/compose', 'core/files', 'core/release'],
  notify: ['core/cancellation', 'core/text'],
};

const run = ['run', 'run/log', 'run/state'];

/** Modules of updater and server. They may import the listed modules and all of `ground`. `''` is the top folder. */
const halves: Record<string, Record<string, readonly string[] | 'all'>> = {
  updater: {
    'run/log': [],
    'run/state': ['run/log'],
    run: ['run/log'],
    plan: ['run', 'run/log'],
    data: run,
    'compose/verify-edit': [],
    'compose/inspect': [...run, 'plan'],
    'compose/drift': ['run/log', 'compose/inspect'],
    'compose/plan': [...run, 'plan', 'data', 'compose/inspect', 'compose/verify-edit'],
    'compose/restore-point': [...run, 'data', 'compose/inspect'],
    'compose/checks': ['run', 'run/log', 'plan', 'data', ...below('compose', 'inspect plan restore-point')],
    'compose/prepare': [
      'run',
      'run/log',
      'plan',
      ...below('compose', 'checks drift inspect plan restore-point verify-edit'),
    ],
    'compose/pull': ['run', 'run/log', 'plan', ...below('compose', 'checks inspect plan prepare')],
    'compose/concurrent-changes': run,
    'compose/health': ['run', 'run/log'],
    'compose/replace': [...run, 'compose/concurrent-changes', 'compose/health', 'compose/pull'],
    'compose/verify': [...run, 'compose/concurrent-changes', 'compose/health', 'compose/replace'],
    'compose/data-services': [...run, 'data', 'compose/health', 'compose/inspect', 'compose/replace'],
    'compose/save': [...run, 'data', 'compose/data-services', 'compose/replace'],
    'compose/rollback': [
      ...run,
      'data',
      ...below('compose', 'concurrent-changes data-services health pull replace save'),
    ],
    'compose/finish': [
      ...run,
      'data',
      ...below('compose', 'concurrent-changes data-services inspect plan replace rollback verify'),
    ],
    'compose/loop': [
      ...run,
      'data',
      ...below(
        'compose',
        'concurrent-changes data-services finish health inspect plan pull replace rollback save verify',
      ),
    ],
    'compose/recovery': [
      ...run,
      'data',
      ...below('compose', 'data-services inspect loop pull replace rollback save'),
    ],
    'compose/rehearsal': [
      ...run,
      'data',
      ...below('compose', 'health inspect plan prepare restore-point verify'),
    ],
    'compose/enable': ['run', 'compose/inspect', 'compose/verify-edit'],
    'compose/bump': ['run', 'run/log', 'compose/inspect', 'compose/verify-edit'],
    compose: [
      ...run,
      'plan',
      'data',
      ...below('compose', 'checks concurrent-changes inspect loop plan prepare pull recovery rehearsal'),
    ],
    report: [...run, 'compose/inspect'],
    swarm: [...run, 'plan', 'compose/bump', 'compose/inspect', 'compose/verify-edit', 'compose/pull'],
    commands: 'all',
  },
  server: {
    '': 'all',
    contract: [],
    application: ['contract'],
    store: ['application', 'contract'],
    deployment: ['contract'],
    reasons: ['application', 'contract', 'deployment'],
    'available-update': ['application', 'contract', 'deployment', 'store'],
    run: ['application', 'available-update', 'contract', 'deployment', 'reasons', 'store'],
    prefetch: ['application', 'available-update', 'contract', 'deployment', 'run'],
    rehearsal: ['application', 'contract', 'deployment', 'run'],
    schedule: ['application', 'available-update', 'contract', 'rehearsal', 'run'],
    http: ['application', 'contract', 'reasons', 'run'],
    testing: [
      ...['application', 'available-update', 'contract', 'http', 'reasons', 'rehearsal', 'run', 'schedule'],
    ],
    serve: 'all',
  },
};

/** Separate programs, and the modules of `ground` that they may import. */
const programs: Record<string, readonly string[]> = {
  client: [
    'feed',
    'presentation',
    'provenance',
    'wire',
    ...below('core', 'command-line errors files names progress release text'),
  ],
  web: ['core/release', 'core/text', 'presentation', 'wire'],
};

/** The only files outside `server/http` that may import it: the domain must not depend on HTTP. */
const httpImporters = ['server/index.ts', 'server/testing/scripted-updates.ts'];

/** Modules of which other modules may import only `index.ts`. */
const doors = ['updater/compose/drift', 'updater/swarm'];

/** Planners: pure functions of their arguments, without input, output or waiting. */
const deciders = [
  /^updater\/plan\/(?:release-plan|check-required-release)\.ts$/,
  /^updater\/compose\/plan\//,
  /^updater\/compose\/drift\/(?!fetch-drift-input|index)/,
  /^updater\/compose\/inspect\/services\//,
  /^server\/run\/track\/plan-resume\.ts$/,
  /^server\/(?:contract\/time-window|schedule\/decide-automatic-update|prefetch\/plan-prefetch)\.ts$/,
  /^presentation\//,
  /^web\/model\//,
  /^updater\/compose\/loop\/next-step\.ts$/,
  /^updater\/compose\/(?:replace\/replace-steps|health\/health-evaluator)\.ts$/,
  /^updater\/compose\/concurrent-changes\/concurrent-compose-watch\.ts$/,
  /^updater\/compose\/rollback\/(?:list-restore-steps|find-container-differences)\.ts$/,
  /^updater\/compose\/recovery\/(?:plan-recovery|find-external-change)\.ts$/,
  /^updater\/data\/(?:find-rollback-obstacles|selection\/(?:evaluate-data|choose-mounts))\.ts$/,
  /^updater\/swarm\/services\/(?:choose-stack|specs|tasks)\.ts$/,
  /^updater\/swarm\/(?:record\/plan-stack-recovery|plan\/plan-service-updates|pull\/pull-services)\.ts$/,
  /^updater\/swarm\/rollout\/plan-stack-step\.ts$/,
  /^updater\/run\/state\/(?:rollout|run-state|interruption-predicate)\.ts$/,
];

/** Reasons why a file is not pure: it waits, reads a clock, or imports a system module. */
const questions = (file: string, text: string): string[] =>
  [
    [/\b(?:async|await|Promise)\b(?!-)/, 'waits'],
    [/\b(?:performance|Date)\.now\b/, 'reads a clock'],
    [/\bfrom 'node:(?!path')/, 'knows the system'],
  ].flatMap(([form, what]) => ((form as RegExp).test(codeOf(text)) ? [`${file} ${what}`] : []));

/** Names that only one file may contain, so that they are changed in one place. */
const writtenOnce: readonly [name: string, file: string][] = [
  ['com.docker.compose', 'engine/objects/labels.ts'],
  ['org.opencontainers', 'engine/objects/labels.ts'],
  ['.svc-updater', 'core/names/state-directory-name.ts'],
  ['compose.cluster.yaml', 'updater/compose/inspect/installation.ts'],
];

/**
 * Files of the updater that may read the system clock. It can be changed at any moment, so they may use it
 * only for timestamps, never to measure a duration or to wait.
 */
const wallClockReaders: readonly [file: string, what: string][] = [
  ['updater/commands/main.ts', 'when the run began'],
  ['updater/compose/save/save-data.ts', 'when the data was saved'],
  ['updater/run/log/run-log.ts', 'the time of a line'],
  ['updater/run/state/journal.ts', 'the folder of a journal that is put aside'],
  ['updater/run/state/lock.ts', 'since when the lock is held'],
];
const readsWallClock = (text: string): boolean =>
  /\bDate(?:\.now\b|\(\s*\)|(?![\w(.]))|\bTemporal\b/.test(codeOf(text));

/** The text without comments; text in a string that looks like a comment may be removed, too. */
const codeOf = (text: string): string => text.replace(/\/\*.*?\*\/|(?<=^|\s)\/\/[^\n]*/gs, '');

/** All modules that a text imports, including dynamic imports and imports of types. */
function importsOf(text: string): string[] {
  const form = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*|\bnew\s+URL\s*\(\s*)(['"`])([^'"`\n]+)\1/g;
  return [...codeOf(text).matchAll(form)].map(([, , name = '']) => name);
}

/** Imported files, as paths below `src`. */
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

/** The innermost module whose folder contains a file, such as `engine/cli` or `updater/compose/plan`. */
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

/** Imports of a file that the lists above do not allow. */
const crossings = (file: string, text: string): string[] =>
  targetsOf(file, text)
    .filter((target) => !mayImport(roomOf(file), roomOf(target)))
    .map((target) => `${file} imports ${target}`);

/** Import cycles, such as `a → b → a`. */
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

/** Hidden dependencies: code that depends on the log phase, or replaces the signal or callback of an engine. */
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

describe('imports between modules', () => {
  it('follow the list of allowed imports', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(each(crossings)).toEqual([]);
  });

  it('are restricted for every folder', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !isKnown(room))).toEqual([]);
  });

  it.each([
    ['core/release/tag.ts', "import type { x } from '../progress/event.ts';", ['core/progress/event.ts']],
    ['engine/objects/container.ts', "export * from '../cli/engine.ts';", ['engine/cli/engine.ts']],
    [
      'engine/cli/down.ts',
      "import {\n  a,\n  b,\n} from '../../core/compose/edit.ts';",
      ['core/compose/edit.ts'],
    ],
    [
      'server/run/launch/launch-updater.ts',
      "await import('../../../updater/commands/main.ts');",
      ['updater/commands/main.ts'],
    ],
    ['client/main.ts', 'import "../web/notice.ts";', ['web/notice.ts']],
    [
      'updater/run/log/run-log.ts',
      "import { x } from '../state/journal.ts';",
      ['updater/run/state/journal.ts'],
    ],
    [
      'updater/compose/index.ts',
      "import { x } from './recovery/find-external-change.ts';\nimport { z } from 'semver';",
      [],
    ],
    ['updater/compose/plan/version-sentences.ts', "// from '../index.ts'\n/* import '../x.ts' */", []],
  ])('are checked in %s: %j', (file, text, targets) => {
    expect(crossings(file, text)).toEqual(targets.map((target) => `${file} imports ${target}`));
  });
});

describe('the source', () => {
  it('imports the modules drift and swarm only by their index.ts', () => {
    const beside = ([file, text]: [string, string]) =>
      targetsOf(file, text)
        .filter((target) =>
          doors.some((room) => target.startsWith(`${room}/`) && !file.startsWith(`${room}/`)),
        )
        .filter((target) => !doors.some((room) => target === `${room}/index.ts`))
        .map((target) => `${file} imports ${target}`);
    expect([...texts].flatMap(beside)).toEqual([]);
  });

  it('imports server/http only from the listed files', () => {
    const isHttp = (file: string) => file.startsWith('server/http/');
    const importers = [...texts].filter(
      ([file, text]) => !isHttp(file) && targetsOf(file, text).some((target) => isHttp(target)),
    );
    expect(importers.map(([file]) => file).sort()).toEqual(httpImporters);
  });

  it('has no import cycle', () => {
    expect(circles(new Map([...texts].map(([file, text]) => [file, targetsOf(file, text)])))).toEqual([]);
  });

  it('has no folder with only one file', () => {
    const folders = Map.groupBy(files, dirname);
    expect([...folders].filter(([, list]) => list.length === 1).map(([folder]) => folder)).toEqual([]);
  });

  it('has no two folders that import each other, except a folder and its subfolder', () => {
    const pairs = new Set(
      [...texts].flatMap(([file, text]) =>
        targetsOf(file, text).map((target) => `${dirname(file)} ${dirname(target)}`),
      ),
    );
    const mutual = [...pairs].filter((pair) => {
      const [a = '', b = ''] = pair.split(' ');
      const isNested = a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
      return !isNested && pairs.has(`${b} ${a}`);
    });
    expect(mutual).toEqual([]);
  });

  it('has at most 12 files in a folder, and 400 lines in a file', () => {
    const folders = Map.groupBy(files, dirname);
    expect([...folders].filter(([, list]) => list.length > 12).map(([folder]) => folder)).toEqual([]);
    const tooLong = [...texts].filter(([, text]) => text.split('\n').length > 401);
    expect(tooLong.map(([file]) => file)).toEqual([]);
  });

  it('has a file for each pattern of a planner', () => {
    expect(deciders.filter((form) => !files.some((file) => form.test(file)))).toEqual([]);
  });

  it('has planners that do no input or output and read no clock', () => {
    expect(
      each((file, text) => (deciders.some((form) => form.test(file)) ? questions(file, text) : [])),
    ).toEqual([]);
  });

  it('does not depend on the log phase, and does not assign the signal or callback of an engine', () => {
    expect(each(hiddenWires)).toEqual([]);
  });

  it('reads the system clock in the updater only in the listed files', () => {
    const updater = [...texts].filter(([file]) => !/^(?:server|feed|client|presentation|web)\//.test(file));
    const readers = updater.filter(([, text]) => readsWallClock(text)).map(([file]) => file);
    expect(readers.sort()).toEqual(wallClockReaders.map(([file]) => file));
  });

  it.each(writtenOnce)('contains the name %s only in %s', (name, file) => {
    const holders = [...texts].filter(([, text]) => codeOf(text).includes(name)).map(([holder]) => holder);
    expect(holders).toEqual([file]);
  });

  it('exports each name once', () => {
    const exporters = new Map<string, string[]>();
    for (const [file, text] of texts)
      for (const name of exportedNames(text)) exporters.set(name, [...(exporters.get(name) ?? []), file]);
    const twice = [...exporters].filter(([, files]) => files.length > 1).map(([name]) => name);
    expect(twice).toEqual([]);
  });

  it('is checked by rules that find violations and ignore comments', () => {
    expect(questions('a.ts', 'async function f(engine: Engine) {}')).toHaveLength(1);
    expect(questions('a.ts', "import { join } from 'node:path'; // await nobody")).toEqual([]);
    expect(readsWallClock('const late = Date.now() > end;')).toBe(true);
    expect(readsWallClock('new Date(given); // not Date.now()')).toBe(false);
    expect(circles(new Map(Object.entries({ a: ['b', 'c'], b: ['d'], c: [], d: ['b'] })))).toHaveLength(1);
    expect(hiddenWires('a.ts', "if (log.phase === 'done') return;")).toHaveLength(1);
  });
});
