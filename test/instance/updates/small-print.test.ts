import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Preparation } from '../../../src/instance/contract/options.ts';
import { badRun, workOf } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { Rig, type Server, until } from './rig.ts';
import { atWork, endGood, id, leaveOpen, updater } from './scene.ts';

// What no whole run shows by its outcome: the last look before the launch, what is written when, what is said of it.

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(async () => {
  await rig.close();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

const booted = async (...more: Parameters<Rig['server']>): Promise<Server> => {
  const one = await rig.server(...more);
  await one.updates.boot();
  return one;
};
const runOf = async ({ updates }: Server) => (await updates.record())?.run;
const comesTo = (server: Server, state: string) => until(async () => (await runOf(server))?.state === state);
const outcomes = () => rig.past.map(({ run }) => run.outcome);
const updaters = () => rig.engine.containers.filter((one) => rig.engine.isUpdater(one));
const lead = () => rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
const messages = (server: Server, level: string) =>
  server.host.logged.filter((entry) => entry.level === level).map(({ message }) => message);

describe('a cancel at another server', () => {
  it('right before the launch is heard at the last look: no container is made', async () => {
    const one = await booted({}, { updaterPull: 'always', timing: { watchClosely: 60_000 } });
    const two = await booted({ name: 'svc-app-2' });
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await one.ask();
    await until(() => pull.hits > 0);
    await until(async () => 'run' in (await two.updates.cancel('ben')));
    const made = rig.engine.requests.length;
    pull.release();
    await quiet(rig);
    expect(outcomes()).toEqual(['cancelled']);
    const asked = rig.engine.requests.slice(made).map(({ line }) => line);
    expect(asked.filter((line) => line.includes('containers/create'))).toEqual([]);
  });

  it('in the moment of the launch is asked of the updater, until that hears it', async () => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, 3));
    const one = await booted({}, { patience: { work: 2_000 }, timing: { watchClosely: 60_000 } });
    const two = await booted({ name: 'svc-app-2' });
    const start = rig.engine.fault({ kind: 'hang', match: /\/start$/ });
    rig.engine.fault({ kind: 'refuse', status: 500, message: 'not now', match: /\/kill/, times: 2 });
    await one.ask();
    await until(() => start.hits > 0);
    const open = JSON.parse(rig.state.store.get('run') ?? '');
    const run = { ...open.run, cancelAskedBy: 'ben' };
    rig.state.store.set('run', JSON.stringify({ ...open, run }));
    start.release();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'cancelled', cancelAskedBy: 'ben' });
    expect(messages(one, 'warn')).toContain('the updater cannot be stopped');
    expect(two.host.calls('onEnd').length + one.host.calls('onEnd').length).toBe(1);
  });
});

describe('what is waited for', () => {
  it('is said once where it cannot be read, and again after it could be', async () => {
    const one = await booted();
    const job = rig.state.startJob('backup');
    await one.ask({ when: 'idle' });
    const warning = 'the jobs that an update waits for cannot be read';
    for (const times of [1, 2]) {
      const failure = one.host.fail('jobs', { how: 'reject', times: 3 });
      await until(() => failure.hits === 3);
      const { length } = one.host.calls('jobs');
      await until(() => one.host.calls('jobs').length > length + 1);
      expect(messages(one, 'warn')).toEqual(Array.from({ length: times }, () => warning));
    }
    if (job) rig.state.endJob(job);
    await quiet(rig);
  });

  it('and can no longer be read at all refuses the update in the end', async () => {
    const one = await booted({}, { idleTimeout: 0.1 });
    rig.state.startJob('backup');
    await one.ask({ when: 'idle' });
    one.host.fail('jobs', { how: 'reject', times: 1_000 });
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({
      outcome: 'refused',
      code: 'job-running',
      message: 'the jobs cannot be read: nothing was changed',
    });
  });

  it('has a last moment; a cancel does not wait for the next look', async () => {
    const one = await booted({}, { timing: { jobs: 30_000 }, idleTimeout: 600 });
    rig.state.startJob('backup');
    await one.ask({ when: 'idle' });
    await until(async () => (await runOf(one))?.until);
    const left = Date.parse((await runOf(one))?.until ?? '') - Date.now();
    expect(left).toBeGreaterThan(590_000);
    expect(left).toBeLessThan(600_001);
    await one.updates.cancel('ben');
    await quiet(rig);
  });
});

