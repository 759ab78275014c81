import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { noQueue } from '../../../src/server/contract/validate-options.ts';
import { goodRun, workOf } from '../../rig/engine-double/script.ts';
import { freshRigs, rig, runOf, until } from './rig.ts';
import { atWork, endGood, id, leaveOpen, updater } from './scene.ts';

// What a server does when it starts, depending on the store and the engine (docs/contract.md 8.18).

freshRigs();

const outcomes = () => rig.past.map(({ run, told }) => `${run.outcome}${told ? '' : ', not told'}`);
/** Waits until no run is open, all results are reported, and the queue is resumed. */
const over = () => until(() => rig.open === null && !rig.state.isHeld && rig.past.every(({ told }) => told));

describe('an open run', () => {
  it('with a running updater is followed, and the queue is held', async () => {
    const container = atWork();
    leaveOpen({ updater: container.id });
    rig.state.isHeld = false;
    const one = await rig.booted();
    expect(rig.state.isHeld).toBe(true);
    await until(() => runOf(one).then((run) => run?.state === 'verify'));
    expect(await runOf(one)).toMatchObject({ id, by: 'anna', state: 'verify' });
    expect(rig.state.isHeld).toBe(true);
    endGood(container);
    await over();
    expect(outcomes()).toEqual(['updated']);
    expect(rig.ends.map((run) => run.id)).toEqual([id]);
  });

  it('with a finished updater is reported as finished', async () => {
    rig.state.isHeld = true;
    const container = updater();
    container.start();
    await until(() => container.status === 'exited');
    leaveOpen({ updater: container.id });
    const one = await rig.booted();
    await over();
    expect(outcomes()).toEqual(['updated']);
    expect(rig.ends).toHaveLength(1);
    expect((await one.updates.status()).run?.outcome).toBe('updated');
  });

  describe('that was never launched', () => {
    it.each([
      ['has stopped', false, 'w'],
      ['runs in another boot', true, 'new'],
    ])('is cancelled if its server %s', async (_, isRunning, word) => {
      const { container } = await rig.engine.addServer({ name: 'svc-app-2', isRunning });
      rig.state.store.set('servers', JSON.stringify([{ container: container.id, word }]));
      leaveOpen({ server: { container: container.id, word: 'w' } });
      await rig.booted();
      await over();
      expect(outcomes()).toEqual(['cancelled']);
    });

    it.each([
      ['is known', 'w'],
      ['has told nothing', null],
    ])('is not changed if its server is alive and %s', async (_, word) => {
      const other = await rig.engine.addServer({ name: 'svc-app-2' });
      if (word) rig.state.store.set('servers', JSON.stringify([{ container: other.container.id, word }]));
      leaveOpen({ server: { container: other.container.id, word: 'w' } });
      const one = await rig.booted();
      await sleep(200);
      expect(rig.open?.run.id).toBe(id);
      expect([rig.state.isHeld, rig.past]).toEqual([true, []]);
      expect(await runOf(one)).toMatchObject({ id, state: 'launching' });
    });

    it('is cancelled, and its created but never started container is removed', async () => {
      leaveOpen();
      updater();
      await rig.booted();
      await over();
      expect(outcomes()).toEqual(['cancelled']);
      expect(rig.updaters).toEqual([]);
    });
  });
});

describe('a server with an empty store', () => {
  it.each([
    ['by hand', null, null],
    ['of a run that nobody can read', id, '{"run":'],
  ])('adopts a running updater %s', async (_, run, text) => {
    if (text !== null) rig.state.store.set('run', text);
    const container = atWork(run);
    rig.state.isHeld = false;
    const one = await rig.booted();
    expect(rig.state.isHeld).toBe(true);
    await until(() => runOf(one).then((run) => run?.state === 'verify'));
    expect(rig.open?.run).toMatchObject({ by: null, to: 'v1.5.0' });
    endGood(container);
    await over();
    expect(outcomes()).toEqual(['updated']);
    expect(rig.past[0]?.run.by).toBeNull();
  });

  it('resumes the queue if the last updater has finished', async () => {
    rig.state.isHeld = true;
    updater().start();
    await until(() => rig.engine.updater.status === 'exited');
    const one = await rig.booted();
    expect([rig.state.isHeld, rig.past]).toEqual([false, []]);
    expect(await runOf(one)).toBeUndefined();
  });

  it('resumes the queue if only another instance is updating', async () => {
    rig.engine.updaterDoes([]);
    const other = rig.engine.create({
      name: 'svc-updater',
      Image: 'acme/svc-updater:1',
      Labels: { 'svc-updater.project': 'other', 'svc-updater.directory': '/srv/other' },
    });
    rig.state.isHeld = true;
    other.start();
    rig.state.violations.length = 0;
    const one = await rig.booted();
    expect(rig.state.isHeld).toBe(false);
    rig.state.violations.length = 0;
    expect(await one.ask()).toMatchObject({
      reason: { code: 'update-running', message: expect.stringContaining('project other') },
    });
  });
});

