import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { badRun, goodRun, type Script, workOf } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { patient, Rig, type Server, until } from './rig.ts';
import { atWork, endGood, leaveOpen } from './scene.ts';

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
});

describe('what is seen at the start of a server', () => {
  it('by one that has no place and never will ends the run after a while', async () => {
    leaveOpen(rig, { updater: 'd'.repeat(64) });
    const one = await rig.server({}, { engine: 'unix:///nowhere/docker.sock', timing: { silence: 100 } });
    await one.updates.boot();
    expect([rig.state.isHeld, rig.past]).toEqual([true, []]);
    await until(() => rig.past.length === 1 && !rig.state.isHeld);
    expect(outcomes()).toEqual(['crashed']);
  });
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

describe('an updater by hand', () => {
  it.each([
    ['the image is pulled', /images\/create/, 1],
    ['the name is cleared', /^GET .*\/containers\/svc-updater\/json/, 2],
  ])('beside a request, as %s: that one fails, this one is held for', async (_, match, nth) => {
    // Nobody else asks for that name meanwhile.
    const timing = { watch: 600_000, watchClosely: 600_000 };
    const one = await booted({}, { updaterPull: 'always', timing, patience: patient });
    const fault = rig.engine.fault({ kind: 'hang', match, nth });
    expect(await one.ask()).toHaveProperty('run');
    await until(() => fault.hits > 0);
    const container = atWork(rig, null);
    fault.release();
    await until(() => rig.past.length === 1);
    expect(rig.past[0]?.run).toMatchObject({ outcome: 'failed', code: 'launch-taken' });
    await until(async () => (await runOf(one))?.state === 'verify');
    expect(rig.state.isHeld).toBe(true);
    endGood(container);
    await quiet(rig);
    expect(outcomes()).toEqual(['updated', 'failed']);
  });

  it.each([1, 8])('that is removed after %d lines has crashed', async (lines) => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, lines));
    const one = await booted();
    await one.ask();
    await until(() => rig.open?.updater && rig.engine.updater.log.length === lines);
    rig.engine.updater.vanish();
    await quiet(rig);
    expect(rig.past).toMatchObject([{ run: { outcome: 'crashed', code: 'updater-gone' } }]);
    expect(rig.ends).toHaveLength(1);
  });
});

describe('a log', () => {
  const ends = { say: { phase: 'done', message: 'updated v1.4.2 → v1.5.0 in 4 s' } } as const;
  const alien = [
    '2026-11-21T10:42:07.000Z INFO  teleport moving svc',
    '2026-11-21T10:42:07.000Z FATAL verify it is away',
    'Error: out of memory',
    '',
    '{"level":30,"msg":"hello"}',
    '2026-11-21T10:42:07.000Z INFO  done',
    '2026-11-21T10:42:07.000Z INFO  done sublimated: nobody knows this word',
    '2026-11-21T10:42:07.000Z INFO  verify 300% done',
  ];

  it('with lines of a version that is not known is read past them', async () => {
    const says = alien.map((say) => ({ say }));
    rig.engine.updaterDoes([...workOf('v1.4.2', 'v1.5.0'), ...says, ends, { exit: 0 }]);
    const one = await booted();
    await one.ask();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'updated', code: null, warnings: [] });
  });

  it('with an end that is not known is no success', async () => {
    rig.engine.updaterDoes([...workOf('v1.4.2', 'v1.5.0'), { say: alien[6] ?? '' }, { exit: 0 }]);
    const one = await booted();
    await one.ask();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'crashed', code: 'updater-ended' });
  });

  it('of an updater that is started again three times is one run, each line told once', async () => {
    const dies: Script = [...workOf('v1.4.2', 'v1.5.0').slice(0, 3), { exit: 137 }];
    rig.engine.restartPauseMs = 20;
    rig.engine.updaterDoes(dies, dies, dies, goodRun('v1.4.2', 'v1.5.0'));
    const one = await booted();
    const lines: string[] = [];
    one.updates.listeners.on('line', ({ line }) => lines.push(line.phase));
    await one.ask();
    await quiet(rig);
    expect([outcomes(), rig.ends.length]).toEqual([['updated'], 1]);
    expect(lines).toHaveLength(3 * 3 + 9);
  });
});
