import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { usualTiming } from '../../../src/instance/contract/timing.ts';
import { runOf } from '../../../src/wire/reader-shapes.ts';
import type { Run } from '../../../src/wire/status.ts';
import { badRun, lineOf, type Script, workOf } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { Rig, type Server, until } from './rig.ts';
import { leaveOpen, updater } from './scene.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(async () => {
  await rig.close();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

const at = '2026-11-21T10:42:15.000Z';
const point = { at, version: 'v1.4.1', bytes: 325_000_000 };
const wentBack = { version: 'v1.4.2', at, kept: '20261121t104207z' };
const steps = [
  { state: 'save', startedAt: at, endedAt: '2026-11-21T10:42:27.500Z', message: 'kept' },
] as const;

/** A line of `--log json`. */
const json = (phase: string, msg: string, fields: object = {}, level = 30) => ({
  say: JSON.stringify({ level, time: new Date().toISOString(), ...fields, phase, msg }),
});
const found = {
  to: 'v1.4.1',
  at,
  rows: 214,
  tables: 6,
  files: 12,
  seconds: 40,
  words: ['orders: 214 rows more'],
};
const looked: Script = [
  json('inspect', 'the updater begins'),
  json('plan', 'it can go back', { back: found }),
  { exit: 0 },
];
const wentWell: Script = [
  json('inspect', 'the updater begins'),
  json('save', 'keeping, 1 of 2 MB', { percent: 50 }),
  json('save', 'kept', { percent: 100, restorePoint: { ...point, version: 'v1.4.2' } }),
  json('recreate', 'replacing app and worker'),
  json('done', 'updated v1.4.2 → v1.4.1 in 40 s', { outcome: 'updated' }),
  { exit: 0 },
];

/** A server of v1.4.2, which an update from v1.4.1 has led to. */
async function booted(past: Partial<Run>[] = [{ point, steps: [...steps] }], more = {}): Promise<Server> {
  const runs = past.map((run, nth) => ({
    run: runOf({ id: `past${nth}`, state: 'updated', outcome: 'updated', to: 'v1.4.2', ...run }),
    ...{ updaterStartedAt: null, told: true, attempts: 1, teller: null },
  }));
  rig.state.store.set('history', JSON.stringify(runs));
  const one = await rig.server({}, { restorePoint: true, ...more });
  await one.updates.boot();
  return one;
}
const order = { confirm: 'v1.4.1', when: 'now', force: false, by: 'anna' } as const;
const updaters = () => rig.engine.containers.filter((one) => rig.engine.isUpdater(one));
const asked = () => rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater-back'));
const last = async ({ updates }: Server) => (await updates.record())?.run;

describe('a restore point', () => {
  it('is promised with what the last one took', async () => {
    expect((await (await booted()).updates.status()).restorePoint).toEqual({ seconds: 12.5 });
    expect((await (await booted([])).updates.status()).restorePoint).toEqual({ seconds: null });
    expect((await (await booted([], { restorePoint: false })).updates.status()).restorePoint).toBeNull();
  });

  it('is read from the log, and that the run went back by itself', async () => {
    const one = await booted([]);
    const failed = 'failed (not-well): v1.4.2 runs again with its data. Next: See the log.';
    const own = { ...point, version: 'v1.4.2' };
    rig.engine.updaterDoes([
      json('save', 'kept', { restorePoint: own }),
      json('verify', 'app is not well', {}, 50),
      json('done', failed, { outcome: 'failed', wentBack }, 50),
      // The updater has taken its restart policy away by then.
      { exit: 0 },
    ]);
    await one.ask();
    await quiet(rig);
    const expected = { outcome: 'failed', code: 'not-well', cause: 'app is not well', point: own, wentBack };
    expect(await last(one)).toMatchObject(expected);
    expect(rig.past[0]?.run).toMatchObject(expected);
    expect(updaters()[0]?.spec.Env).toContain('SVC_UPDATER_RESTORE_POINT=1');
  });

  it.each([1, 'kept', {}, { at: 1, version: 'v1' }])(
    'is none where the log has %j for it',
    async (restorePoint) => {
      const one = await booted([]);
      rig.engine.updaterDoes([json('save', 'kept', { restorePoint }), json('done', 'updated'), { exit: 0 }]);
      await one.ask();
      await quiet(rig);
      expect(await last(one)).toMatchObject({ outcome: 'updated', point: null });
    },
  );
});

describe('what going back leads to', () => {
  it('is what an updater says that only looks, is remembered, and its container is gone', async () => {
    const one = await booted();
    rig.engine.updaterDoes(looked);
    let looks = 0;
    rig.engine.onStart(({ spec, name }) => {
      looks += 1;
      expect(name).toBe('svc-updater-back-svc');
      expect(spec.Cmd?.slice(0, 2)).toEqual(['back', '--project']);
      expect(spec.HostConfig?.RestartPolicy).toMatchObject({ Name: 'no' });
    });
    const offers = await Promise.all([one.updates.backOffer(), one.updates.backOffer()]);
    const offer = { ...found, from: 'v1.4.2' };
    expect([...offers, await one.updates.backOffer()]).toEqual([{ offer }, { offer }, { offer }]);
    expect([looks, asked(), await last(one)]).toMatchObject([1, [], { id: 'past0' }]);
  });

  it.each<[string, Script, object]>([
    [
      'the updater refuses',
      badRun(
        [{ say: { phase: 'plan', level: 'error', message: 'compose.yaml was edited since' } }],
        'refused',
        'not-as-left',
      ),
      { message: 'compose.yaml was edited since', refusal: 'not-as-left', advice: 'See the lines above.' },
    ],
    ['the updater says nothing', [{ exit: 1 }], { refusal: 'updater-ended' }],
    ['the updater takes too long', [], { message: expect.stringContaining('too long') }],
  ])('is a reason where %s', async (_, script, reason) => {
    const one = await booted(undefined, {
      timing: { compare: script.length === 0 ? 300 : usualTiming.compare },
    });
    rig.engine.updaterDoes(script);
    expect(await one.updates.backOffer()).toMatchObject({ reason: { code: 'back-refused', ...reason } });
    expect(asked()).toEqual([]);
  });

  it('is nothing where nothing was kept, and nobody looks', async () => {
    const one = await booted([{ point: null }]);
    expect(await one.updates.backOffer()).toMatchObject({ reason: { code: 'no-point' } });
    expect(await one.updates.goBack(order)).toMatchObject({ reason: { code: 'no-point' } });
    expect(rig.engine.containers.filter((each) => rig.engine.isUpdater(each))).toEqual([]);
  });
});

