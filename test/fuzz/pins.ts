import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { readComposeFile } from '../../src/compose/compose-file.ts';
import { draftOf, withEdits } from '../../src/compose/draft.ts';
import type { Edit } from '../../src/compose/edit.ts';
import { findPin, sharesPin } from '../../src/compose/find-pin.ts';
import type { Pin } from '../../src/compose/pin.ts';
import { movedReference, pinEdits } from '../../src/compose/pin-edits.ts';
import { allFiles, type ProjectFiles } from '../../src/compose/project-files.ts';
import { parseReference } from '../../src/compose/reference.ts';
import { namesOf, secretFilesOf, secretsOfProject } from '../../src/compose/secret-texts.ts';
import { variablesOf } from '../../src/compose/variables.ts';
import type { TextFile } from '../../src/files/text-file.ts';
import { UpdateError } from '../../src/progress/update-error.ts';
import { movedTag, plannedTarget } from '../compose/moved-tag.ts';
import { expectTraced, isInvalid } from './env-file.ts';
import { anyEnvFiles } from './env-texts.ts';
import {
  bump,
  digestOf,
  type Layout,
  layout,
  mutatedLayout,
  project,
  version,
  type Write,
} from './layouts.ts';
import { attempt, type Target } from './target.ts';

// The pins of a project: found, moved by edits, and read again.

/** However the files are written, the version text changes, and nothing else; twice is once; there and back is where it was. */
export const pins: Target<[write: Write, from: string, to: string]> = {
  name: 'pins',
  share: 100,
  cases: fc.tuple(layout, version, version),
  check([write, from, to]) {
    const there = bump(write(from), to);
    assert.deepEqual(there, write(to));
    assert.deepEqual(bump(there, to), there);
    assert.deepEqual(bump(there, from), write(from));
  },
};

const target = plannedTarget('v99.9.9');
const isRefusal = (error: Error) => error instanceof UpdateError;

/** What the files say of a service; null where that is refused. */
const pinIn = (files: ProjectFiles, service: string) => attempt(() => findPin(files, service), isRefusal);

/** The edits that move both pins, and what the services run afterwards; null where they are refused. */
function edited(
  files: ProjectFiles,
  found: readonly Pin[],
): { edits: Edit[]; runs: Map<string, string> } | null {
  const moves = found.map((pin) => ({ pin, tag: movedTag(pin.tag, target), digest: digestOf('99.9.9') }));
  const edits = attempt(() => pinEdits(files, moves), isRefusal);
  return edits && { edits, runs: new Map(moves.map((move) => [move.pin.service, movedReference(move)])) };
}

/** Files that somebody has edited: they are read or refused, and an edit of them changes what was asked for alone. */
export const composeFiles: Target<Layout> = {
  name: 'compose-files',
  share: 60,
  cases: mutatedLayout,
  check(texts) {
    const files = project(texts);
    secretsOfProject(files);
    secretFilesOf(files);
    namesOf(files);
    const found = ['app', 'worker'].flatMap((service) => pinIn(files, service) ?? []);
    for (const { resolved, referenceText } of found) {
      assert.equal(resolved.text, referenceText);
      expectTraced(
        resolved,
        new Map(allFiles(files).map(({ path, text }) => [path, text.replace(/\r(?!\n)/g, '\n')])),
      );
    }
    const change = edited(files, found);
    if (change === null) return;
    const after = withEdits(draftOf(files), change.edits).files;
    const services =
      attempt(() => files.composeFiles.flatMap((file) => readComposeFile(file).services), isRefusal) ?? [];
    for (const service of services) {
      const isMoved = change.runs.has(service);
      if (!isMoved && sharesPin(files, service, found)) continue;
      const before = pinIn(files, service)?.referenceText;
      // What has to do with the same variable moves as well; who plans an update asks for that.
      const runs = pinIn(after, service)?.referenceText;
      if (isMoved) assert.equal(runs, change.runs.get(service));
      else if (before !== runs) assert.match(JSON.stringify(texts), /\$/);
    }
    const again = found.map(({ service }) => findPin(after, service));
    assert.deepEqual(edited(after, again)?.edits, []);
  },
};