describe('beforeUpdate', () => {
  it('says whatever it says, while it works and not afterwards', async () => {
    let say: (message: unknown) => void = () => {};
    const prepared = Promise.withResolvers<string>();
    const one = await booted(
      {},
      {
        updaterPull: 'missing',
        beforeUpdate: (preparation) => {
          say = preparation.say as typeof say;
          return prepared.promise;
        },
        timing: { watchClosely: 60_000 },
      },
    );
    const image = rig.engine.fault({ kind: 'hang', match: /images\/acme/ });
    await one.ask();
    await until(() => rig.open?.run.state === 'preparing');
    say(42);
    expect((await runOf(one))?.message).toBe('42');
    // No sentence, so nothing is refused.
    prepared.resolve('');
    await until(() => image.hits > 0);
    say('too late');
    expect((await runOf(one))?.message).toBe('42');
    image.release();
    await quiet(rig);
    expect(outcomes()).toEqual(['updated']);
  });

  it.each([
    ['v1.4.2', 'v2.0.0', true],
    ['v1.4.2', 'v1.5.0', false],
    ['v1.4.2', 'canary', false],
    ['a build of mine', 'v2.0.0', false],
  ])('is told of %s → %s whether that is major: %s', async (version, target, major) => {
    const asked: Preparation[] = [];
    const one = await booted({}, { version, beforeUpdate: (told) => void asked.push(told) });
    await one.ask({ target });
    await quiet(rig);
    for (const told of asked) expect(told).toMatchObject({ major, target, from: version });
  });
});

describe('the store', () => {
  it('that does not take an end leaves nothing held, and has it later', async () => {
    lead();
    const one = await booted();
    await one.ask();
    await comesTo(one, 'verify');
    const set = one.host.fail('set', { how: 'reject', times: 1e9, with: ([key]) => key === 'history' });
    endGood(rig.engine.updater);
    await until(() => !rig.state.isHeld);
    await sleep(100);
    expect(one.told).toEqual(['start v1.5.0', 'end updated']);
    expect(await one.ask()).toMatchObject({ reason: { code: 'update-running' } });
    expect((await one.updates.history()).map(({ outcome }) => outcome)).toEqual(['updated']);
    set.release();
    await quiet(rig);
    expect([outcomes(), one.told.length, rig.ends.length]).toEqual([['updated'], 2, 1]);
  });

  it('has the end before the run is open no longer, and the updater while it works', async () => {
    lead();
    const one = await booted();
    await one.ask();
    await comesTo(one, 'verify');
    await until(() => rig.open?.updater === rig.engine.updater.id);
    expect((await runOf(one))?.log).toBe('docker logs svc-updater');
    rig.state.calls.length = 0;
    // From the launch on its log tells, so nothing is synchronized.
    await sleep(100);
    expect(one.host.calls('set')).toEqual([]);
    endGood(rig.engine.updater);
    await quiet(rig);
    expect(one.host.calls('set').map(({ args: [key] }) => key)).toEqual([
      'history',
      'run',
      'history',
      'history',
    ]);
  });

  it('has which boot of a server this is, as soon as it can be written', async () => {
    const one = await rig.server();
    one.host.fail('set', { how: 'reject', times: 2, with: ([key]) => key === 'servers' });
    await one.updates.boot();
    await until(() => rig.state.store.has('servers'));
    expect(JSON.parse(rig.state.store.get('servers') ?? '')).toMatchObject([
      { container: one.place.container.id },
    ]);
    const { length } = one.host.calls('set');
    await sleep(100);
    expect(one.host.calls('set')).toHaveLength(length);
  });

  it('that takes nothing hinders nobody from following an update', async () => {
    const container = atWork(rig, null);
    const one = await rig.server();
    one.host.fail('set', { how: 'reject', times: 1e9 });
    await one.updates.boot();
    await comesTo(one, 'verify');
    expect(rig.state.isHeld).toBe(true);
    endGood(container);
    await until(() => !rig.state.isHeld);
    one.host.recover();
  });

  it('has when the server was stopped before close() is over', async () => {
    lead();
    const one = await booted();
    await one.ask();
    await comesTo(one, 'verify');
    one.host.fail('set', { how: { slow: 50 } });
    await one.updates.close();
    expect(JSON.parse(rig.state.store.get('run') ?? '').serverStoppedAt).toMatch(/^\d{4}-/);
  });
});

describe('a start', () => {
  it('whose hold takes long is not taken for one of before', async () => {
    const one = await booted();
    one.host.fail('hold', { how: { slow: 150 } });
    expect(await one.ask()).toHaveProperty('run');
    await quiet(rig);
    expect(outcomes()).toEqual(['updated']);
  });

  it('that fails leaves nothing open, from the same moment on', async () => {
    const one = await booted({}, { timing: { watch: 60_000 } });
    one.host.fail('jobs', { how: 'reject' });
    await expect(one.ask()).rejects.toThrow();
    expect([rig.open, rig.state.isHeld]).toEqual([null, false]);
    rig.state.startJob('backup');
    await one.ask();
    expect([rig.open, rig.state.isHeld, one.told]).toEqual([null, false, []]);
  });

  it('beside the end of the server comes to nothing', async () => {
    const one = await booted();
    const hold = one.host.fail('hold', { how: { slow: 60 } });
    const asking = one.ask().catch(() => null);
    await until(() => hold.hits > 0);
    await one.updates.close();
    await asking;
    await until(() => rig.past.length === 1 && rig.open === null && !rig.state.isHeld);
    expect([outcomes(), updaters()]).toEqual([['cancelled'], []]);
  });

  it('of another server is held for, where this one has just let the queue go', async () => {
    const two = await booted({ name: 'svc-app-2' });
    const one = await rig.server();
    const resume = one.host.fail('resume', { how: { slow: 80 } });
    const booting = one.updates.boot();
    await until(() => resume.hits > 0);
    rig.state.startJob('backup');
    await two.ask({ when: 'idle' });
    await booting;
    await until(() => rig.state.isHeld);
    rig.state.jobs.length = 0;
    await quiet(rig);
  });
});

