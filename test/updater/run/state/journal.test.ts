import { chown, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FileRecord } from '../../../../src/core/files/transaction/file-record.ts';
import type { Outcome } from '../../../../src/core/progress/outcome.ts';
import { describeSchemaMistake } from '../../../../src/core/text/json-text.ts';
import type { OutcomeDetails } from '../../../../src/updater/run/log/outcome-details.ts';
import {
  createUnfinishedRunError,
  formatUnfinishedRunMessage,
  hasMixedVersions,
  initialJournalFields,
  isRunUnfinished,
  Journal,
  type JournalData,
  journalOutcomeFactsOf,
  moveJournalToBackup,
  nextAttemptFieldsOf,
  readJournal,
  readUnfinishedJournal,
} from '../../../../src/updater/run/state/journal.ts';
import { journalSchema } from '../../../../src/updater/run/state/journal-schema.ts';
import type { UnfinishedState } from '../../../../src/updater/run/state/run-state.ts';
import {
  blueprint,
  changeover,
  container,
  ending as ended,
  movedService,
  project,
  record,
} from '../../../build.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';
import { brokenFields } from './broken-fields.ts';

let state = '';
let restored = 0;
const blueprints = [blueprint('1', { imageId: 'sha256:0', config: { Env: ['PASSWORD=hunter2'] } })];

const data: JournalData = {
  ...initialJournalFields,
  run: '20261121T104207Z',
  containerId: 'c0ffee',
  attempt: 1,
  project,
  target: 'v1.5.0',
  services: ['app', 'worker'],
  from: 'v1.4.2',
  tags: [{ reference: 'acme/svc:latest', imageId: 'sha256:1' }],
  containers: [],
};

function open(changes: Partial<JournalData> = {}): Journal {
  const restore = async () => {
    restored += 1;
    await mkdir(state);
  };
  return new Journal({ state, restore }, { ...data, ...changes });
}

const backTo = (outcome: Outcome | null): UnfinishedState => ({
  at: 'rolling-back',
  from: 'replacing',
  ending: outcome && ended(outcome),
});

beforeEach(async () => {
  state = await temporaryDirectory();
  restored = 0;
});

describe('Journal', () => {
  it('is read unchanged after writing, is accessible only to the owner, and leaves no other file', async () => {
    const journal = open();
    await journal.write({ state: { at: 'writing' } });
    expect(await readJournal(state)).toEqual({ ...data, state: { at: 'writing' } });
    expect((await stat(join(state, 'journal.json'))).mode & 0o777).toBe(0o600);
    expect(await readdir(state)).toEqual(['journal.json']);
  });

  it('rejects a state transition that no run makes', async () => {
    const journal = open({ state: { at: 'verifying' } });
    await expect(journal.write({ state: { at: 'saving' } })).rejects.toThrow(
      'a run cannot go from verifying to saving',
    );
    expect(journal.data.state).toEqual({ at: 'verifying' });
  });

  it('keeps the data that is on the disk if writing fails', async () => {
    const journal = open();
    await journal.write();
    await rm(state, { recursive: true });
    await writeFile(state, 'a file in its way');
    await expect(journal.write({ state: { at: 'writing' } })).rejects.toMatchObject({ code: 'write-failed' });
    expect(journal.data.state).toEqual({ at: 'pulling' });
  });

  it('recreates its directory if another process has removed it', async () => {
    const journal = open();
    await rm(state, { recursive: true });
    await journal.write({ state: { at: 'writing' } });
    expect(restored).toBe(1);
    expect(await readJournal(state)).toMatchObject({ state: { at: 'writing' } });
  });

  it('ignores a partly written file of a killed process', async () => {
    await writeFile(join(state, 'journal.json.new'), '{"format":2,"ru');
    await open().write();
    expect(await readJournal(state)).toEqual(data);
    expect(await readdir(state)).toEqual(['journal.json']);
  });

  it.each([
    ['updated', false, false],
    ['unchanged', false, false],
    ['failed', false, false],
    // A user has to check the instance, and may have to roll back.
    ['crashed', false, true],
    ['broken', false, true],
    ['broken', true, false],
  ] as const)(
    'keeps secrets only as long as a rollback may be possible: %s, started: %s',
    async (word, started, keeps) => {
      const journal = open({ blueprints, started });
      await journal.end(ended(word));
      expect((await readFile(join(state, 'journal.json'), 'utf8')).includes('hunter2')).toBe(keeps);
    },
  );
});

