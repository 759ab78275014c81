import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clientCommands } from '../src/client/client-commands.ts';
import { parseClientCommand } from '../src/client/command-line/parse-client-command.ts';
import { errorCodes, explanationOf } from '../src/core/errors/update-error.ts';
import { svcProduct } from '../src/core/names/product.ts';
import { exitCodes } from '../src/core/progress/outcome.ts';
import { parseCommandLine } from '../src/updater/run/options/command-line.ts';
import { environmentVariableOf, updateOptionTable } from '../src/updater/run/options/option-table.ts';
import {
  agentRows,
  callsOfTrace,
  commandsOfSource,
  covers,
  isOfLibrary,
  isOfUpdater,
  libraryRows,
  requestsOfSource,
  sources,
  withoutNames,
} from './documents/calls.ts';
import { codeOf, commandsOf, documents, read, root, tablesOf } from './documents/documents.ts';
import { allCells } from './matrix/cells.ts';

const campaigns = [
  ...(/^CAMPAIGNS='\n([\s\S]*?)'$/m.exec(read('scripts/campaign'))?.[1] ?? '').matchAll(/^\S+/gm),
].map(([name]) => name);
const allPrograms = [
  'faults/main',
  'faults/restore-kills',
  'faults/swarm-faults',
  'bed/main',
  'products/choose',
  'fuzz/main',
  'matrix/main',
].map((name) => read(`test/${name}.ts`));

const unique = (list: readonly string[]): string[] => [...new Set(list)].sort();

describe('a command in a document', () => {
  const shown = unique(documents.flatMap((path) => commandsOf(read(path))));
  const startsWith = (start: string) =>
    shown.filter((command) => command === start || command.startsWith(`${start} `));
  const words = (command: string): string[] =>
    command
      .replace(/ > .*/, '')
      .split(/ (?!-D )/)
      .filter(Boolean);

  it.each(startsWith('svc').map((command) => command.slice(4)))(
    'is accepted by the client: svc %s',
    (line) => {
      const asked = words(line);
      if (asked.join() !== '--version') expect(() => parseClientCommand(asked, clientCommands)).not.toThrow();
    },
  );

  it.each(
    startsWith('docker run').flatMap(
      (command) => / [\w./-]*svc-updater:\w+ (.*)$/.exec(command)?.slice(1) ?? [],
    ),
  )('is accepted by the updater: %s', (line) => {
    expect(() => parseCommandLine(words(line), {})).not.toThrow();
  });

  it.each(shown.filter((command) => command.startsWith('scripts/')))(
    'uses a script and options that exist: %s',
    (command) => {
      const [script = '', ...args] = words(command);
      const text = read(script);
      for (const option of args.filter((word) => word.startsWith('--'))) {
        const programs = script === 'scripts/campaign' ? allPrograms : [text];
        expect(
          programs.some((each) => each.includes(option)),
          option,
        ).toBe(true);
      }
      if (script === 'scripts/campaign' && args[0] !== undefined) expect(campaigns).toContain(args[0]);
      if (script === 'scripts/bench' && args[0] !== undefined && !args[0].startsWith('--'))
        expect(existsSync(`${root}test/bench/${args[0]}.ts`)).toBe(true);
    },
  );

  it.each(startsWith('npm run'))('is a script of package.json: %s', (command) => {
    expect(Object.keys(JSON.parse(read('package.json')).scripts)).toContain(words(command)[2]);
  });

  it('exists for each campaign in docs/development.md, in scripts/campaign and in the workflow', () => {
    const table = tablesOf(read('docs/development.md')).find(({ head }) => head[0] === 'campaign');
    expect(table?.rows.flatMap(([name = '']) => codeOf(name))).toEqual(campaigns);
    const scheduled =
      /campaign: \[(.*)\]/.exec(read('.github/workflows/campaigns.yml'))?.[1]?.split(', ') ?? [];
    expect(scheduled.map((each) => each.split(' ')[0])).toEqual(campaigns);
  });
});

