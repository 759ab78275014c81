import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import { badRun, goodRun, workOf } from '../../rig/engine-double/script.ts';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
});
afterEach(() => void vi.useRealTimers());
freshForges();
freshRigs();
beforeEach(() => {
  forge.publish(
    { tag: 'v2.1.0', requires: 'v2.0.0' },
    { tag: 'v2.0.0', requires: 'v1.5.0' },
    { tag: 'v1.5.0' },
  );
});

/** A server of a release, in its own container or that of the previous server. */
async function booted(
  version: string,
  where: Server | string = 'svc-app-1',
  more: Partial<InstanceOptions> = {},
): Promise<Server> {
  const place = typeof where === 'string' ? { name: where } : where.place;
  const one = await rig.booted(place, { version, feed: { url: forge.address('static') }, ...more });
  await one.updates.status({ refresh: true });
  return one;
}

/** Installs the first step with the server of v1.0.0, and closes this server so that another can replace it. */
async function firstStep(): Promise<Server> {
  const one = await booted('v1.0.0');
  rig.engine.updaterDoes(goodRun('v1.0.0', 'v1.5.0'));
  await one.ask({ target: null, allSteps: true });
  await until(() => rig.past.length === 1 && rig.open === null && !rig.state.isHeld);
  await one.updates.close();
  return one;
}
const past = () => rig.past.map(({ run: { from, to, outcome, by } }) => `${from} ${to} ${outcome} ${by}`);
const between = async ({ updates }: Server) => (await updates.status()).pendingStep;

/** Waits until the servers have read the past runs several more times. */
async function someLooks(): Promise<void> {
  const count = () =>
    rig.state.calls.filter(({ part, args }) => part === 'get' && args[0] === 'history').length;
  const before = count();
  await until(() => count() >= before + 12);
}

describe('an upgrade path', () => {
  it('stops if the application is not ready for an hour', async () => {
    const one = await firstStep();
    const two = await booted('v1.5.0', one, { afterStep: () => 'The index is being built.' });
    await until(async () => (await between(two))?.reason);
    vi.setSystemTime(Date.now() + 3_590_000);
    await someLooks();
    expect(await between(two)).not.toBeNull();
    vi.setSystemTime(Date.now() + 20_000);
    await until(async () => (await between(two)) === null);
    expect([past().length, rig.past[0]?.run.upgradePath]).toEqual([1, []]);
    const logged = two.host.logged.map(({ message }) => message);
    expect(logged).toContain(
      'stopped the step-by-step upgrade to v2.1.0 before installing v2.0.0: The index is being built.',
    );
  });

  it.each<[string, NonNullable<InstanceOptions['afterStep']>]>([
    [
      'throws',
      () => {
        throw new Error('password hunter2 was refused');
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('hunter2'))],
    ['does not answer', () => new Promise(() => {})],
  ])('waits if afterStep %s, and only the log has the error, once', async (_, afterStep) => {
    const one = await firstStep();
    const two = await booted('v1.5.0', one, { afterStep });
    await until(async () => (await between(two))?.reason);
    await someLooks();
    await someLooks();
    expect((await between(two))?.reason).toBe(
      'the check before the next step failed; the log of the server has the details',
    );
    expect(JSON.stringify(await two.updates.status())).not.toContain('hunter2');
    const warnings = two.host.logged.filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([{ message: 'afterStep failed', cause: { name: 'ApplicationError' } }]);
    expect(rig.past).toHaveLength(1);
  });

  it('stops if another server cancels it between two steps', async () => {
    const one = await firstStep();
    const afterStep = () => 'The index is being built.';
    const two = await booted('v1.5.0', one, { afterStep });
    const other = await booted('v1.5.0', 'svc-app-2', { afterStep });
    await until(async () => (await between(two))?.reason);
    const cancelled = await other.updates.cancel('ben');
    expect(cancelled).toMatchObject({ run: { to: 'v1.5.0', outcome: 'updated', upgradePath: [] } });
    expect([await between(two), await between(other)]).toEqual([null, null]);
    expect(await two.updates.cancel('ben')).toMatchObject({ reason: { code: 'not-running' } });
    await someLooks();
    expect([rig.past.length, rig.open]).toEqual([1, null]);
  });

  it('stops if the second step fails', async () => {
    const one = await firstStep();
    rig.engine.updaterDoes([
      ...badRun(workOf('v1.5.0', 'v2.0.0'), 'failed', 'drift').slice(0, -1),
      { exit: 0 },
    ]);
    const two = await booted('v1.5.0', one);
    await until(() => rig.past.length === 2 && rig.open === null);
    await someLooks();
    expect(past()[0]).toBe('v1.5.0 v2.0.0 failed anna');
    expect([rig.past.length, await between(two)]).toEqual([2, null]);
  });

  it('stops if another update is started between two steps', async () => {
    const one = await firstStep();
    const two = await booted('v1.5.0', one, { afterStep: () => 'Not yet.' });
    await until(async () => (await between(two))?.reason);
    rig.engine.updaterDoes(goodRun('v1.5.0', 'v1.5.1'));
    await two.ask({ target: 'v1.5.1', by: 'ben' });
    await until(() => rig.past.length === 2 && rig.open === null);
    expect([await between(two), past()[0]]).toEqual([null, 'v1.5.0 v1.5.1 updated ben']);
  });
});
