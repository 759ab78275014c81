import { describe, expect, it } from 'vitest';
import { readRecord } from '../../../src/updater/swarm/record.ts';
import { engineThat } from '../../build-plan.ts';
import { moveOf } from '../../build-stack.ts';
import { brokenFields } from '../run/state/broken-fields.ts';

const data = {
  ...{ format: 1, run: '20261125T100000Z', stack: 'svc', target: 'v1.5.0', from: 'v1.4.2', to: 'v1.5.0' },
  stopFirst: false,
  moves: [moveOf('app', { platforms: [{ OS: 'linux', Architecture: 'amd64' }] })],
  tasks: ['t1'],
  files: [{ path: '/opt/svc/stack.yaml', before: 'a'.repeat(64), after: 'b'.repeat(64) }],
};
const labels = {
  ...{ run: data.run, holder: 'h1', container: 'c1', node: 'n1', phase: 'recreate', started: '0', beat: '7' },
  ...{ outcome: 'failed', exit: '4', message: 'failed: no space left' },
};

/** Reads the record of the stack from a Swarm with this config. */
async function read(found: unknown = data, said: Readonly<Record<string, string>> = labels) {
  const Labels = Object.fromEntries(Object.entries(said).map(([key, word]) => [`svc-updater.${key}`, word]));
  const Data = Buffer.from(typeof found === 'string' ? found : JSON.stringify(found)).toString('base64');
  const config = { ID: 'config', Version: { Index: 1 }, Spec: { Name: 'svc-updater.svc', Labels, Data } };
  const engine = await engineThat((_, to) => to.end(JSON.stringify([config])));
  return readRecord(engine, 'svc');
}

const refused = (mistake: string) => ({
  code: 'stack-busy',
  message: `the config svc-updater.svc is the record of another update, which this updater version cannot read (${mistake})`,
  advice:
    'Make sure that no updater is running, remove the config (docker config rm svc-updater.svc), then run {command} again.',
});

describe('readRecord', () => {
  it('reads a whole one, of a run that has ended or is in progress', async () => {
    const { outcome, exit, message, ...open } = labels;
    const state = { ...open, started: false, beat: 7 };
    const ending = { outcome, exitCode: 4, message };
    expect(await read()).toMatchObject({ data, state: { ...state, outcome: ending } });
    expect(await read({ ...data, target: null, files: [] }, open)).toMatchObject({
      data: { ...data, target: null, files: [] },
      state: { ...state, outcome: null },
    });
  });

  it('does not trust a field of another type, or an unknown one', async () => {
    const broken = brokenFields(data, ['before', 'wanted', 'platforms']);
    expect(broken.length).toBeGreaterThan(25);
    for (const { changed, mistake } of broken)
      await expect(read(changed)).rejects.toMatchObject(refused(mistake));
  });

  it.each([
    ['format', { format: 2 }],
    ['run', { run: '../../etc' }],
    ['target', { target: undefined }],
    ['moves.0.id', { moves: [moveOf('app', { id: 'a/../b' })] }],
    ['moves.0.name', { moves: [moveOf('app', { name: '--help' })] }],
    ['moves.0.image', { moves: [moveOf('app', { image: '--help' })] }],
    ['files.0.path', { files: [{ ...data.files[0], path: '.env' }] }],
    ['files.0.before', { files: [{ ...data.files[0], before: 'a' }] }],
  ])('does not trust %s in %j', (field, changes) =>
    expect(read({ ...data, ...changes })).rejects.toMatchObject(refused(`${field} is not valid`)),
  );

  it.each([
    ['{', 'it is not valid JSON'],
    [[], 'it is not valid'],
    [{ ...data, stack: 'other' }, 'stack is not svc'],
  ])('does not trust %j', (found, mistake) => expect(read(found)).rejects.toMatchObject(refused(mistake)));

  it.each([
    ['run', { run: 'x' }],
    ['holder', { holder: '' }],
    ['container', { container: '--help' }],
    ['phase', { phase: 'remove' }],
    ['started', { started: 'yes' }],
    ['beat', { beat: '-1' }],
    ['outcome.outcome', { outcome: 'well' }],
    ['outcome.exitCode', { exit: '' }],
  ])('does not trust the label %s in %j', (field, changes) =>
    expect(read(data, { ...labels, ...changes })).rejects.toMatchObject(
      refused(`label svc-updater.${field} is not valid`),
    ),
  );

  it.each(Object.keys(labels))('does not trust a record without the label %s', async (key) => {
    const { [key]: _, ...others }: Record<string, string> = labels;
    await expect(read(data, others)).rejects.toMatchObject({ code: 'stack-busy' });
  });

  it('does not trust a record with an unknown label', () =>
    expect(read(data, { ...labels, odd: '1' })).rejects.toMatchObject(
      refused('label svc-updater.odd is not a known field'),
    ));
});