describe("SECURITY.md's tables of calls", () => {
  const texts = sources();
  const [library = [], updater = []] = [isOfLibrary, isOfUpdater].map((isIn) =>
    [...texts].flatMap(([file, text]) => (isIn(file) ? [text] : [])),
  );

  it('list exactly the calls of the updater', () => {
    const made = updater.flatMap((text) => [...commandsOfSource(text), ...requestsOfSource(text)]);
    expect(unique(made)).toEqual(unique(agentRows.map(({ call }) => withoutNames(call))));
  });

  it('list exactly the calls of the server library', () => {
    expect(library.flatMap(commandsOfSource)).toEqual([]);
    const made = library.flatMap(requestsOfSource);
    expect(unique(made)).toEqual(unique(libraryRows.map(({ call }) => withoutNames(call))));
  });

  it('cover every file that starts a process or opens a socket', () => {
    const filesWith = (form: RegExp) =>
      [...texts].filter(([, text]) => form.test(text)).map(([file]) => file);
    const imports = (names: string) => new RegExp(`(?:from|import\\(|Module\\()[^;]*?'(?:${names})'`);
    // The client runs its downloaded file before it replaces itself.
    const ofClient = 'client/self-update/client-file.ts';
    const ofFiles = 'core/files/attributes.ts';
    // Runs in a helper container without the engine's socket: copies data, removes restore points and syncs.
    const ofData = 'updater/data/helper-program/rsync.ts';
    expect(filesWith(imports('execa|(?:node:)?child_process')).sort()).toEqual([
      ofClient,
      // Reads and sets the attributes of files.
      ofFiles,
      'engine/cli/run-command.ts',
      ofData,
    ]);
    const programs = [...(texts.get(ofFiles) ?? '').matchAll(/\brun\('([^']+)'/g)].map(
      ([, name]) => name ?? '',
    );
    expect(unique(programs)).toEqual(['getfattr', 'ls', 'setfattr']);
    for (const name of programs) expect(read('SECURITY.md')).toContain(`\`${name}\``);
    // Docker commands, and the definition of runCommand.
    expect(filesWith(/\brunCommand\(/).sort()).toEqual(['engine/cli/engine.ts', 'engine/cli/run-command.ts']);
    // Requests to the engine, and the recorder, which listens on a socket for compose; types and classes of addresses.
    const onHttp = ['engine/http/request.ts', 'updater/compose/inspect/engine-write-recorder.ts'];
    const types = [
      // In a container of a rehearsal's network: checks that nothing can be reached.
      'updater/data/helper-program/reach.ts',
      'updater/data/selection/find-external-databases.ts',
      'updater/run/log/mask.ts',
      'engine/http/engine-connection.ts',
      'feed/private-host.ts',
      'server/http/node-handler.ts',
    ];
    // Listens for the product and its proxy, and sends callbacks to the product.
    const ofServe = 'server/serve/serve-command.ts';
    expect(filesWith(imports('(?:node:)?(?:https?|http2|net|tls|dgram)')).sort()).toEqual(
      [...onHttp, ...types, ofServe].sort(),
    );
    // Notifications, callbacks and the API client, which is not in the updater; the feed is excluded.
    expect(
      filesWith(/\bfetch\(/)
        .filter((file) => !file.startsWith('feed/'))
        .sort(),
    ).toEqual([
      'notify/notifier.ts',
      'server/serve/product-callback-client.ts',
      'wire/api-client/update-api-client.ts',
    ]);
    expect(filesWith(/getBuiltinModule\(/).sort()).toEqual(onHttp);
  });

  it('list no call that SECURITY.md excludes', () => {
    const never = /It never calls ([^.]*?)[,.] and never/s.exec(read('SECURITY.md'))?.[1] ?? '';
    const words = codeOf(never).map((code) => code.replace('docker ', ''));
    expect(words).toContain('run');
    const called = agentRows.flatMap(({ call }) => call.split(/[ /]/));
    expect(words.filter((word) => called.includes(word))).toEqual([]);
  });

  it.each([
    [
      'trace 1 – 2 ms  docker compose --ansi never --project-directory /a --file /a/c.yaml config --format json (exit code 0)',
      'docker compose config',
    ],
    [
      'trace      1 –      2 ms  GET /containers/svc-updater/json (status 200)',
      'GET /containers/svc-updater/json',
    ],
  ])('cover %s', (line, call) => {
    expect(callsOfTrace(line)).toEqual([call]);
    expect(agentRows.some((row) => covers(row, call))).toBe(true);
  });
});

describe('links in documents', () => {
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replaceAll(' ', '-');
  const anchorsOf = (path: string) =>
    [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

  it.each([...documents, 'CHANGELOG.md', 'docs/frameworks/README.md'])(
    'have existing targets: %s',
    (path) => {
      for (const [, target = ''] of read(path).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue;
        const [file = '', anchor] = target.split('#');
        const other = file === '' ? path : normalize(join(dirname(path), file));
        expect(existsSync(`${root}${other}`), target).toBe(true);
        if (anchor !== undefined) expect(anchorsOf(other), target).toContain(anchor);
      }
    },
  );
});

describe('a page', () => {
  const pages = [...documents.filter((path) => path.startsWith('docs/')), 'docs/frameworks/README.md'];

  it.each(pages)('begins with its readers, and what they know or can do at its end: %s', (path) => {
    const [, first = ''] = /^# .*\n\n([\s\S]*?)\n\n/.exec(read(path)) ?? [];
    expect(first).toMatch(/^This page is (?:a reference )?for /);
    expect(first).toMatch(/After\sreading\s(?:this\spage|it),\syou\s(?:can|know)\s/);
  });

  it.each(pages.filter((path) => path !== 'docs/contract.md'))('has at most 400 lines: %s', (path) => {
    expect(read(path).trimEnd().split('\n').length).toBeLessThanOrEqual(400);
  });

  it('is listed in the README for exactly one reader', () => {
    const groups = tablesOf(read('README.md')).find(({ head }) => head[0] === 'reader')?.rows ?? [];
    expect(groups.map(([reader]) => reader)).toEqual([
      'I run an app',
      'I ship an app',
      'I operate a platform',
      'I change svc-updater',
    ]);
    const listed = groups.flatMap(([, cell = '']) =>
      [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target),
    );
    const others = ['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'LICENSE'];
    expect(listed.sort()).toEqual([...pages, ...others].sort());
  });
});

// Without an interval, each update waits 30 s for the first result of a health check.
it.each([
  ...documents,
  'test/larder/compose.yaml',
  'test/platform/deploy/compose.yaml',
  'test/platform/python/compose.yaml',
])('every health check in %s has a short interval', (path) => {
  const checks = [...read(path).matchAll(/healthcheck:(?: *\{.*\}|\n(?: {6,}\S.*\n)+)/g)].map(
    ([check]) => check,
  );
  expect(checks).toHaveLength(read(path).match(/^ +healthcheck:/gm)?.length ?? 0);
  expect(checks.filter((check) => !/\binterval: [1-5]s\b/.test(check))).toEqual([]);
});

it('the README has at most 120 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
});

it('the platform in Python has at most 80 lines', () => {
  expect(read('test/platform/python/app.py').trimEnd().split('\n').length).toBeLessThanOrEqual(80);
});

it('CHANGELOG.md lists at most 80 lines for a version', () => {
  for (const version of read('CHANGELOG.md').split(/^## /m)) {
    expect(version.split('\n').length, version.split('\n')[0]).toBeLessThanOrEqual(80);
  }
});

describe('the reference of the updater: docs/options.md and docs/error-codes.md', () => {
  const tables = ['docs/options.md', 'docs/error-codes.md'].flatMap((page) => tablesOf(read(page)));
  const rowsOf = (head: string) => tables.filter((each) => each.head[0] === head).flatMap(({ rows }) => rows);
  const plain = (cell: string) => cell.replaceAll('`', '');

  it('lists every option of update with its environment variable', () => {
    const listed = rowsOf('option').map(([option = '', variable = '']) => [
      codeOf(option)[0],
      codeOf(variable)[0]?.replace(/=.*/, ''),
    ]);
    expect(listed).toEqual(
      Object.keys(updateOptionTable).map((name) => [`--${name}`, environmentVariableOf(name) ?? undefined]),
    );
  });

  it('lists every outcome with its exit code', () => {
    const listed = rowsOf('exit code').flatMap(([code = '', outcomes = '']) =>
      codeOf(outcomes).map((outcome) => [outcome, code]),
    );
    const all = Object.entries(exitCodes).map(([outcome, code]) => [outcome, String(code)]);
    expect(Object.fromEntries(listed)).toEqual({ ...Object.fromEntries(all), cancelled: '130, 143' });
  });

  it('explains every error code with the texts of the source', () => {
    const explained = errorCodes
      .map((code) => ({ code, ...explanationOf(code, svcProduct) }))
      .filter(({ outcome }) => outcome !== 'usage');
    expect(rowsOf('code').map((row) => row.map(plain))).toEqual(
      explained.map(({ code, meaning, advice }) => [code, meaning, advice]),
    );
  });
});

describe('docs/contract.md', () => {
  const numbers = [...read('docs/contract.md').matchAll(/^\*\*(\d+\.\d+)\*\* /gm)].map(
    ([, number = '']) => number,
  );

  it('numbers its promises by heading, without gaps', () => {
    const heads = [...read('docs/contract.md').matchAll(/^## (\d+) /gm)].map(([, head]) => Number(head));
    expect(heads).toEqual(heads.map((_, index) => index + 1));
    const last = new Map<number, number>();
    for (const number of numbers) {
      const [head = 0, place = 0] = number.split('.').map(Number);
      expect(place, number).toBe((last.get(head) ?? 0) + 1);
      last.set(head, place);
    }
    expect([...last.keys()]).toEqual(heads);
  });

  it('has at most 69,100 bytes, and no sentence of more than 40 words', () => {
    const text = read('docs/contract.md');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(69_100);
    const prose = text.replace(/^```[\s\S]*?^```$/gm, '').replace(/^\|.*$/gm, '');
    const sentences = prose.split(/\n\n|\n(?=- |\d+\. )/).flatMap((block) => block.split(/(?<=[.!?])\s+/));
    expect(sentences.filter((sentence) => sentence.trim().split(/\s+/).length > 40)).toEqual([]);
  });

  it('contains every promise that a comment refers to', () => {
    const folders = ['src', 'test', 'scripts'];
    const files = folders.flatMap((folder) =>
      readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length)),
    );
    for (const file of files) {
      expect(read(file), `${file} points at a document that is not here`).not.toMatch(/\bSPEC\b[ .,]*\d/);
      for (const [, number] of read(file).matchAll(/docs\/contract\.md,? (\d+\.\d+)/g)) {
        expect(numbers, `${file} points at ${number}`).toContain(number);
      }
    }
  });
});

it('docs/development.md gives a reason for exactly the dependencies of package.json', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  const table = tablesOf(read('docs/development.md')).find(({ head }) => head[0] === 'dependency');
  const named = table?.rows.flatMap(([cell = '']) => codeOf(cell)) ?? [];
  expect(unique(named)).toEqual(unique(Object.keys({ ...dependencies, ...devDependencies })));
});

it.each(['docs/design.md', 'docs/run.md', 'docs/code.md'])('%s mentions only files that exist', (page) => {
  const named = [...read(page).matchAll(/`(src\/[\w/.-]+\.ts)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([]);
});

it('docs/matrix.md lists a test or a cell of the matrix for every supported environment', () => {
  const table = tablesOf(read('docs/matrix.md')).find(({ head }) => head[0] === 'environment');
  const cells = unique(allCells.map(({ engine }) => engine));
  expect(table?.rows.length).toBeGreaterThan(10);
  for (const [what = '', then = '', , by = ''] of table?.rows ?? []) {
    const shown = codeOf(by);
    expect(['supported', 'supported with limits', 'refused', 'not tested', 'not supported']).toContain(then);
    if (then !== 'not supported' && then !== 'not tested')
      expect(shown.length > 0 || by.includes('(#the-tables)'), what).toBe(true);
    for (const name of shown) expect(cells.includes(name) || existsSync(`${root}${name}`), name).toBe(true);
  }
});

it('docs/code.md lists exactly the folders of the source, with their sizes', () => {
  const rows = tablesOf(read('docs/code.md')).find(({ head }) => head[0] === 'folder')?.rows ?? [];
  const limits = rows.flatMap(([folder = '', limit = '']) =>
    codeOf(folder).map((name) => [name, Number(limit.replace(',', ''))] as const),
  );
  const rooms = Map.groupBy([...sources()], ([file]) => dirname(`src/${file}`));
  const named = limits.map(([name]) => name).filter((name) => name.startsWith('src'));
  expect(unique(named)).toEqual(unique([...rooms.keys()]));
  const sizes = [...rooms].map(([room, list]) => {
    const lines = list.reduce((sum, [, text]) => sum + text.split('\n').length - 1, 0);
    return { room, lines, limit: new Map(limits).get(room) ?? 0 };
  });
  // A limit far above the actual size would not limit anything.
  expect(sizes.filter(({ lines, limit }) => lines > limit || lines < limit * 0.9 - 50)).toEqual([]);
});
