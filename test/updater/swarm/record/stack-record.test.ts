import { describe, expect, it, onTestFinished } from 'vitest';
import type { Outcome } from '../../../../src/core/progress/outcome.ts';
import type { StoredRunState, UnfinishedState } from '../../../../src/updater/run/state/run-state.ts';
import {
  readStackRecord,
  StackRecord,
  type StackRecordData,
  stackRollbackState,
  stackRunPhaseOf,
} from '../../../../src/updater/swarm/record/stack-record.ts';
import { ending } from '../../../build.ts';
import { engineThat } from '../../../build-plan.ts';
import { moveOf } from '../../../build-stack.ts';
import { brokenFields } from '../../run/state/broken-fields.ts';
import { swarmDouble } from '../swarm-double.ts';

const data: StackRecordData = {
  ...{ format: 2, run: '20261125T100000Z', stack: 'svc', target: 'v1.5.0', from: 'v1.4.2', to: 'v1.5.0' },
  stopFirst: false,
  moves: [moveOf('app', { platforms: [{ OS: 'linux', Architecture: 'amd64' }] })],
  tasks: ['t1'],
  files: [{ path: '/opt/svc/stack.yaml', before: 'a'.repeat(64), after: 'b'.repeat(64) }],
};
const failed = { outcome: 'failed', exitCode: 4, message: 'failed: no space left' } as const;
const ended: StoredRunState = { at: 'ended', ending: failed, left: null };
const labels = {
  ...{ run: data.run, holder: 'h1', container: 'c1', node: 'n1', started: '0', beat: '7' },
  state: JSON.stringify(ended),
};

/** Reads the record of the stack from a Swarm with this config. */
async function read(found: unknown = data, said: Readonly<Record<string, string>> = labels) {
  const Labels = Object.fromEntries(Object.entries(said).map(([key, word]) => [`svc-updater.${key}`, word]));
  const Data = Buffer.from(typeof found === 'string' ? found : JSON.stringify(found)).toString('base64');
  const config = { ID: 'config', Version: { Index: 1 }, Spec: { Name: 'svc-updater.svc', Labels, Data } };
  const engine = await engineThat((_, to) => to.end(JSON.stringify([config])));
  return readStackRecord(engine, 'svc');
}

const refused = (mistake: string) => ({
  code: 'stack-busy',
  message: `the config svc-updater.svc contains the record of another update, but this version of the updater cannot read it (${mistake})`,
  advice:
    'Make sure that no updater is running, remove the config (docker config rm svc-updater.svc), then run {command} again.',
});

describe('readRecord', () => {
  it('reads a complete record of a run that has ended or is in progress', async () => {
    const read7 = { ...labels, started: false, beat: 7 };
    expect(await read()).toMatchObject({ data, labels: { ...read7, state: ended } });
    const open: StoredRunState = { at: 'rolling-back', from: 'replacing', ending: null };
    const said = { ...labels, state: JSON.stringify(open) };
    expect(await read({ ...data, target: null, files: [] }, said)).toMatchObject({
      data: { ...data, target: null, files: [] },
      labels: { ...read7, state: open },
    });
  });

  it('rejects a field of another type, or an unknown field', async () => {
    const broken = brokenFields(data, ['before', 'wanted', 'platforms']);
    expect(broken.length).toBeGreaterThan(25);
    for (const { changed, mistake } of broken)
      await expect(read(changed)).rejects.toMatchObject(refused(mistake));
  });

  it.each([
    ['run', { run: '../../etc' }],
    ['target', { target: undefined }],
    ['moves.0.id', { moves: [moveOf('app', { id: 'a/../b' })] }],
    ['moves.0.name', { moves: [moveOf('app', { name: '--help' })] }],
    ['moves.0.image', { moves: [moveOf('app', { image: '--help' })] }],
    ['files.0.path', { files: [{ ...data.files[0], path: '.env' }] }],
    ['files.0.before', { files: [{ ...data.files[0], before: 'a' }] }],
  ])('rejects an invalid %s in %j', (field, changes) =>
    expect(read({ ...data, ...changes })).rejects.toMatchObject(refused(`${field} is not valid`)),
  );

  it.each([1, 3])('gives advice for a record of format %d', (format) =>
    expect(read({ ...data, format })).rejects.toMatchObject({
      ...refused('format is not valid'),
      advice:
        'Finish that update with the version of the updater that started it, remove the config (docker config rm svc-updater.svc), then run {command} again.',
    }),
  );

  it.each([
    ['{', 'it is not valid JSON'],
    [[], 'it is not valid'],
    [{ ...data, stack: 'other' }, 'stack is not svc'],
  ])('rejects %j', (found, mistake) => expect(read(found)).rejects.toMatchObject(refused(mistake)));

  it.each([
    ['run', { run: 'x' }],
    ['holder', { holder: '' }],
    ['container', { container: '--help' }],
    ['started', { started: 'yes' }],
    ['beat', { beat: '-1' }],
    ['state', { state: '[]' }],
    ['state.at', { state: '{"at":"removing"}' }],
    ['state.ending.outcome', { state: labels.state.replace('"failed"', '"well"') }],
    ['state.ending.exitCode', { state: labels.state.replace('4', '"4"') }],
  ])('rejects an invalid label %s in %j', (field, changes) =>
    expect(read(data, { ...labels, ...changes })).rejects.toMatchObject(
      refused(`label svc-updater.${field} is not valid`),
    ),
  );

  it.each(Object.keys(labels))('rejects a record without the label %s', async (key) => {
    const { [key]: _, ...others }: Record<string, string> = labels;
    await expect(read(data, others)).rejects.toMatchObject({ code: 'stack-busy' });
  });

  it('rejects a record with an unknown label', () =>
    expect(read(data, { ...labels, odd: '1' })).rejects.toMatchObject(
      refused('label svc-updater.odd is not a known field'),
    ));
});