describe('a way back', () => {
  it('is a run like an update, without the preparation', async () => {
    const beforeUpdate = () => 'never';
    const one = await booted(undefined, { beforeUpdate });
    rig.engine.updaterDoes(wentWell);
    expect(await one.updates.goBack(order)).toMatchObject({
      run: { kind: 'back', from: 'v1.4.2', to: 'v1.4.1' },
    });
    await quiet(rig);
    expect(updaters()[0]?.spec.Cmd?.slice(0, 2)).toEqual(['back', '--yes']);
    expect(await last(one)).toMatchObject({
      kind: 'back',
      outcome: 'updated',
      by: 'anna',
      point: { version: 'v1.4.2' },
    });
    expect(rig.past.map(({ run }) => run.kind)).toEqual(['back', 'update']);
    expect(rig.ends).toHaveLength(1);
  });

  it('is only to the version that was confirmed', async () => {
    const one = await booted();
    expect(await one.updates.goBack({ ...order, confirm: 'v1.4.0' })).toMatchObject({
      reason: { code: 'no-point' },
    });
    expect(updaters()).toEqual([]);
  });

  it('waits for jobs, or is refused for them', async () => {
    const one = await booted();
    rig.engine.updaterDoes(wentWell);
    rig.state.jobs.push({ kind: 'backup', state: 'running' });
    expect(await one.updates.goBack(order)).toMatchObject({ reason: { code: 'backup-running' } });
    expect(await one.updates.goBack({ ...order, when: 'idle' })).toMatchObject({ run: { state: 'waiting' } });
    rig.state.jobs.length = 0;
    await quiet(rig);
    expect(await last(one)).toMatchObject({ kind: 'back', outcome: 'updated' });
  });

  it('is refused while an update is on, and cannot be cancelled once it was launched', async () => {
    const one = await booted();
    rig.engine.updaterDoes([json('inspect', 'the updater begins')]);
    await one.updates.goBack(order);
    await until(async () => (await last(one))?.state === 'inspect');
    expect(await one.updates.goBack(order)).toMatchObject({ reason: { code: 'update-running' } });
    expect(await one.updates.backOffer()).toMatchObject({ reason: { code: 'update-running' } });
    expect(await one.updates.cancel('ben')).toMatchObject({ reason: { code: 'too-late' } });
    const [container] = updaters();
    container?.say(lineOf({ phase: 'done', message: 'updated' }));
    container?.exit(0);
    await quiet(rig);
  });

  it('that ended badly is no release to update to again', async () => {
    const one = await booted();
    const broken = badRun(workOf('v1.4.2', 'v1.4.1'), 'broken', 'not-well').slice(0, -1);
    rig.engine.updaterDoes([...broken, { exit: 0 }]);
    await one.updates.goBack(order);
    await quiet(rig);
    expect(await one.ask({ target: 'v1.4.1' })).toMatchObject({ reason: { code: 'up-to-date' } });
  });
});

describe('a store that went back with the data', () => {
  /** As the server of the older version finds it: its last update is open, and another updater is at work. */
  const boot = async (script: Script) => {
    leaveOpen(rig, { updater: 'b'.repeat(64) });
    rig.engine.updaterDoes(script);
    const container = updater(rig, 'back1');
    Object.assign(container.spec, { Cmd: ['back', '--yes'] });
    Object.assign(container.spec.Labels ?? {}, {
      'svc-updater.from': 'v1.5.0',
      'svc-updater.to': 'v1.4.2',
      'svc-updater.by': 'ben',
    });
    container.start();
    const one = await rig.server();
    await one.updates.boot();
    return one;
  };

  it.each<[string, Script]>([
    ['goes on', [{ pause: 100 }, ...wentWell]],
    ['has ended', wentWell],
  ])('has the way back told by its updater, which %s', async (_, script) => {
    const one = await boot(script);
    await quiet(rig);
    expect(await last(one)).toMatchObject({
      id: 'back1',
      kind: 'back',
      from: 'v1.5.0',
      to: 'v1.4.2',
      by: 'ben',
      outcome: 'updated',
    });
    expect(rig.past.map(({ run }) => [run.id, run.outcome, run.message])).toEqual([
      ['back1', 'updated', 'updated v1.4.2 → v1.4.1 in 40 s'],
      [expect.any(String), 'updated', 'v1.4.2 → v1.5.0, which was taken back'],
    ]);
    expect([rig.open, rig.state.isHeld]).toEqual([null, false]);
  });
});
