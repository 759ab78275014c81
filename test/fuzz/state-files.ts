import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import fc from 'fast-check';
import { UpdateError } from '../../src/core/errors/update-error.ts';
import {
  type RestorePointRecordData,
  readRestorePointRecord,
  restorePointLocationOf,
} from '../../src/updater/data/restore-point.ts';
import {
  formatUnfinishedRunMessage,
  hasMixedVersions,
  type JournalData,
  journalOutcomeFactsOf,
  readJournal,
} from '../../src/updater/run/state/journal.ts';
import { runNamePattern } from '../../src/updater/run/state/run-names.ts';
import { blueprint, changeover, container, ending, journalData, record } from '../build.ts';
import { jsonWords, mutatedJson, mutatedText } from './mutate.ts';
import { expectPlain, type Target } from './target.ts';

// Files in `.svc-updater/` (docs/contract.md 5.3), which the owner of the compose directory may have changed.

const run = '20261121T104207Z';
const half = '/opt/svc/.svc-updater/restore';
const journal = journalData({
  state: { at: 'rolling-back', from: 'replacing', ending: ending('failed') },
  tags: [{ reference: 'acme/svc:latest', imageId: 'sha256:1' }],
  containers: [record(container('app-1'))],
  changeover: changeover(),
  blueprints: [
    blueprint('1', {
      published: ['80:80'],
      copied: [{ path: '/a', content: 'b', mode: 0o644, uid: 0, gid: 0, modified: 0 }],
    }),
  ],
  point: {
    ...{ directory: `${half}/${run}`, state: 'restored', services: ['db'], inMemory: ['cache'] },
    riders: [{ id: 'aa', name: 'svc-vpn-1' }],
    ports: [{ service: 'db', ports: [5432] }],
    policies: [{ id: 'bb', policy: 'on-failure:3' }],
  },
  leftAlone: { paths: ['compose.yaml'], next: null },
  files: [
    {
      ...{
        path: '/opt/svc/compose.yaml',
        real: '/opt/svc/compose.yaml',
        before: '00',
        after: '01',
        owner: null,
      },
      ...{
        backup: `/opt/svc/.svc-updater/backup/${run}/compose.yaml`,
        temporary: '/opt/svc/.compose.yaml.new',
      },
    },
  ],
});
const mount: RestorePointRecordData['mounts'][number] = {
  ...{ service: 'db', where: 'db:/var/lib/postgresql/data', volume: 'svc_data', subpath: 'pg' },
  ...{ path: '/var/lib/docker/volumes/svc_data/_data', isFile: false, root: '/mnt', device: '8:1' },
  ...{ excluded: ['cache/tmp'], bytes: 3_000_000, files: 2 },
};
const point: RestorePointRecordData = {
  ...{
    format: 2,
    kind: 'update',
    images: ['sha256:ab'],
    fileHashes: [{ path: '/opt/svc/compose.yaml', sha256: 'ab' }],
    project: 'svc',
    directory: '/opt/svc',
    run,
    at: '2026-11-21T10:42:15.000Z',
  },
  ...{ version: 'v1.4.2', next: 'v1.5.0', services: ['db'], inMemory: ['cache'], mounts: [mount] },
  ...{
    hashes: ['0'.repeat(64)],
    excluded: ['files:/data'],
    bytes: 3_000_000,
    downtimeSeconds: 4.2,
    back: journal,
  },
};
const textOf = (...samples: object[]) =>
  fc
    .oneof(
      {
        weight: 3,
        arbitrary: mutatedJson(fc.constantFrom(...samples)).map((value) => JSON.stringify(value) ?? ''),
      },
      {
        weight: 1,
        arbitrary: mutatedText(fc.constantFrom(...samples.map((one) => JSON.stringify(one))), jsonWords),
      },
    )
    .map((text) => text.toWellFormed());