describe('StackRecord', () => {
  const who = { holder: 'h1', container: 'c1', node: 'n1' };
  const begin = async () => {
    const engine = await engineThat(swarmDouble({}, []).answer);
    const record = await StackRecord.create(engine, data, who, null);
    onTestFinished(() => record.release());
    return { engine, record, stored: async () => (await readStackRecord(engine, 'svc'))?.labels };
  };

  it('stores the state of the run, and whether a task has started', async () => {
    const { record, stored } = await begin();
    expect(await stored()).toMatchObject({ ...who, state: { at: 'pulling' }, started: false });
    await record.update({ state: { at: 'replacing' } });
    await record.update({ started: true });
    expect(await stored()).toMatchObject({ state: { at: 'replacing' }, started: true, beat: 2 });
  });

  it('rejects a state transition that no run makes', async () => {
    const { record, stored } = await begin();
    await record.update({ state: { at: 'replacing' } });
    await expect(record.update({ state: { at: 'writing' } })).rejects.toThrow(
      'a run cannot go from replacing to writing',
    );
    expect(await stored()).toMatchObject({ state: { at: 'replacing' } });
  });

  it.each<[outcome: Outcome, left: UnfinishedState | null]>([
    ['updated', null],
    ['failed', null],
    ['cancelled', null],
    ['broken', stackRollbackState],
    ['crashed', stackRollbackState],
  ])('with the outcome %s leaves the state %j to a later run', async (outcome, left) => {
    const { record, stored } = await begin();
    await record.update({ state: stackRollbackState });
    await record.recordOutcome(ending(outcome));
    expect((await stored())?.state).toEqual({ at: 'ended', ending: ending(outcome), left });
  });

  it('is taken over by a later run with the remaining state', async () => {
    const { engine, record, stored } = await begin();
    await record.update({ state: { at: 'restoring', ending: null }, started: true });
    await record.recordOutcome(ending('broken'));
    const found = await readStackRecord(engine, 'svc');
    if (found === null) throw new Error('there is none');
    const next = await StackRecord.takeOver(engine, found, { ...who, container: 'c2' }, { at: 'replacing' });
    onTestFinished(() => next.release());
    expect(await stored()).toMatchObject({ container: 'c2', started: true, state: { at: 'replacing' } });
    await expect(record.update()).rejects.toMatchObject({ code: 'update-running' });
  });
});

describe('phaseOf', () => {
  it.each<[StoredRunState, string]>([
    [{ at: 'pulling' }, 'pull'],
    [{ at: 'replacing' }, 'recreate'],
    [stackRollbackState, 'back'],
    [{ at: 'ended', ending: failed, left: { at: 'restoring', ending: null } }, 'restore'],
  ])('of the state %j is %s', (state, phase) => expect(stackRunPhaseOf({ state })).toBe(phase));
});