describe('Journal.note', () => {
  it('writes the journal if the disk is writable', async () => {
    expect(await open().tryWrite({ state: { at: 'saving' } })).toBeNull();
    expect(await readJournal(state)).toEqual({ ...data, state: { at: 'saving' } });
  });

  it('continues without the disk, returns the reason, and leaves the change to the next successful write', async () => {
    const journal = open();
    await rm(state, { recursive: true });
    await writeFile(state, 'a file in its way');
    expect(await journal.tryWrite({ started: true })).toMatch(/^the journal cannot be written: .*ENOTDIR/);
    expect(journal.data.started).toBe(true);
    await rm(state);
    await journal.write({ state: { at: 'saving' } });
    expect(await readJournal(state)).toEqual({ ...data, started: true, state: { at: 'saving' } });
  });
});

describe('Journal.end', () => {
  const goingBack = { state: backTo('failed'), blueprints } as const;
  const started = { started: true, state: { at: 'verifying' }, blueprints } as const;
  it.each<[Outcome, situation: string, Partial<JournalData>, left: UnfinishedState | null, secrets: boolean]>(
    [
      ['updated', 'once the new version runs', started, null, false],
      ['unchanged', 'after the pull', {}, null, false],
      ['failed', 'once all is back', goingBack, null, false],
      ['cancelled', 'once all is back', goingBack, null, false],
      ['broken', 'where not all is back', goingBack, backTo('failed'), true],
      ['broken', 'once the new version has started', started, { at: 'verifying' }, false],
    ],
  )('stores the outcome and the remaining state: %s, %s', async (outcome, _, changes, left, secrets) => {
    await open(changes).end(ended(outcome));
    const ending = { at: 'ended', ending: ended(outcome), left } as const;
    const kept = secrets ? blueprints : [];
    expect(await readJournal(state)).toEqual({ ...data, ...changes, state: ending, blueprints: kept });
  });
});

describe('Journal.endAtOnce', () => {
  it('stores a crash synchronously, with all data that a rollback needs', async () => {
    await writeFile(join(state, 'journal.json.crashed'), 'of a killed process');
    const run = { started: true, state: { at: 'verifying' }, blueprints } as const;
    open(run).endSynchronously(ended('crashed'));
    const ending = { at: 'ended', ending: ended('crashed'), left: { at: 'verifying' } } as const;
    expect(await readJournal(state)).toEqual({ ...data, ...run, state: ending });
    expect((await stat(join(state, 'journal.json'))).mode & 0o777).toBe(0o600);
    expect(await readdir(state)).toEqual(['journal.json']);
  });
});

describe('a journal of another format', () => {
  const half = { ...data, state: { at: 'replacing' } };
  it.each<[string, string, which: string]>([
    ['1', JSON.stringify({ format: 1, phase: 'recreate' }), 'older'],
    ['3', JSON.stringify({ ...half, format: 3 }), 'newer'],
    ['3, which is not the first field', JSON.stringify({ state: {}, format: 3 }), 'newer'],
    ['3, incomplete', JSON.stringify({ ...half, format: 3 }, null, 1).slice(0, 200), 'newer'],
    ['2.1', JSON.stringify({ ...half, format: 2.1 }), 'newer'],
  ])('%s is rejected', async (_, text, which) => {
    await writeFile(join(state, 'journal.json'), text);
    const refusal = {
      code: 'journal-pending',
      message: `.svc-updater/journal.json was written by ${which === 'older' ? 'an' : 'a'} ${which} version of the updater`,
      advice: expect.stringContaining(`finish the update with the ${which} updater`),
    };
    await expect(readJournal(state)).rejects.toMatchObject(refusal);
    await expect(readUnfinishedJournal(state)).rejects.toMatchObject(refusal);
    expect(await readFile(join(state, 'journal.json'), 'utf8')).toBe(text);
  });

  it.each([
    '',
    'null',
    '{}',
    '{"format":2}',
    '{"format":null}',
    '{"format":2,"run":"x',
    '{"run":{"format":3}',
  ])('is not assumed for the malformed text %j', async (text) => {
    await writeFile(join(state, 'journal.json'), text);
    expect(await readJournal(state)).toMatchObject({ unreadable: text });
    expect(await readUnfinishedJournal(state)).toBeNull();
  });
});