it.each(['yesterday', '+275760-09-13T00:00:00.000Z', 42])(
  'reports the status although times in the store are unreadable: %j',
  async (time) => {
    leaveOpen({ updater: 'd'.repeat(64) });
    const { run } = JSON.parse(rig.state.store.get('run') ?? '');
    const ended = { outcome: 'updated', state: 'updated', upgradePath: ['v1.5.0', 'v2.0.0'] };
    const broken = {
      ...run,
      ...ended,
      startedAt: time,
      endedAt: time,
      steps: [{ ...run.steps[0], endedAt: time }],
    };
    const past = { updaterStartedAt: null, told: true, attempts: 0, teller: null };
    rig.state.store.set('history', JSON.stringify([{ ...past, run: { ...broken, id: 'before' } }]));
    rig.state.store.set(
      'run',
      JSON.stringify({ ...rig.open, run: { ...run, startedAt: time, until: time } }),
    );
    rig.state.store.set('skip', JSON.stringify({ version: 'v1.5.0', since: String(time) }));
    const one = await rig.booted({}, { automatic: { enabled: true } });
    await over();
    expect(await one.updates.status()).toMatchObject({ run: { id, outcome: 'crashed' } });
    // The last run may also have an unreadable end time.
    rig.state.store.set('history', JSON.stringify([{ ...past, run: { ...broken, id: 'before' } }]));
    const other = await rig.booted({ name: 'svc-app-2' }, { automatic: { enabled: true } });
    expect(await other.updates.status()).toMatchObject({ pendingStep: null, run: { id: 'before' } });
  },
);

it('does not trust the labels of a container that another user created', async () => {
  rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
  const forged = updater(id, []);
  forged.start();
  rig.state.violations.length = 0;
  const one = await rig.booted();
  expect([rig.state.isHeld, await runOf(one), rig.open]).toEqual([false, undefined, null]);
  expect(await one.ask()).toMatchObject({
    reason: { code: 'update-running', message: expect.stringContaining('does not belong to this instance') },
  });
  rig.state.violations.length = 0;
  // After the container has exited, it is renamed and not removed.
  forged.exit(0);
  rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
  expect(await one.ask()).toHaveProperty('run');
  await over();
  expect([outcomes(), forged.isGone, forged.name]).toEqual([
    ['updated'],
    false,
    `svc-updater-${forged.id.slice(0, 12)}`,
  ]);
});

it('warns once about each unreadable entry', async () => {
  rig.state.store.set('run', '{"run":');
  rig.state.store.set('history', '[]x');
  const one = await rig.booted();
  for (let at = 0; at < 3; at++) await one.updates.status();
  expect(one.host.logged.filter(({ level }) => level === 'warn')).toHaveLength(2);
  expect(await one.ask()).toHaveProperty('run');
  await over();
  expect(outcomes()).toEqual(['updated']);
});

describe('a server without responses', () => {
  it.each([
    ['an open run', true],
    ['nothing is open', false],
  ])(
    'holds the queue if the engine is unavailable and %s, then resumes it with an error',
    async (_, isOpen) => {
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
      // The engine responds again.
      await rig.engine.up();
      await until(() => rig.open === null);
      await over();
      clock.mockRestore();
      expect(outcomes()).toEqual(isOpen ? ['crashed'] : []);
    },
  );

  it('logs nothing about a queue if the application has none', async () => {
    let ahead = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
    const one = await rig.server({}, { queue: noQueue, timing: { silence: 60_000, known: 100 } });
    await rig.engine.down();
    await one.updates.boot();
    ahead = 60_000;
    const errors = () => one.host.logged.filter(({ level }) => level === 'error');
    await until(() => errors().length > 0);
    clock.mockRestore();
    const message = 'the state of the update has been unknown for 1 minutes';
    expect(errors()).toMatchObject([{ message }]);
  });

  it('holds the queue and rejects updates while the store hangs, then recovers', async () => {
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
