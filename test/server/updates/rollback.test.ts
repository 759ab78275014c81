import { describe, expect, it } from 'vitest';
import { estimateUpdateSeconds } from '../../../src/server/available-update/estimate-seconds.ts';
import { defaultServerTiming } from '../../../src/server/contract/timing.ts';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import type { Run } from '../../../src/wire/status.ts';
import { badRun, lineOf, type Script } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { freshRigs, runOf as last, rig, type Server, until } from './rig.ts';
import { id, leaveOpen, updater } from './scene.ts';

freshRigs();

const at = '2026-11-21T10:42:15.000Z';
const point = { at, version: 'v1.4.1', bytes: 325_000_000, downtimeSeconds: 12.5 };

/** A line of `--log json`. */
const json = (phase: string, msg: string, fields: object = {}, level = 30) => ({
  say: JSON.stringify({ level, time: new Date().toISOString(), ...fields, phase, msg }),
});
const found = { to: 'v1.4.1', at, downtimeSeconds: 40 };
const looked: Script = [
  json('inspect', 'the updater begins'),
  json('plan', 'a rollback is possible', { rollback: { ...found, bytes: 325_000_000 } }),
  { exit: 0 },
];
const wentWell: Script = [
  json('inspect', 'the updater begins'),
  json('save', 'copying data, 1 of 2 MB', { percent: 50 }),
  json('save', 'data saved', { percent: 100, restorePoint: { ...point, version: 'v1.4.2' } }),
  json('recreate', 'replacing app and worker'),
  json('done', 'updated v1.4.2 → v1.4.1 in 40 s', { outcome: 'updated' }),
  { exit: 0 },
];

/** A server of v1.4.2, to which v1.4.1 was updated. */
async function booted(past: Partial<Run>[] = [{ restorePoint: point }], more = {}): Promise<Server> {
  const runs = past.map((run, nth) => ({
    run: createRunWithDefaults({
      id: `past${nth}`,
      state: 'updated',
      outcome: 'updated',
      to: 'v1.4.2',
      ...run,
    }),
    ...{ updaterStartedAt: null, told: true, attempts: 1, teller: null },
  }));
  rig.state.store.set('history', JSON.stringify(runs));
  const one = await rig.server({}, { restorePoint: true, ...more });
  await one.updates.boot();
  return one;
}
const order = { confirm: 'v1.4.1', when: 'now', force: false, by: 'anna' } as const;
const asked = () => rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater-rollback'));

it('the status announces a restore point with the downtime of the last restore point', async () => {
  expect((await (await booted()).updates.status()).restorePoint).toEqual({ downtimeSeconds: 12.5 });
  expect((await (await booted([])).updates.status()).restorePoint).toEqual({ downtimeSeconds: null });
  expect((await (await booted([], { restorePoint: false })).updates.status()).restorePoint).toBeNull();
});

describe('a rollback offer', () => {
  it('comes from a dry run of the updater, is cached and leaves no container', async () => {
    const one = await booted();
    rig.engine.updaterDoes(looked);
    let looks = 0;
    rig.engine.onStart(({ spec, name }) => {
      looks += 1;
      expect(name).toBe('svc-updater-rollback-svc');
      expect(spec.Cmd?.slice(0, 2)).toEqual(['rollback', '--project']);
      expect(spec.HostConfig?.RestartPolicy).toMatchObject({ Name: 'no' });
    });
    const offers = await Promise.all([one.updates.rollbackOffer(), one.updates.rollbackOffer()]);
    const offer = { ...found, from: 'v1.4.2' };
    expect([...offers, await one.updates.rollbackOffer()]).toEqual([{ offer }, { offer }, { offer }]);
    expect([looks, asked(), await last(one)]).toMatchObject([1, [], { id: 'past0' }]);
  });

  it.each<[string, Script, object]>([
    [
      'the updater refuses',
      badRun(
        [{ say: { phase: 'plan', level: 'error', message: 'compose.yaml was edited since' } }],
        'refused',
        'modified-since',
      ),
      { message: 'compose.yaml was edited since', refusal: 'modified-since', advice: 'See the lines above.' },
    ],
    ['the updater says nothing', [{ exit: 1 }], { refusal: 'updater-ended' }],
    ['the updater takes too long', [], { message: expect.stringContaining('too long') }],
  ])('is replaced by a reason if %s', async (_, script, reason) => {
    const one = await booted(undefined, {
      timing: { check: script.length === 0 ? 300 : defaultServerTiming.check },
    });
    rig.engine.updaterDoes(script);
    expect(await one.updates.rollbackOffer()).toMatchObject({
      reason: { code: 'rollback-refused', ...reason },
    });
    expect(asked()).toEqual([]);
  });

  it('starts no updater without a restore point', async () => {
    const one = await booted([{ restorePoint: null }]);
    expect(await one.updates.rollbackOffer()).toMatchObject({ reason: { code: 'no-restore-point' } });
    expect(await one.updates.rollback(order)).toMatchObject({ reason: { code: 'no-restore-point' } });
    expect(rig.updaters).toEqual([]);
  });
});

