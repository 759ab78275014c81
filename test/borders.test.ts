import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** What each room may import besides itself. */
const borders: Record<string, readonly string[]> = {
  release: [],
  progress: [],
  wire: [],
  files: ['progress'],
  compose: ['files', 'release', 'progress'],
  engine: ['files', 'progress'],
  feed: ['release', 'wire'],
  agent: ['compose', 'engine', 'feed', 'files', 'release', 'progress', 'wire'],
  instance: ['compose', 'engine', 'feed', 'files', 'release', 'progress', 'wire'],
  client: ['feed', 'files', 'progress', 'release', 'wire'],
  web: ['progress', 'release', 'wire'],
};

/** Every module that a text imports, statically or not, for types or not. */
function importsOf(text: string): string[] {
  const code = text.replace(/\/\*.*?\*\/|(?<=^|\s)\/\/[^\n]*/gs, '');
  const form = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*|\bnew\s+URL\s*\(\s*)(['"`])([^'"`\n]+)\1/g;
  return [...code.matchAll(form)].map(([, , name = '']) => name);
}

/** The imports of one file, by its path under `src`, that cross a border. */
function crossings(file: string, text: string): string[] {
  const room = file.split('/')[0] ?? '';
  return importsOf(text)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(source, resolve(source, dirname(file), name)))
    .filter((target) => {
      const other = target.split('/')[0] ?? '';
      return other !== room && !(borders[room] ?? []).includes(other);
    })
    .map((target) => `${file} imports ${target}`);
}

describe('the borders between rooms', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.[cm]?[tj]sx?$/.test(name),
  );

  it('are crossed by no file', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap((file) => crossings(file, readFileSync(join(source, file), 'utf8')))).toEqual([]);
  });

  it('are around every folder', () => {
    expect(
      [...new Set(files.map((file) => file.split('/')[0]))].filter(
        (room) => !(room !== undefined && room in borders),
      ),
    ).toEqual([]);
  });

  it.each([
    [
      'release/tag.ts',
      "import { x } from '../progress/event.ts';",
      ['release/tag.ts imports progress/event.ts'],
    ],
    [
      'progress/line.ts',
      "import type { Tag } from '../release/tag.ts';",
      ['progress/line.ts imports release/tag.ts'],
    ],
    [
      'compose/edit.ts',
      "export * from '../engine/cli/compose.ts';",
      ['compose/edit.ts imports engine/cli/compose.ts'],
    ],
    [
      'engine/deep/down.ts',
      "import {\n  a,\n  b,\n} from '../../compose/edit.ts';",
      ['engine/deep/down.ts imports compose/edit.ts'],
    ],
    [
      'instance/launch.ts',
      "const { main } = await import('../agent/main.ts');",
      ['instance/launch.ts imports agent/main.ts'],
    ],
    ['client/main.ts', 'import "../web/notice.ts";', ['client/main.ts imports web/notice.ts']],
    ['web/notice.ts', "import x from '../../test/x.ts';", ['web/notice.ts imports ../test/x.ts']],
    [
      'agent/plan.ts',
      "import { x } from '../instance/state.ts';\nimport { y } from '../compose/pins.ts';",
      ['agent/plan.ts imports instance/state.ts'],
    ],
    [
      'agent/plan.ts',
      "// from '../instance/state.ts'\n/* import '../web/x.ts' */\nimport { a } from './log.ts';\nimport { z } from 'semver';",
      [],
    ],
    [
      'compose/pins.ts',
      "import { a } from '../release/tag.ts';\nimport { b } from '../progress/event.ts';",
      [],
    ],
  ])('are seen in %s: %j', (file, text, expected) => {
    expect(crossings(file, text)).toEqual(expected);
  });
});
