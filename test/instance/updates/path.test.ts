import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { InstanceOptions } from '../../../src/instance/contract/options.ts';
import { type Forge, startForge } from '../../feed/forge.ts';
import { badRun, goodRun, workOf } from '../../rig/engine-double/script.ts';
import { Rig, type Server, until } from './rig.ts';

let rig: Rig;
let forge: Forge;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
  rig = await Rig.start();
  forge = await startForge();
  forge.publish(
    { tag: 'v2.1.0', requires: 'v2.0.0' },
    { tag: 'v2.0.0', requires: 'v1.5.0' },
    { tag: 'v1.5.0' },
  );
});
afterEach(async () => {
  await rig.close();
  await forge.close();
  vi.useRealTimers();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

const way = ['v1.5.0', 'v2.0.0', 'v2.1.0'];

/** A server of a release, in a container of its own or that of the one before it. */
async function booted(
  version: string,
  where: Server | string = 'svc-app-1',
  more: Partial<InstanceOptions> = {},
): Promise<Server> {
  const place = typeof where === 'string' ? { name: where } : where.place;
  const one = await rig.server(place, { version, feed: { url: forge.address('static') }, ...more });
  await one.updates.boot();
  await one.updates.status({ refresh: true });
  return one;
}

/** The first step, done by the server of v1.0.0, in whose place another one comes then. */
async function firstStep(): Promise<Server> {
  const one = await booted('v1.0.0');
  rig.engine.updaterDoes(goodRun('v1.0.0', 'v1.5.0'));
  await one.ask({ target: null, through: true });
  await until(() => rig.past.length === 1 && rig.open === null && !rig.state.isHeld);
  await one.updates.close();
  return one;
}
const past = () => rig.past.map(({ run: { from, to, outcome, by } }) => `${from} ${to} ${outcome} ${by}`);
const between = async ({ updates }: Server) => (await updates.status()).between;

/** Three more looks of each server that there is: each reads the past. */
async function someLooks(): Promise<void> {
  const count = () =>
    rig.state.calls.filter(({ part, args }) => part === 'get' && args[0] === 'history').length;
  const before = count();
  await until(() => count() >= before + 12);
}

describe('all the way', () => {
  it('goes by one press through three servers, each of which finds in the store what is to come', async () => {
    const prepared: unknown[] = [];
    const beforeUpdate = ({ target }: { target: string }) => void prepared.push(target);
    const one = await booted('v1.0.0', 'svc-app-1', { beforeUpdate });
    expect((await one.updates.status()).next).toMatchObject({ version: 'v1.5.0', path: way });
    rig.engine.updaterDoes(goodRun('v1.0.0', 'v1.5.0'));
    const started = await one.ask({ target: 'v2.1.0', through: true });
    expect(started).toMatchObject({ run: { to: 'v1.5.0', path: way, by: 'anna' } });
    await until(() => rig.past.length === 1 && rig.open === null);
    // The server of before is still there for a moment, and goes on with nothing.
    await someLooks();
    expect(rig.past).toHaveLength(1);
    expect(await between(one)).toMatchObject({ to: 'v2.0.0', says: null });
    await one.updates.close();

    rig.engine.updaterDoes(goodRun('v1.5.0', 'v2.0.0'));
    const two = await booted('v1.5.0', one, { beforeUpdate });
    await until(() => rig.past.length === 2 && rig.open === null);
    await two.updates.close();
    rig.engine.updaterDoes(goodRun('v2.0.0', 'v2.1.0'));
    const three = await booted('v2.0.0', two, { beforeUpdate });
    await until(() => rig.past.length === 3 && rig.open === null);
    await three.updates.close();
    const last = await booted('v2.1.0', three, { beforeUpdate });
    await someLooks();
    expect(past()).toEqual([
      'v2.0.0 v2.1.0 updated anna',
      'v1.5.0 v2.0.0 updated anna',
      'v1.0.0 v1.5.0 updated anna',
    ]);
    expect(rig.past.map(({ run }) => run.path)).toEqual([way, way, way]);
    expect([prepared, await between(last)]).toEqual([way, null]);
  });

  it('goes on once the platform is ready, and says until then why not', async () => {
    const one = await firstStep();
    let answer: unknown = 'The index is being built.';
    const afterStep = vi.fn(() => {
      if (answer instanceof Error) throw answer;
      return answer;
    });
    rig.engine.updaterDoes(goodRun('v1.5.0', 'v2.0.0'));
    const two = await booted('v1.5.0', one, { afterStep });
    await until(async () => (await between(two))?.says === 'The index is being built.');
    await until(() => afterStep.mock.calls.length > 3);
    answer = new Error('no database');
    await until(async () => (await between(two))?.says === 'no database');
    expect([rig.past.length, rig.open, rig.state.isHeld]).toEqual([1, null, false]);
    answer = undefined;
    await until(() => rig.past.length === 2);
    expect(afterStep).toHaveBeenCalledWith({ version: 'v1.5.0' });
  });

  it('ends where the platform is not ready for an hour', async () => {
    const one = await firstStep();
    const two = await booted('v1.5.0', one, { afterStep: () => 'The index is being built.' });
    await until(async () => (await between(two))?.says);
    vi.setSystemTime(Date.now() + 3_590_000);
    await someLooks();
    expect(await between(two)).not.toBeNull();
    vi.setSystemTime(Date.now() + 20_000);
    await until(async () => (await between(two)) === null);
    expect([past().length, rig.past[0]?.run.path]).toEqual([1, []]);
    const logged = two.host.logged.map(({ message }) => message);
    expect(logged).toContain('the path to v2.1.0 ends before v2.0.0: The index is being built.');
  });

  it.each([
    ['by the server that was there', true],
    ['by another one', false],
  ])('ends where it is cancelled between two, %s', async (_, isSame) => {
    const one = await firstStep();
    const afterStep = () => 'The index is being built.';
    const two = await booted('v1.5.0', one, { afterStep });
    const other = await booted('v1.5.0', 'svc-app-2', { afterStep });
    await until(async () => (await between(two))?.says);
    const cancelled = await (isSame ? two : other).updates.cancel('ben');
    expect(cancelled).toMatchObject({ run: { to: 'v1.5.0', outcome: 'updated', path: [] } });
    expect([await between(two), await between(other)]).toEqual([null, null]);
    expect(await two.updates.cancel('ben')).toMatchObject({ reason: { code: 'not-running' } });
    await someLooks();
    expect([rig.past.length, rig.open]).toEqual([1, null]);
  });

  it.each(['refused', 'failed', 'broken'] as const)('ends where the second ends %s', async (outcome) => {
    const one = await firstStep();
    const work = outcome === 'refused' ? workOf('v1.5.0', 'v2.0.0').slice(0, 3) : workOf('v1.5.0', 'v2.0.0');
    rig.engine.updaterDoes([...badRun(work, outcome, 'drift').slice(0, -1), { exit: 0 }]);
    const two = await booted('v1.5.0', one);
    await until(() => rig.past.length === 2 && rig.open === null);
    await someLooks();
    expect(past()[0]).toBe(`v1.5.0 v2.0.0 ${outcome} anna`);
    expect([rig.past.length, await between(two)]).toEqual([2, null]);
  });

  it('ends where somebody updates otherwise between two', async () => {
    const one = await firstStep();
    const two = await booted('v1.5.0', one, { afterStep: () => 'Not yet.' });
    await until(async () => (await between(two))?.says);
    rig.engine.updaterDoes(goodRun('v1.5.0', 'v1.5.1'));
    await two.ask({ target: 'v1.5.1', by: 'ben' });
    await until(() => rig.past.length === 2 && rig.open === null);
    expect([await between(two), past()[0]]).toEqual([null, 'v1.5.0 v1.5.1 updated ben']);
  });
});