describe('countStart', () => {
  const crashed = { at: 'ended', ending: ended('crashed'), left: { at: 'verifying' } } as const;
  it.each<[situation: string, Partial<JournalData>, attempt: number, interruptedIn: string]>([
    ['the first interruption', { attempt: 1, state: { at: 'saving' } }, 2, 'saving'],
    [
      'another one in the same state',
      { attempt: 3, interruptedIn: 'saving', state: { at: 'saving' } },
      4,
      'saving',
    ],
    [
      'one in another state',
      { attempt: 3, interruptedIn: 'saving', state: { at: 'replacing' } },
      2,
      'replacing',
    ],
    ['a crash', { attempt: 3, interruptedIn: 'verifying', state: crashed }, 4, 'verifying'],
    ['of an earlier version of the updater', { attempt: 3, state: { at: 'verifying' } }, 4, 'verifying'],
  ])('counts the attempts after: %s', (_, changes, attempt, interruptedIn) => {
    expect(nextAttemptFieldsOf({ ...data, ...changes })).toEqual({ attempt, interruptedIn });
  });
});

describe('Journal.closeForLaterRun', () => {
  const goingBack = { state: backTo(null), blueprints } as const;
  const crashed = { at: 'ended', ending: ended('crashed'), left: backTo(null) } as const;
  const started = { started: true, state: { at: 'verifying' }, blueprints } as const;
  const message = 'another update came first';
  it.each<[Outcome, situation: string, Partial<JournalData>, left: UnfinishedState | null, pending: boolean]>(
    [
      ['cancelled', 'once all is back', goingBack, null, false],
      ['cancelled', 'of one that crashed', { ...goingBack, state: crashed }, null, false],
      ['broken', 'once the new version has started', started, { at: 'verifying' }, true],
    ],
  )('stores an outcome that belongs to no container: %s, %s', async (outcome, _, changes, left, pending) => {
    await open(changes).closeForLaterRun(outcome, message);
    const ending = { outcome, exitCode: 0, message: `${outcome}: ${message}` };
    const closed: JournalData = {
      ...{ ...data, ...changes, containerId: '', blueprints: [] },
      state: { at: 'ended', ending, left },
    };
    expect(await readJournal(state)).toEqual(closed);
    expect([isRunUnfinished(closed), hasMixedVersions(closed)]).toEqual([pending, false]);
  });
});

describe('journalOutcomeFactsOf', () => {
  const moved = [
    movedService('app'),
    movedService('jobs'),
    movedService('sidecar', { follows: true, image: null }),
  ];
  const ofApps = { services: ['app', 'jobs'], mayHaveReplaced: true };
  const facts = {
    version: 'v1.4.2',
    project,
    services: ['app', 'worker'],
    interruptedState: null,
    mayHaveReplaced: false,
  };
  it.each<[string, Partial<JournalData>, changes: Partial<OutcomeDetails>]>([
    ['has what was asked for before any container is replaced', {}, {}],
    ['has what is replaced, and no follower', { changeover: changeover({ moved }) }, ofApps],
    [
      'has what was found right before containers are replaced',
      {
        containers: [record(container('app-1'), { runs: false })],
        changeover: changeover({ moved, containers: [record(container('app-1'))] }),
      },
      ofApps,
    ],
  ])('returns the facts of the run: %s', (_, changes, expected) => {
    const said = { ...facts, ...expected };
    expect(journalOutcomeFactsOf({ ...data, ...changes })).toEqual(said);
    expect(journalOutcomeFactsOf({ ...data, ...changes }, 'half')).toEqual({
      ...said,
      interruptedState: 'half',
    });
  });
});

