import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OpenRun } from '../../../src/instance/store/open-run.ts';
import { goodRun } from '../../rig/engine-double/script.ts';
import { Rig, until } from './rig.ts';
import * as scene from './scene.ts';
import { endGood, id } from './scene.ts';

// The table of boots: what the store says, what the engine says, and what a server then does (docs/contract.md 8.18).

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(async () => {
  await rig.close();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

const leaveOpen = (more: Partial<OpenRun> = {}) => scene.leaveOpen(rig, more);
const updater = (run: string | null = id) => scene.updater(rig, run);
const atWork = (run: string | null = id) => scene.atWork(rig, run);

const outcomes = () => rig.past.map(({ run, told }) => `${run.outcome}${told ? '' : ', not told'}`);
/** It has come to an end that was told, and the queue goes on. */
const over = () => until(() => rig.open === null && !rig.state.isHeld && rig.past.every(({ told }) => told));

describe('a run is open', () => {
  it.each([
    ['as launched', true],
    ['as not launched yet', false],
  ])('%s, and its updater is under way: it is held for and followed', async (_, isWritten) => {
    const container = atWork();
    leaveOpen({ updater: isWritten ? container.id : null });
    rig.state.isHeld = false;
    const one = await rig.server();
    await one.updates.boot();
    expect(rig.state.isHeld).toBe(true);
    await until(() => one.updates.record().then((record) => record?.run.state === 'verify'));
    expect((await one.updates.record())?.run).toMatchObject({ id, by: 'anna', state: 'verify' });
    expect(rig.state.isHeld).toBe(true);
    endGood(container);
    await over();
    expect(outcomes()).toEqual(['updated']);
    expect(rig.ends.map((run) => run.id)).toEqual([id]);
  });

  it.each([
    ['well', goodRun('v1.4.2', 'v1.5.0'), 'updated'],
    ['without a word', [{ exit: 0 }], 'crashed'],
  ])('and its updater has ended %s: its end is told', async (_, script, outcome) => {
    rig.state.isHeld = true;
    rig.engine.updaterDoes(script, script, script, script);
    const container = updater();
    container.start();
    await until(() => container.status === 'exited');
    leaveOpen({ updater: container.id });
    const one = await rig.server();
    await one.updates.boot();
    await over();
    expect(outcomes()).toEqual([outcome]);
    expect(rig.ends).toHaveLength(1);
    expect((await one.updates.status()).run?.outcome).toBe(outcome);
  });

  describe('was never launched, and its server', () => {
    it('has stopped: it was cancelled', async () => {
      const other = await rig.engine.addServer({ name: 'svc-app-2', isRunning: false });
      leaveOpen({ server: { container: other.container.id, word: 'w' } });
      await (await rig.server()).updates.boot();
      await over();
      expect(outcomes()).toEqual(['cancelled']);
    });

    it('runs in another boot: it was cancelled', async () => {
      const other = await rig.engine.addServer({ name: 'svc-app-2' });
      rig.state.store.set('servers', JSON.stringify([{ container: other.container.id, word: 'new' }]));
      leaveOpen({ server: { container: other.container.id, word: 'old' } });
      await (await rig.server()).updates.boot();
      await over();
      expect(outcomes()).toEqual(['cancelled']);
    });

    it.each([
      ['is known', 'w'],
      ['has told nothing', null],
    ])('lives and %s: it is let alone', async (_, word) => {
      const other = await rig.engine.addServer({ name: 'svc-app-2' });
      if (word) rig.state.store.set('servers', JSON.stringify([{ container: other.container.id, word }]));
      leaveOpen({ server: { container: other.container.id, word: 'w' } });
      const one = await rig.server();
      await one.updates.boot();
      await sleep(200);
      expect(rig.open?.run.id).toBe(id);
      expect([rig.state.isHeld, rig.past]).toEqual([true, []]);
      expect((await one.updates.record())?.run).toMatchObject({ id, state: 'launching' });
    });

    it('is gone, with a container made and not started: that one is removed', async () => {
      leaveOpen();
      updater();
      await (await rig.server()).updates.boot();
      await over();
      expect(outcomes()).toEqual(['cancelled']);
      expect(rig.engine.containers.filter((one) => rig.engine.isUpdater(one))).toEqual([]);
    });
  });
});

describe('the store says nothing', () => {
  it.each([
    ['by hand', null, null],
    ['of a run', id, null],
    ['of a run that nobody can read', id, '{"run":'],
  ])('and an updater %s is under way: it is adopted', async (_, run, text) => {
    if (text !== null) rig.state.store.set('run', text);
    const container = atWork(run);
    rig.state.isHeld = false;
    const one = await rig.server();
    await one.updates.boot();
    expect(rig.state.isHeld).toBe(true);
    await until(() => one.updates.record().then((record) => record?.run.state === 'verify'));
    expect(rig.open?.run).toMatchObject({ by: null, to: 'v1.5.0' });
    endGood(container);
    await over();
    expect(outcomes()).toEqual(['updated']);
    expect(rig.past[0]?.run.by).toBeNull();
  });

  it.each([
    ['none', false],
    ['one that has ended', true],
  ])('and there is %s: the queue goes on', async (_, isThere) => {
    rig.state.isHeld = true;
    if (isThere) {
      updater().start();
      await until(() => rig.engine.updater.status === 'exited');
    }
    const one = await rig.server();
    await one.updates.boot();
    expect([rig.state.isHeld, rig.past]).toEqual([false, []]);
    expect(await one.updates.record()).toBeNull();
  });

  it('and the updater of another instance is under way: the queue goes on', async () => {
    rig.engine.updaterDoes([]);
    const other = rig.engine.create({
      name: 'svc-updater',
      Image: 'acme/svc-updater:1',
      Labels: { 'svc-updater.project': 'other', 'svc-updater.directory': '/srv/other' },
    });
    rig.state.isHeld = true;
    other.start();
    rig.state.violations.length = 0;
    const one = await rig.server();
    await one.updates.boot();
    expect(rig.state.isHeld).toBe(false);
    rig.state.violations.length = 0;
    expect(await one.ask()).toMatchObject({
      reason: { code: 'update-running', message: expect.stringContaining('project other') },
    });
  });
});

it('warns once of what cannot be read', async () => {
  rig.state.store.set('run', '{"run":');
  rig.state.store.set('history', '[]x');
  const one = await rig.server();
  await one.updates.boot();
  for (let at = 0; at < 3; at++) await one.updates.status();
  expect(one.host.logged.filter(({ level }) => level === 'warn')).toHaveLength(2);
  expect(await one.ask()).toHaveProperty('run');
  await over();
  expect(outcomes()).toEqual(['updated']);
});

describe('nobody answers', () => {
  it.each([
    ['a run is open', true],
    ['nothing is open', false],
  ])('where the engine is away and %s: held, and resumed with an error', async (_, isOpen) => {
    if (isOpen) leaveOpen({ updater: 'd'.repeat(64) });
    let ahead = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
    const silence = 1_000_000;
    const one = await rig.server({}, { timing: { silence, known: 100 } });
    await rig.engine.down();
    await one.updates.boot();
    expect(rig.state.isHeld).toBe(true);
    expect(await one.ask()).toMatchObject({ reason: { code: 'no-engine' } });
    expect(rig.state.isHeld).toBe(true);
    ahead = silence;
    await until(() => !rig.state.isHeld);
    expect(one.host.logged.filter(({ level }) => level === 'error')).toHaveLength(1);
    // It answers after all.
    await rig.engine.up();
    await until(() => rig.open === null);
    await over();
    clock.mockRestore();
    expect(outcomes()).toEqual(isOpen ? ['crashed'] : []);
  });

  it('where the store hangs: held, refused, and as it should be once it answers', async () => {
    rig.state.isHeld = true;
    const one = await rig.server();
    const failure = one.host.fail('get', { how: 'hang', times: 1_000 });
    await one.updates.boot();
    expect(rig.state.isHeld).toBe(true);
    expect(await one.ask()).toMatchObject({ reason: { code: 'store-unavailable' } });
    expect((await one.updates.status()).reason?.code).toBe('store-unavailable');
    failure.release();
    await until(() => !rig.state.isHeld);
    await until(async () => 'run' in (await one.ask()));
    await over();
  });
});

describe('an end is told', () => {
  it('anew of an updater that was judged crashed and is started again', async () => {
    const container = atWork();
    leaveOpen({ updater: container.id });
    const one = await rig.server();
    await one.updates.boot();
    await until(() => one.updates.record().then((record) => record?.run.state === 'verify'));
    container.kill('SIGKILL');
    await over();
    expect(outcomes()).toEqual(['crashed']);
    rig.state.isHeld = true;
    container.start();
    rig.state.isHeld = false;
    await until(() => rig.state.isHeld);
    expect(await one.updates.history()).toMatchObject([{ id, outcome: null, by: 'anna' }]);
    endGood(container);
    await over();
    expect(outcomes()).toEqual(['updated']);
    expect(rig.ends.map(({ id, outcome }) => [id, outcome])).toEqual([
      [id, 'crashed'],
      [id, 'updated'],
    ]);
    const { run } = await one.updates.status();
    expect(run).toMatchObject({ outcome: 'updated', by: 'anna' });
    // What was done before the launch is not in the log.
    expect(run?.steps.slice(0, 2).map(({ state }) => state)).toEqual(['preparing', 'launching']);
    expect(run?.steps.every(({ endedAt }) => endedAt !== null)).toBe(true);
  });
});