describe('what is seen at the start of a server', () => {
  it('is held for only where an updater is at work, and noted where it was not', async () => {
    leaveOpen(rig);
    rig.engine.updaterDoes([...workOf('v1.4.2', 'v1.5.0'), { exit: 0 }]);
    const container = updater(rig);
    container.start();
    await until(() => container.status === 'exited');
    const one = await booted();
    expect(one.host.calls('hold')).toEqual([]);
    expect(rig.open?.updater).toBe(container.id);
    await quiet(rig);
    expect(rig.past[0]?.run).toMatchObject({ id, outcome: 'crashed' });
  });

  it('and cannot be noted is followed all the same', async () => {
    const container = atWork(rig);
    leaveOpen(rig);
    const one = await rig.server();
    one.host.fail('set', { how: 'reject', times: 3, with: ([key]) => key === 'run' });
    await one.updates.boot();
    await comesTo(one, 'verify');
    endGood(container);
    await quiet(rig);
    expect(outcomes()).toEqual(['updated']);
  });

  it('by one that has no place and never will ends the run after a while', async () => {
    leaveOpen(rig, { updater: 'd'.repeat(64) });
    const one = await rig.server({}, { engine: 'unix:///nowhere/docker.sock', timing: { silence: 100 } });
    await one.updates.boot();
    expect([rig.state.isHeld, rig.past]).toEqual([true, []]);
    await until(() => rig.past.length === 1 && !rig.state.isHeld);
    expect(outcomes()).toEqual(['crashed']);
  });
});

it('an engine that is away for a moment is no reason to hold what nothing was held for', async () => {
  const one = await booted();
  await rig.engine.down();
  await sleep(150);
  expect(one.host.calls('hold')).toEqual([]);
  await rig.engine.up();
});

it('a status looks at the engine once a second at most, and once in ten where it is asked to', async () => {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const one = await booted({}, { timing: { watch: 60_000 } });
  const first = await one.updates.status();
  expect(first).not.toHaveProperty('releases');
  expect(await one.updates.status({ notes: true })).toMatchObject({ releases: [] });
  const count = () => rig.engine.requests.filter(({ line }) => line.includes('/svc-updater/json')).length;
  const before = count();
  await Promise.all([one.updates.status(), one.updates.status(), one.updates.isUpdating()]);
  expect(count()).toBe(before);
  now += 1_000;
  await Promise.all([one.updates.status(), one.updates.status()]);
  await until(() => count() === before + 1);
  await one.updates.status({ refresh: true });
  const refreshed = count();
  expect(refreshed).toBeGreaterThan(before + 1);
  await one.updates.status({ refresh: true });
  expect(count()).toBe(refreshed);
  clock.mockRestore();
});

it('a server that is a task of a Swarm service is refused, with the commands of Swarm', async () => {
  const one = await booted({ labels: { 'com.docker.swarm.service.name': 'svc_app' } });
  const { reason, manual } = await one.updates.status();
  expect(reason).toEqual({
    code: 'swarm',
    message: expect.stringContaining('a task of the Swarm service svc_app'),
  });
  expect(manual.join('\n')).toContain('docker service update');
});

it('an end is told to the log, as loud as it is', async () => {
  const one = await booted();
  await one.ask();
  await quiet(rig);
  // The real one has the engine not start it again.
  const refused = badRun(workOf('v1.4.2', 'v1.5.0').slice(0, 3), 'refused', 'drift').slice(0, -1);
  rig.engine.updaterDoes([...refused, { exit: 0 }]);
  await one.ask();
  await quiet(rig);
  expect(messages(one, 'info')).toContain('the update has ended: updated v1.4.2 → v1.5.0 in 4 s');
  expect(messages(one, 'warn').some((message) => message.includes('refused (drift)'))).toBe(true);
  const two = await booted({ name: 'svc-app-2' }, { updaterImage: 'acme/nowhere:1', updaterPull: 'always' });
  await two.ask();
  await quiet(rig);
  expect(messages(two, 'error')[0]).toMatch(/acme\/nowhere:1 cannot be pulled/);
});