describe('readJournal', () => {
  it.each([
    ['', 'it is not valid JSON'],
    ['{', 'it is not valid JSON'],
    ['null', 'it is not valid'],
    ['[]', 'it is not valid'],
    ['{"format":2,"run":"x","files":[]}', 'run is not valid'],
  ])('rejects %j', async (text, mistake) => {
    await writeFile(join(state, 'journal.json'), text);
    expect(await readJournal(state)).toEqual({ unreadable: text, mistake });
  });

  const ids = { id: 'a'.repeat(64), imageId: `sha256:${'b'.repeat(64)}` };
  const kept = record(container('app-1'), { ...ids, imageManifest: ids.imageId });
  const moved = movedService('app', { image: { reference: 'acme/svc:v1.5.0', id: ids.imageId } });
  const file: FileRecord = {
    path: '/opt/svc/.env',
    real: '/opt/svc/.env',
    before: 'a'.repeat(64),
    after: 'b'.repeat(64),
    backup: '/opt/svc/.svc-updater/backup/20261121T104207Z/.env',
    owner: { uid: 0, gid: 0, mode: 0o640 },
    temporary: '/opt/svc/..env.svc-updater-20261121T104207Z',
  };
  const whole: JournalData = {
    ...data,
    state: { at: 'ended', ending: ended('broken'), left: backTo('failed') },
    files: [file, { ...file, before: null, backup: null, owner: null }],
    containers: [kept],
    changeover: changeover({ moved: [moved], containers: [kept] }),
    blueprints: [blueprint(ids.id, { imageId: ids.imageId, imageReference: ids.imageId })],
    point: {
      ...{ directory: '/opt/svc/.svc-updater/restore/20261121T104207Z', state: 'restored' },
      ...{ services: ['db'], inMemory: ['cache'], riders: [{ id: 'a1', name: 'svc-vpn-1' }] },
      ports: [{ service: 'db', ports: [5432] }],
      policies: [
        { id: 'b2', policy: 'always' },
        { id: 'c3', policy: 'on-failure:3' },
      ],
    },
  };

  it('accepts a complete journal, and a journal of an engine that returns fewer fields', async () => {
    const { imageManifest: _, ...first } = kept;
    const earlier = { ...whole, containers: [first], changeover: null };
    for (const each of [whole, earlier]) {
      await writeFile(join(state, 'journal.json'), JSON.stringify(each));
      expect(await readJournal(state)).toEqual(JSON.parse(JSON.stringify(each)));
    }
  });

  const [old, plan] = [whole.blueprints[0], whole.changeover];
  it.each<[what: string, field: string, Record<string, unknown>]>([
    ['a run that is a path', 'run', { run: '../../etc' }],
    ['a state that there is not', 'state.at', { state: { at: 'removing' } }],
    ['a project that is an option', 'project.name', { project: { ...project, name: '--host=evil' } }],
    ['a file of the project that has no root', 'project.files.0', { project: { ...project, files: ['-f'] } }],
    ['no project', 'project', { project: null }],
    ['a service that is an option', 'services.0', { services: ['-v'] }],
    [
      'an image that is an option',
      'tags.0.imageId',
      { tags: [{ reference: 'acme/svc', imageId: '--help' }] },
    ],
    ['a tag that is an option', 'tags.0.reference', { tags: [{ reference: '--help', imageId: 'sha256:1' }] }],
    ['a file without a root', 'files.0.path', { files: [{ ...file, path: '.env' }] }],
    ['a backup without a root', 'files.0.backup', { files: [{ ...file, backup: 'x' }] }],
    ['a temporary file that is none', 'files.0.temporary', { files: [{ ...file, temporary: ['/etc'] }] }],
    [
      'a container that is an option',
      'changeover.containers.0.id',
      { changeover: { ...plan, containers: [{ ...kept, id: '--volumes' }] } },
    ],
    [
      'a new image that is an option',
      'changeover.moved.0.image.reference',
      { changeover: { ...plan, moved: [{ ...moved, image: { reference: '-a', id: 'sha256:1' } }] } },
    ],
    ['a blueprint that is a path', 'blueprints.0.id', { blueprints: [{ ...old, id: '../x' }] }],
    ['a point in no folder of a run', 'point.directory', { point: { ...whole.point, directory: '/etc' } }],
    [
      'a point in a relative folder',
      'point.directory',
      { point: { ...whole.point, directory: '20261121T104207Z' } },
    ],
    ['a point in an unknown state', 'point.state', { point: { ...whole.point, state: 'copied' } }],
    [
      'a service of a point that is an option',
      'point.services.0',
      { point: { ...whole.point, services: ['--all'] } },
    ],
    [
      'a cache of a point that is a path',
      'point.inMemory.0',
      { point: { ...whole.point, inMemory: ['../x'] } },
    ],
    [
      'a rider that is an option',
      'point.riders.0.id',
      { point: { ...whole.point, riders: [{ id: '-a', name: 'x' }] } },
    ],
    [
      'a policy with another option',
      'point.policies.0.policy',
      { point: { ...whole.point, policies: [{ id: 'b2', policy: 'no --x' }] } },
    ],
    [
      'a policy of two lines',
      'point.policies.0.policy',
      { point: { ...whole.point, policies: [{ id: 'b2', policy: 'no\n' }] } },
    ],
    [
      'an end that is none',
      'state.ending.outcome',
      { state: { at: 'ended', ending: { outcome: 'well', exitCode: 0, message: '' }, left: null } },
    ],
  ])('rejects %s', async (_, field, changes) => {
    const text = JSON.stringify({ ...whole, ...changes });
    await writeFile(join(state, 'journal.json'), text);
    expect(await readJournal(state)).toEqual({
      unreadable: text,
      mistake: `${field} is not valid`,
    });
  });

  it('rejects a field of another type, and ignores an unknown field', () => {
    // Objects of the engine, and the fields of an outcome for programs.
    const free = ['config', 'hostConfig', 'networks', 'fields'];
    for (const { changed, mistake } of brokenFields(whole, free)) {
      const { data: read, error } = journalSchema.safeParse(changed);
      // A newer updater may have added the field.
      if (mistake.endsWith('is not a known field')) expect(read).toEqual(whole);
      else expect(error && describeSchemaMistake(error)).toBe(mistake);
    }
  });

  it.runIf(process.getuid?.() === 0)('rejects a symbolic link, and a file of an unrelated user', async () => {
    const own = join(state, '.svc-updater');
    await mkdir(own);
    await writeFile(join(own, 'journal.json'), JSON.stringify(data));
    expect(await readJournal(own)).toEqual(data);
    await chown(join(own, 'journal.json'), 1234, 1234);
    await expect(readJournal(own)).rejects.toMatchObject({ code: 'unexpected-file' });
    await rename(join(own, 'journal.json'), join(state, 'elsewhere'));
    await symlink('../elsewhere', join(own, 'journal.json'));
    await expect(readJournal(own)).rejects.toMatchObject({ code: 'unexpected-file' });
    expect(await readUnfinishedJournal(own)).toBeNull();
  });
});