describe('a rollback', () => {
  it('requires the version of the restore point as confirmation', async () => {
    const one = await booted();
    expect(await one.updates.rollback({ ...order, confirm: 'v1.4.0' })).toMatchObject({
      reason: { code: 'no-restore-point' },
    });
    expect(rig.updaters).toEqual([]);
  });

  it('is rejected during another run, and cannot be cancelled after its launch', async () => {
    const one = await booted();
    rig.engine.updaterDoes([json('inspect', 'the updater begins')]);
    await one.updates.rollback(order);
    await until(async () => (await last(one))?.state === 'inspect');
    expect(await one.updates.rollback(order)).toMatchObject({ reason: { code: 'update-running' } });
    expect(await one.updates.rollbackOffer()).toMatchObject({ reason: { code: 'update-running' } });
    expect(await one.updates.cancel('ben')).toMatchObject({ reason: { code: 'too-late' } });
    const [container] = rig.updaters;
    container?.say(lineOf({ phase: 'done', message: 'updated' }));
    container?.exit(0);
    await quiet(rig);
  });
});

describe('a store that was restored with the data', () => {
  /** Starts the server of the older version: its last update is open, and the updater of the rollback exists. */
  const boot = async (script: Script) => {
    leaveOpen({ updater: 'b'.repeat(64) });
    rig.engine.updaterDoes(script);
    const container = updater('back1');
    Object.assign(container.spec, { Cmd: ['rollback', '--yes'] });
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
  ])('gets the rollback from the updater, which %s', async (_, script) => {
    const one = await boot(script);
    await quiet(rig);
    expect(await last(one)).toMatchObject({
      id: 'back1',
      kind: 'rollback',
      from: 'v1.5.0',
      to: 'v1.4.2',
      by: 'ben',
      outcome: 'updated',
    });
    // Nothing knows when the update ended.
    expect(rig.past.map(({ run }) => [run.outcome, run.endedAt, run.message])).toEqual([
      ['updated', expect.any(String), 'updated v1.4.2 → v1.4.1 in 40 s'],
      ['updated', null, 'v1.4.2 → v1.5.0, later rolled back; the end of the update is unknown'],
    ]);
    const past = rig.past.map(({ run }) => run);
    expect(estimateUpdateSeconds(past, { isReady: false })).toBeNull();
    expect([rig.open, rig.state.isHeld]).toEqual([null, false]);
  });

  it('gets the result of the update from the server that started the rollback', async () => {
    const [startedAt, endedAt] = ['2026-11-21T10:42:07.000Z', '2026-11-21T10:42:49.000Z'];
    const done = { from: 'v1.4.2', to: 'v1.5.0', startedAt, endedAt, downtimeSeconds: 8.5 };
    const steps: Run['steps'] = [{ state: 'recreate', startedAt, endedAt, message: 'replacing app' }];
    const one = await booted([{ ...done, id, steps, restorePoint: { ...point, version: 'v1.4.2' } }]);
    const before = rig.past.map(({ run }) => run);
    rig.engine.updaterDoes([]);
    await one.updates.rollback({ ...order, confirm: 'v1.4.2' });
    await until(() => rig.updaters.some(({ isUp }) => isUp));
    await one.die();
    one.place.container.vanish();
    rig.state.store.delete('history');
    leaveOpen({ updater: 'b'.repeat(64) });
    await rig.booted({ name: 'svc-app-2' });
    const [container] = rig.updaters;
    container?.say(lineOf({ phase: 'done', message: 'updated v1.5.0 → v1.4.2 in 40 s' }));
    container?.exit(0);
    await quiet(rig);
    const [rollback, ...others] = rig.past.map(({ run }) => run);
    expect([rollback?.kind, others]).toEqual(['rollback', before]);
    expect(estimateUpdateSeconds(others, { isReady: false })).toBe(42);
  });
});
