import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Updates } from '../../../src/instance/updates.ts';
import { workOf } from '../../rig/engine-double/script.ts';
import { quiet } from './invariants.ts';
import { Rig, type Server, until } from './rig.ts';
import { atWork, endGood, id, leaveOpen } from './scene.ts';

// Platforms that do what nobody would think of: a store that is wiped or set back, answers of no use, calls from within
// calls, a clock that jumps.

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(async () => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  await rig.close();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

const booted = async (...more: Parameters<Rig['server']>): Promise<Server> => {
  const one = await rig.server(...more);
  await one.updates.boot();
  return one;
};
const runOf = async ({ updates }: Server) => (await updates.record())?.run;
const outcomes = () => rig.past.map(({ run }) => run.outcome);
const lead = () => rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
const comesTo = (server: Server, state: string) => until(async () => (await runOf(server))?.state === state);

describe('a store', () => {
  it.each(['waiting', 'preparing', 'launching'])('that is wiped in %s cancels the run', async (state) => {
    const one = await booted(
      {},
      {
        updaterPull: 'always',
        beforeUpdate: () => (state === 'preparing' ? new Promise(() => {}) : undefined),
      },
    );
    if (state === 'waiting') rig.state.startJob('backup');
    const pull = rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await one.ask({ when: 'idle' });
    await until(async () => (await runOf(one))?.state === state && (state !== 'launching' || pull.hits > 0));
    rig.state.store.clear();
    await quiet(rig);
    pull.release();
    expect(await runOf(one)).toMatchObject({
      outcome: 'cancelled',
      message: expect.stringMatching(/another server of this instance has ended it: nothing was changed/),
    });
    expect(rig.engine.containers.filter((each) => rig.engine.isUpdater(each))).toEqual([]);
  });

  it('that is wiped while the updater works changes nothing of the run', async () => {
    lead();
    const one = await booted();
    const two = await booted({ name: 'svc-app-2' });
    await one.ask();
    for (const server of [one, two]) await comesTo(server, 'verify');
    rig.state.store.clear();
    await sleep(100);
    expect(rig.state.isHeld).toBe(true);
    endGood(rig.engine.updater);
    await quiet(rig);
    for (const { told } of [one, two]) await until(() => told.includes('end updated'));
    expect([outcomes(), rig.ends.length]).toEqual([['updated'], 1]);
  });
});

describe('jobs()', () => {
  it.each([
    ['nothing', undefined],
    ['a text', 'none'],
  ])('that gives %s is no answer: nothing starts, and nothing stays held', async (_, gives) => {
    const one = await booted();
    one.host.fail('jobs', { how: { gives }, times: 2 });
    await expect(one.updates.status()).rejects.toThrow('cannot do this right now');
    await expect(one.ask()).rejects.toThrow('cannot do this right now');
    await quiet(rig);
    expect([rig.past, (await one.updates.status()).reason?.code]).toEqual([[], 'up-to-date']);
  });
});

describe('a call from within', () => {
  // None of these waits for a limit.
  const calm = { timing: { host: 5_000, onEnd: 5_000 }, patience: { query: 5_000, work: 5_000 } };
  const order = { target: 'v1.6.0', when: 'now', force: false, by: 'onEnd' } as const;
  it.each<[string, (updates: Updates) => Promise<unknown>, string[]]>([
    ['close()', (updates) => updates.close(), ['updated']],
    ['update()', (updates) => updates.start(order), ['updated', 'updated']],
  ])('onEnd of %s comes to an end, and is told once', async (_, call, expected) => {
    let calls = 0;
    const one: Server = await booted(
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
    expect([outcomes(), calls, rig.past.map(({ attempts }) => attempts)]).toEqual([
      expected,
      expected.length,
      expected.map(() => 1),
    ]);
    expect(one.host.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it.each<[string, (updates: Updates) => Promise<unknown>, string]>([
    ['cancel()', (updates) => updates.cancel('ben'), 'cancelled'],
    ['close()', (updates) => updates.close(), 'cancelled'],
  ])('beforeUpdate of %s comes to an end', async (_, call, outcome) => {
    const one: Server = await booted(
      {},
      { ...calm, beforeUpdate: async () => void (await call(one.updates)) },
    );
    await one.ask();
    await quiet(rig);
    expect(outcomes()).toEqual([outcome]);
  });

  it('a listener that cancels and throws is heard, and hinders nobody', async () => {
    lead();
    const one = await booted();
    one.updates.listeners.on('line', ({ line }) => {
      if (line.phase === 'inspect') void one.updates.cancel('a listener');
      throw new Error('a listener throws');
    });
    one.updates.listeners.on('start', () => Promise.reject(new Error('a listener rejects')));
    rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, 1));
    await one.ask();
    await quiet(rig);
    expect(await runOf(one)).toMatchObject({ outcome: 'cancelled', cancelAskedBy: 'a listener' });
    expect(one.host.logged.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'a listener for start failed',
      'a listener for line failed',
      'a listener for line failed',
    ]);
  });
});

describe('the life of a server', () => {
  it('that is closed before it was started asks nobody', async () => {
    leaveOpen(rig);
    const one = await rig.server();
    await one.updates.close();
    await one.updates.boot();
    expect(one.host.calls('hold').concat(one.host.calls('resume'))).toEqual([]);
    expect([rig.open?.run.id, rig.state.isHeld]).toEqual([id, true]);
    await expect(one.ask()).rejects.toThrow('closing');
    await expect(one.updates.cancel('ben')).rejects.toThrow('closing');
  });

  it('that is closed while it starts comes to an end, and does nothing afterwards', async () => {
    const container = atWork(rig);
    leaveOpen(rig, { updater: container.id });
    const one = await rig.server();
    const get = one.host.fail('get', { how: 'hang', with: ([key]) => key === 'run' });
    const booting = one.updates.boot();
    await until(() => get.hits > 0);
    await one.updates.close();
    get.release();
    await booting;
    rig.state.calls.length = 0;
    await sleep(100);
    expect([rig.state.calls, rig.state.isHeld]).toEqual([[], true]);
    const next = await booted(one.place);
    await comesTo(next, 'verify');
    endGood(container);
    await quiet(rig);
  });
});

/** The clock of the machine is set, in the middle of everything. */
function setClock(byMs: number): void {
  const Real = Date;
  class Shifted extends Real {
    // biome-ignore lint/suspicious/noExplicitAny: whatever a date is made of
    constructor(...made: any[]) {
      super(...((made.length === 0 ? [Real.now() + byMs] : made) as [number]));
    }
    static override now = () => Real.now() + byMs;
    static override [Symbol.hasInstance] = (value: unknown) => value instanceof Real;
  }
  vi.stubGlobal('Date', Shifted);
}

const day = 24 * 3_600_000;
describe.each([
  ['forward', day],
  ['back', -day],
])('a clock that is set a day %s', (_, ms) => {
  it('waits as long as it was told to, by a clock that nobody sets', async () => {
    const one = await booted({}, { idleTimeout: 0.3 });
    rig.state.startJob('cron');
    const began = performance.now();
    await one.ask({ when: 'idle' });
    await comesTo(one, 'waiting');
    setClock(ms);
    await quiet(rig);
    expect(outcomes()).toEqual(['refused']);
    expect(performance.now() - began).toBeGreaterThan(290);
  });
});
