import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ending } from '../../../src/agent/log/ending.ts';
import {
  emptyJournal,
  isHalfDone,
  isPending,
  Journal,
  type JournalData,
  pendingSentence,
  readJournal,
  setAside,
} from '../../../src/agent/state/journal.ts';
import type { Outcome } from '../../../src/progress/outcome.ts';
import { blueprint } from '../../build.ts';

let state = '';
let restored = 0;
const blueprints = [blueprint('1', { config: { Env: ['PASSWORD=hunter2'] } })];

const data: JournalData = {
  ...emptyJournal,
  run: '20261121T104207Z',
  containerId: 'c0ffee',
  attempt: 1,
  project: { name: 'svc', directory: '/opt/svc', files: ['/opt/svc/compose.yaml'], envFiles: [] },
  target: 'v1.5.0',
  services: ['app', 'worker'],
  from: 'v1.4.2',
  tags: [{ reference: 'acme/svc:latest', imageId: 'sha256:1' }],
  containers: [],
};
const ended = (outcome: Outcome): Ending => ({ outcome, exitCode: 0, message: `${outcome}: so it is` });

function open(changes: Partial<JournalData> = {}): Journal {
  const restore = async () => {
    restored += 1;
    await mkdir(state);
  };
  return new Journal({ state, restore }, { ...data, ...changes });
}

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'journal-'));
  restored = 0;
});
afterEach(() => rm(state, { recursive: true, force: true }));

describe('Journal', () => {
  it('is read back as it was written, for the owner alone, with nothing beside it', async () => {
    const journal = open();
    await journal.write({ phase: 'write' });
    expect(await readJournal(state)).toEqual({ ...data, phase: 'write' });
    expect((await stat(join(state, 'journal.json'))).mode & 0o777).toBe(0o600);
    expect(await readdir(state)).toEqual(['journal.json']);
  });

  it('says what is on the disk, also where it could not be written', async () => {
    const journal = open();
    await journal.write();
    await rm(state, { recursive: true });
    await writeFile(state, 'a file in its way');
    await expect(journal.write({ phase: 'write' })).rejects.toMatchObject({ code: 'write-failed' });
    expect(journal.data.phase).toBe('pull');
  });

  it('makes its directory anew where somebody has removed it', async () => {
    const journal = open();
    await rm(state, { recursive: true });
    await journal.write({ phase: 'write' });
    expect(restored).toBe(1);
    expect(await readJournal(state)).toMatchObject({ phase: 'write' });
  });

  it('is not stopped by what a killed process left of writing it', async () => {
    await writeFile(join(state, 'journal.json.new'), '{"format":1,"ru');
    await open().write();
    expect(await readJournal(state)).toEqual(data);
    expect(await readdir(state)).toEqual(['journal.json']);
  });

  it.each([
    ['updated', false, false],
    ['unchanged', false, false],
    ['refused', false, false],
    ['failed', false, false],
    ['cancelled', false, false],
    // Somebody has to look, and may have to come back to what was.
    ['crashed', false, true],
    ['broken', false, true],
    ['broken', true, false],
  ] as const)(
    'keeps secrets only as long as there may be a way back: %s, started: %s',
    async (word, started, keeps) => {
      const journal = open({ blueprints, started });
      await journal.end(ended(word));
      expect((await readFile(join(state, 'journal.json'), 'utf8')).includes('hunter2')).toBe(keeps);
    },
  );
});

it('a run that a later one has settled is over, and no container takes its end for its own', async () => {
  const journal = open({ blueprints, goingBack: { ending: null } });
  await journal.closeForLaterRun('cancelled', 'put back');
  const read = (await readJournal(state)) as JournalData;
  expect(isPending(read)).toBe(false);
  expect(read).toMatchObject({ containerId: '', goingBack: null, blueprints: [] });
});

describe('readJournal', () => {
  it('gives null where there is none', async () => {
    expect(await readJournal(state)).toBeNull();
    expect(await readJournal(join(state, 'no', 'directory'))).toBeNull();
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"format":2,"run":"x","files":[]}',
    '{"format":1,"run":"../../etc","files":[]}',
  ])('does not trust %j', async (text) => {
    await writeFile(join(state, 'journal.json'), text);
    expect(await readJournal(state)).toEqual({ unreadable: text });
  });
});

describe('setAside', () => {
  it('keeps it for people, without secrets', async () => {
    await open({ blueprints }).write();
    expect(await setAside(state, { ...data, blueprints })).toBe(
      '.svc-updater/backup/20261121T104207Z/journal.json',
    );
    expect(await readJournal(state)).toBeNull();
    const kept = await readFile(join(state, 'backup/20261121T104207Z/journal.json'), 'utf8');
    expect(JSON.parse(kept)).toEqual(data);
  });

  it('keeps one that cannot be read as it is', async () => {
    await writeFile(join(state, 'journal.json'), 'torn');
    const place = await setAside(state, { unreadable: 'torn' });
    expect(await readFile(join(state, place.replace('.svc-updater/', '')), 'utf8')).toBe('torn');
  });
});

describe('what is left to do', () => {
  const back = { ending: ended('failed') };
  it.each<[string, Partial<JournalData>, pending: boolean, halfDone: boolean, says: string]>([
    ['killed in the pull', {}, true, true, 'was interrupted in pull'],
    [
      'killed on the way back',
      { goingBack: back },
      true,
      true,
      'was putting everything back when it was interrupted',
    ],
    [
      'could not be brought back',
      { goingBack: back, outcome: ended('broken') },
      true,
      true,
      'was putting everything',
    ],
    ['a bug', { outcome: ended('crashed') }, true, true, 'ended crashed'],
    ['broken: a person has been told', { outcome: ended('broken') }, true, false, 'ended broken'],
    ['failed', { outcome: ended('failed') }, false, false, 'ended failed'],
    ['updated', { outcome: ended('updated') }, false, false, 'ended updated'],
  ])('%s', (_, changes, pending, halfDone, says) => {
    const journal = { ...data, ...changes };
    expect([isPending(journal), isHalfDone(journal)]).toEqual([pending, halfDone]);
    expect(pendingSentence(journal)).toContain(`the update to v1.5.0 of 2026-11-21 10:42:07 UTC ${says}`);
  });
});