let made: Promise<string> | null = null;
/** The state directory of an instance, created once. */
const directory = (): Promise<string> => {
  made ??= mkdtemp(join(tmpdir(), 'fuzz-state-')).then(async (path) => {
    await mkdir(join(path, '.svc-updater', 'restore', run), { recursive: true, mode: 0o700 });
    return path;
  });
  return made;
};
const end = async () => {
  if (made !== null) await rm(await made, { recursive: true, force: true });
  made = null;
};

/** No value is an option of a command, or a relative path. */
function expectJournal(data: JournalData): void {
  const { project, services, files, containers, point } = data;
  for (const name of [project.name, ...services, ...containers.map(({ service }) => service)])
    assert.match(name, /^[^-/\0][^/\0]*$/);
  const paths = [
    project.directory,
    ...project.files,
    ...project.envFiles,
    ...files.flatMap((one) => [one.path, one.real, one.temporary]),
  ];
  for (const path of [...paths, ...files.flatMap(({ backup }) => backup ?? [])])
    assert.ok(isAbsolute(path) && !path.includes('\0'));
  if (point) assert.match(point.directory, /^\/.*\d{8}T\d{6}Z$/s);
  for (const name of [...(point?.services ?? []), ...(point?.riders ?? []).flatMap(({ id }) => id || [])])
    assert.match(name, /^[^-/\0][^/\0]*$/);
  for (const { policy } of point?.policies ?? []) assert.match(policy, /^[a-z-]+(?::\d+)?$/);
  assert.match(data.run, runNamePattern);
  // A report reads all of the journal.
  hasMixedVersions(data);
  assert.equal(typeof formatUnfinishedRunMessage(data), 'string');
  journalOutcomeFactsOf(data);
}

export const journals: Target<string> = {
  name: 'journals',
  share: 80,
  cases: textOf(journal, journalData()),
  end,
  async check(text) {
    const state = join(await directory(), '.svc-updater');
    await writeFile(join(state, 'journal.json'), text);
    const read = await readJournal(state);
    assert.ok(read !== null);
    if ('unreadable' in read) return assert.equal(read.unreadable, Buffer.from(text).toString());
    // Unknown fields are ignored.
    assert.partialDeepStrictEqual(JSON.parse(text), read);
    expectPlain(read);
    expectJournal(read);
  },
};

/** A record file: half of the records have a correct checksum, which anybody can compute. */
function recordOf(text: string, isSealed: boolean): string {
  if (!isSealed) return text;
  try {
    const value: unknown = JSON.parse(text);
    const sha256 = createHash('sha256').update(JSON.stringify(value)).digest('hex');
    return JSON.stringify({ sha256, point: value });
  } catch {
    return text;
  }
}

export const points: Target<string> = {
  name: 'points',
  share: 100,
  cases: fc
    .tuple(textOf(point, { ...point, at: null, hashes: null, seconds: null, back: null }), fc.boolean())
    .map(([text, isSealed]) => recordOf(text, isSealed)),
  end,
  async check(text) {
    const home = await directory();
    const place = restorePointLocationOf(join(home, '.svc-updater', 'restore', run), { directory: home });
    await writeFile(join(place.directory, 'point.json'), text, { mode: 0o600 });
    const read = await readRestorePointRecord(place).catch((error) => {
      if (error instanceof UpdateError && error.code === 'restore-point-damaged') return null;
      throw error;
    });
    if (read === null) return;
    assert.deepEqual(read, JSON.parse(text).point);
    expectPlain(read);
    if (read.back) expectJournal(read.back);
    assert.match(read.run, runNamePattern);
    for (const { path, subpath, volume, excluded } of read.mounts) {
      for (const each of [path, subpath, ...excluded])
        assert.ok(!each.split('/').includes('..') && !each.includes('\0'), each);
      assert.ok(path.startsWith('/') && path.length > 1 && !subpath.startsWith('/'), path);
      assert.match(volume, /^(?![-./])[^/\0]*$/);
    }
  },
};