describe('moveJournalToBackup', () => {
  it('keeps the journal in the backup, without secrets', async () => {
    await open({ blueprints }).write();
    expect(await moveJournalToBackup(state, { ...data, blueprints })).toBe(
      '.svc-updater/backup/20261121T104207Z/journal.json',
    );
    expect(await readJournal(state)).toBeNull();
    const kept = await readFile(join(state, 'backup/20261121T104207Z/journal.json'), 'utf8');
    expect(JSON.parse(kept)).toEqual(data);
  });

  it('keeps an unreadable journal unchanged', async () => {
    await writeFile(join(state, 'journal.json'), 'torn');
    const place = await moveJournalToBackup(state, { unreadable: 'torn', mistake: '' });
    expect(await readFile(join(state, place.replace('.svc-updater/', '')), 'utf8')).toBe('torn');
  });
});

describe('the pending state of a journal', () => {
  const over = (outcome: Outcome, left: UnfinishedState | null): Partial<JournalData> => ({
    state: { at: 'ended', ending: ended(outcome), left },
  });
  it.each<[string, Partial<JournalData>, pending: boolean, halfDone: boolean, says: string]>([
    ['killed in the pull', {}, true, true, 'was interrupted during the pull phase'],
    [
      'killed while containers were replaced',
      { state: { at: 'replacing' }, changeover: changeover() },
      true,
      true,
      'was interrupted during the recreate phase; app and worker may have been only partly replaced',
    ],
    [
      'killed on the way back',
      { state: backTo('failed') },
      true,
      true,
      'was interrupted while it was being rolled back',
    ],
    [
      'could not be brought back',
      { state: { at: 'ended', ending: ended('broken'), left: backTo('failed') } },
      true,
      true,
      'was interrupted while it was being rolled back',
    ],
    ['a bug', over('crashed', { at: 'replacing' }), true, true, 'did not succeed (crashed)'],
    [
      'broken: a person has been told',
      over('broken', { at: 'verifying' }),
      true,
      false,
      'did not succeed (broken)',
    ],
    ['failed', over('failed', null), false, false, 'did not succeed (failed)'],
    ['updated', over('updated', null), false, false, 'did not succeed (updated)'],
  ])('is derived from the run state: %s', (_, changes, pending, halfDone, says) => {
    const journal = { ...data, ...changes };
    expect([isRunUnfinished(journal), hasMixedVersions(journal)]).toEqual([pending, halfDone]);
    expect(formatUnfinishedRunMessage(journal)).toContain(
      `the update to v1.5.0 started at 2026-11-21 10:42:07 UTC ${says}`,
    );
  });

  it.each<[string, UnfinishedState, string]>([
    ['restored', { at: 'restoring', ending: ended('failed') }, 'rollback --yes to complete the rollback.'],
    [
      'not touched',
      backTo('failed'),
      'Run the update command first to resume or undo the interrupted update.',
    ],
  ])('has one advice if the data was %s', (_, state, advice) => {
    expect(createUnfinishedRunError({ ...data, state }).advice).toContain(advice);
  });
});
