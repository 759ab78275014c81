import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { StartableUpdateApi } from '../../../src/server/create-update-api.ts';
import { goodRun, type Script, workOf } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { freshRigs, patient, rig, runOf, type Server, until } from './rig.ts';
import { atWork, endGood } from './scene.ts';

// Situations that no complete run shows: useless results, calls from callbacks, a clock that jumps, a cancel right
// before the launch, an admin who starts an updater manually.

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
freshRigs();

const lead = () => rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
const messages = (server: Server, level: string) =>
  server.host.logged.filter((entry) => entry.level === level).map(({ message }) => message);
const comesTo = (server: Server, state: string) => until(async () => (await runOf(server))?.state === state);

it('starts nothing and resumes the queue if jobs() returns no list', async () => {
  const one = await rig.booted();
  one.host.fail('jobs', { how: { gives: undefined }, times: 2 });
  await expect(one.updates.status()).rejects.toThrow('cannot process the request right now');
  await expect(one.ask()).rejects.toThrow('cannot process the request right now');
  await quiet(rig);
  expect([rig.past, (await one.updates.status()).reason?.code]).toEqual([[], 'up-to-date']);
});

describe('a call from a callback', () => {
  // No test here waits for a timeout.
  const calm = { timing: { host: 5_000, onEnd: 5_000 }, patience: { query: 5_000, work: 5_000 } };
  const order = { target: 'v1.6.0', when: 'now', force: false, by: 'onEnd' } as const;
  it.each<[string, (updates: StartableUpdateApi) => Promise<unknown>, string[]]>([
    ['close()', (updates) => updates.close(), ['updated']],
    ['update()', (updates) => updates.start(order), ['updated', 'updated']],
  ])('to %s does not block onEnd, which is called once for each run', async (_, call, expected) => {
    let calls = 0;
    const one: Server = await rig.booted(
      {},
      {
        ...calm,
        onEnd: async () => {
          if (++calls === 1) await call(one.updates);
        },
      },
    );
    await one.ask();
    await until(() => rig.past.length === expected.length && rig.past.every(({ told }) => told));
    await quiet(rig);
    expect([rig.outcomes, calls, rig.past.map(({ attempts }) => attempts)]).toEqual([
      expected,
      expected.length,
      expected.map(() => 1),
    ]);
    expect(one.host.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('of a listener that cancels and throws does not affect other listeners', async () => {
    lead();
    const one = await rig.booted();
    one.updates.listeners.on('line', ({ line }) => {
      if (line.phase === 'inspect') void one.updates.cancel('a listener');
      throw new Error('a listener throws');
    });
    one.updates.listeners.on('start', () => Promise.reject(new Error('a listener rejects')));
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, 1));
    await one.ask();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'cancelled', cancelRequestedBy: 'a listener' });
    expect(one.host.logged.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'a listener for the event start failed',
      'a listener for the event line failed',
      'a listener for the event line failed',
    ]);
  });
});

it('the wait for jobs uses a monotonic clock', async () => {
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
  const one = await rig.booted({}, { idleTimeoutSeconds: 0.3 });
  rig.state.startJob('cron');
  const began = performance.now();
  await one.ask({ when: 'idle' });
  await comesTo(one, 'waiting');
  vi.setSystemTime(Date.now() + 24 * 3_600_000);
  await quiet(rig);
  // The first blocking job determines the code.
  const message = expect.stringMatching(/nothing was changed/);
  expect(await runOf(one)).toMatchObject({ outcome: 'refused', code: 'cron-running', message });
  expect(performance.now() - began).toBeGreaterThan(290);
});

describe('a cancel at another server', () => {
  it('right before the launch prevents the creation of the container', async () => {
    const one = await rig.booted({}, { updaterPull: 'always', timing: { watchClosely: 60_000 } });
    const two = await rig.booted({ name: 'svc-app-2' });
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await one.ask();
    await until(() => pull.hits > 0);
    await until(async () => 'run' in (await two.updates.cancel('ben')));
    const made = rig.engine.requests.length;
    pull.release();
    await quiet(rig);
    expect(rig.outcomes).toEqual(['cancelled']);
    const asked = rig.engine.requests.slice(made).map(({ line }) => line);
    expect(asked.filter((line) => line.includes('containers/create'))).toEqual([]);
  });

  it('during the launch is passed on to the updater', async () => {
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, 3));
    const one = await rig.booted({}, { patience: { work: 2_000 }, timing: { watchClosely: 60_000 } });
    const two = await rig.booted({ name: 'svc-app-2' });
    const start = rig.engine.fault({ kind: 'hang', match: /\/start$/ });
    rig.engine.fault({ kind: 'refuse', status: 500, message: 'not now', match: /\/kill/, times: 2 });
    await one.ask();
    await until(() => start.hits > 0);
    const open = JSON.parse(rig.state.store.get('run') ?? '');
    const run = { ...open.run, cancelRequestedBy: 'ben' };
    rig.state.store.set('run', JSON.stringify({ ...open, run }));
    start.release();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'cancelled', cancelRequestedBy: 'ben' });
    expect(messages(one, 'warn')).toContain('failed to stop the updater; retrying');
    expect(two.host.calls('onEnd').length + one.host.calls('onEnd').length).toBe(1);
  });
});

it('a store that fails at the end of a run gets the result later, and the queue is resumed', async () => {
  lead();
  const one = await rig.booted();
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
  expect([rig.outcomes, one.told.length, rig.ends.length]).toEqual([['updated'], 2, 1]);
});

it('a manually started updater takes precedence over a simultaneous request', async () => {
  // No poll requests the container of that name in the meantime.
  const timing = { watch: 600_000, watchClosely: 600_000 };
  const one = await rig.booted({}, { updaterPull: 'always', timing, patience: patient });
  const match = /^GET .*\/containers\/svc-updater\/json/;
  const fault = rig.engine.fault({ kind: 'hang', match, nth: 2 });
  expect(await one.ask()).toHaveProperty('run');
  await until(() => fault.hits > 0);
  const container = atWork(null);
  fault.release();
  await until(() => rig.past.length === 1);
  expect(rig.past[0]?.run).toMatchObject({ outcome: 'failed', code: 'launch-taken' });
  await comesTo(one, 'verify');
  expect(rig.state.isHeld).toBe(true);
  endGood(container);
  await quiet(rig);
  expect(rig.outcomes).toEqual(['updated', 'failed']);
});

it('an updater that restarts three times is followed as one run without repeated lines', async () => {
  const dies: Script = [...workOf('v1.4.2', 'v1.5.0').slice(0, 3), { exit: 137 }];
  rig.engine.restartPauseMs = 20;
  rig.engine.updaterDoes(dies, dies, dies, goodRun('v1.4.2', 'v1.5.0'));
  const one = await rig.booted();
  const lines: string[] = [];
  one.updates.listeners.on('line', ({ line }) => lines.push(line.phase));
  await one.ask();
  await quiet(rig);
  expect([rig.outcomes, rig.ends.length]).toEqual([['updated'], 1]);
  expect(lines).toHaveLength(3 * 3 + 9);
});

it('a server in a Swarm service cannot update, and reports manual commands', async () => {
  const one = await rig.booted({ labels: { 'com.docker.swarm.service.name': 'svc_app' } });
  const { reason, manual } = await one.updates.status();
  expect(reason).toEqual({
    code: 'swarm',
    message: expect.stringContaining('a task of the Swarm service svc_app'),
  });
  expect(manual.join('\n')).toContain('docker service update');
});