let directory: Promise<string> | null = null;
const run = promisify(execFile);

/** What compose makes of the files, by their paths; null where it rejects them. */
async function viewOf(files: readonly TextFile[], options: readonly string[]): Promise<View | null> {
  directory ??= mkdtemp(join(tmpdir(), 'fuzz-compose-'));
  const home = await directory;
  await rm(home, { recursive: true });
  for (const { path, text } of files) {
    await mkdir(join(home, dirname(path)), { recursive: true });
    await writeFile(join(home, path), text);
  }
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  try {
    const { stdout } = await run('docker', ['compose', ...options, 'config', '--format', 'json'], {
      env,
      cwd: home,
    });
    return JSON.parse(stdout);
  } catch (error) {
    // What is said by compose of the files; anything else is no answer.
    if (typeof (error as { code?: unknown }).code === 'number') return null;
    throw error;
  }
}

const projectView = (files: ProjectFiles) =>
  viewOf(
    allFiles(files),
    files.composeFiles.flatMap(({ path }) => ['-f', path.slice(1)]),
  );

type View = { services: Record<string, { image?: string; labels?: Record<string, string> }> };

/** The same beside compose's own view, before and after. */
export const composeView: Target<Layout> = {
  name: 'compose-view',
  share: 4,
  cases: fc.oneof(
    mutatedLayout,
    fc.tuple(layout, version).map(([write, v]) => write(v)),
  ),
  async check(texts) {
    const files = project(texts);
    const found = ['app', 'worker'].flatMap((service) => pinIn(files, service) ?? []);
    const change = edited(files, found);
    const before = await projectView(files);
    // What compose reads we read, too, if only to refuse it.
    for (const service of ['app', 'worker'])
      if (parseReference(before?.services[service]?.image ?? '') !== null)
        attempt(
          () => findPin(files, service),
          (error) => isRefusal(error) && !isInvalid(error),
        );
    // What one variable decides beside the pins, whoever plans an update asks for.
    const decidesMore = /labels: \{a|X=\$V/.test(JSON.stringify(texts));
    if (before === null || change === null || found.length < 2 || decidesMore) return;
    for (const { service, referenceText } of found)
      assert.equal(before.services[service]?.image, referenceText);
    const after = await projectView(withEdits(draftOf(files), change.edits).files);
    const services = { ...before.services };
    for (const [service, image] of change.runs) services[service] = { ...services[service], image };
    // An anchor is where the pin is written.
    const anchor = after && 'x-image' in after ? { 'x-image': after['x-image'] } : {};
    assert.deepEqual(after, { ...before, services, ...anchor });
  },
  end: async () => {
    if (directory !== null) await rm(await directory, { recursive: true, force: true });
    directory = null;
  },
};

const names = ['A', 'B', 'C', 'D', 'V', 'Q'];

/** What the variables of an env file are worth to compose. */
export const envView: Target<string> = {
  name: 'env-view',
  share: 6,
  cases: anyEnvFiles.map(([text = '']) => text),
  async check(text) {
    const lookup = attempt(() => variablesOf([{ path: '/.env', text }]), isInvalid);
    const labels = Object.fromEntries(names.map((name) => [name, `\${${name}-<unset>}`]));
    const project = JSON.stringify({ name: 'p', services: { app: { image: 'x', labels } } });
    const files = [
      { path: '/.env', text },
      { path: '/compose.json', text: project },
    ];
    const view = await viewOf(files, ['-f', 'compose.json']);
    if (view === null) return;
    if (lookup === null) throw new Error('compose reads it');
    for (const name of names) {
      const value = attempt((): string => lookup(name)?.text ?? '<unset>', isInvalid);
      // What compose prints could be a compose file again.
      if (value !== null) assert.equal(value, view.services.app?.labels?.[name]?.replaceAll('$$', '$'), name);
    }
  },
  ...(composeView.end && { end: composeView.end }),
};
