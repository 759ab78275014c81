import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
  at('2026-11-25T01:59:00Z');
});
afterEach(() => void vi.useRealTimers());
freshForges();
freshRigs();
beforeEach(() => {
  forge.publish({ tag: 'v1.5.0', publishedAt: weekAgo });
});

/** Sets the clock. */
const at = (moment: string) => void vi.setSystemTime(new Date(moment));
const weekAgo = '2026-11-18T10:00:00Z';
const automatic = { enabled: true, timeZone: 'UTC' };

async function booted(more: Parameters<typeof rig.booted>[1] = {}, name = 'svc-app-1'): Promise<Server> {
  const one = await rig.booted({ name }, { automatic, feed: { url: forge.address('static') }, ...more });
  await one.updates.status({ refresh: true });
  return one;
}

/** Waits until each server has read the automatic settings from the store three more times. */
async function someLooks(): Promise<void> {
  const before = looks();
  await until(() => [...looks()].every(([server, count]) => count >= (before.get(server) ?? 0) + 3));
}
function looks(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { part, server, args } of rig.state.calls)
    if (part === 'get' && args[0] === 'automatic') counts.set(server, (counts.get(server) ?? 0) + 1);
  return counts;
}
const past = () => rig.past.map(({ run }) => `${run.outcome} ${run.by}`);
const set = async ({ updates }: Server) => (await updates.status()).automatic;

describe('an available update', () => {
  it('starts once at the beginning of the window, with any number of servers', async () => {
    const [one, other] = [await booted(), await booted({}, 'svc-app-2')];
    await someLooks();
    expect([past(), rig.open]).toEqual([[], null]);
    expect(await set(one)).toMatchObject({ nextAt: '2026-11-25T02:00:00.000Z', blockedBy: null });
    at('2026-11-25T02:00:00Z');
    await until(() => rig.ends.length > 0);
    await someLooks();
    expect([past(), rig.open]).toEqual([['updated automatic'], null]);
    expect(rig.ends).toHaveLength(1);
    expect(await set(other)).toMatchObject({ nextAt: '2026-11-26T02:00:00.000Z' });
  });

  it('is cancelled without a notification if jobs do not finish before the end of the window', async () => {
    const one = await booted();
    const job = rig.state.startJob('deployment');
    at('2026-11-25T02:10:00Z');
    await until(() => rig.open?.run.state === 'waiting');
    at('2026-11-25T04:30:00Z');
    await someLooks();
    expect(rig.open?.run.state).toBe('waiting');
    at('2026-11-25T05:00:00Z');
    await until(() => past().length > 0);
    await until(() => !rig.state.isHeld);
    expect(past()).toEqual(['cancelled automatic']);
    expect(rig.past[0]?.run.message).toBe(
      'running jobs did not finish before the end of the time window; nothing was changed',
    );
    await someLooks();
    expect([rig.ends, one.host.calls('onEnd')]).toEqual([[], []]);
    // In the next night, no job is running.
    if (job) rig.state.endJob(job);
    at('2026-11-26T02:00:00Z');
    await until(() => past().length > 1);
    expect(past()).toEqual(['updated automatic', 'cancelled automatic']);
  });
});

it('automatic update settings are shared by all servers, and default to the option', async () => {
  const [one, other] = [
    await booted({ automatic: {} }),
    await booted({ automatic: { minAgeHours: 24 } }, 'svc-app-2'),
  ];
  expect(await set(one)).toMatchObject({
    enabled: false,
    from: '02:00',
    to: '05:00',
    minAgeHours: 72,
    days: [],
  });
  expect(await set(other)).toMatchObject({ enabled: false, minAgeHours: 24 });
  const said = { enabled: true, days: ['sat', 'sun'], timeZone: 'Europe/Berlin' } as const;
  const { automatic: told } = await one.updates.setAutomatic({ ...said, days: [...said.days] });
  expect(told).toMatchObject({ ...said, nextAt: '2026-11-28T01:00:00.000Z' });
  expect(await set(other)).toEqual(told);
  await other.updates.setAutomatic({ enabled: false });
  expect(await set(one)).toMatchObject({ ...said, enabled: false, nextAt: null });
});
