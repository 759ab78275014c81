import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { receiver } from '../../notify/receiver.ts';
import type { Script } from '../../rig/engine-double/script.ts';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

freshForges();
freshRigs();
beforeEach(() => {
  forge.publish({ tag: 'v1.5.0', publishedAt: '2026-11-18T10:00:00Z' });
});
afterEach(() => void vi.useRealTimers());

const json = (phase: string, msg: string, fields: object = {}) => ({
  say: JSON.stringify({ level: 30, time: new Date().toISOString(), phase, msg, ...fields }),
});
const resultOf = (outcome: string, code: string | null, detail: string | null, facts = {}): object => ({
  result: { outcome, code, message: 'nothing was changed', detail, advice: null, facts },
});
const never = new Promise(() => {});
const started = (): Script => [json('save', 'copying the data (1.2 GB)')];
const forever = (): Script => [...started(), { until: never }];
const good = (): Script => [
  ...started(),
  json('done', 'rehearsed', resultOf('rehearsed', null, null, { readySeconds: 43 })),
  { exit: 0 },
];
const bad = (): Script => [
  ...started(),
  json('done', 'failed', resultOf('failed', 'rehearsal-failed', 'v1.5.0 did not become ready')),
  { exit: 4 },
];
const unclear = (): Script => [
  ...started(),
  json('done', 'refused', resultOf('refused', 'rehearsal-inconclusive', 'v1.4.2 did not become ready')),
  { exit: 3 },
];

const automatic = { enabled: true, timeZone: 'UTC', rehearse: true };
async function booted(more: Parameters<typeof rig.booted>[1] = {}, name = 'svc-app-1'): Promise<Server> {
  const one = await rig.booted({ name }, { feed: { url: forge.address('static') }, ...more });
  await until(async () => (await one.updates.status()).next !== null || more.version === 'v1.5.0');
  return one;
}
const all = () => rig.engine.containers.filter(({ name }) => name === 'svc-updater-rehearsal-svc');
const order = { target: null, by: 'anna' };
const last = async ({ updates }: Server) => (await updates.status()).rehearsal;
const stateOf = async (one: Server) => (await last(one))?.state;
const blockedBy = async ({ updates }: Server) => (await updates.status()).automatic?.blockedBy?.code;
/** Waits until each server has inspected the container of the rehearsal three more times. */
async function someLooks(): Promise<void> {
  const count = () =>
    rig.engine.requests.filter(({ line }) => line.includes('/containers/svc-updater-rehearsal-')).length;
  const before = count();
  await until(() => count() >= before + 6);
}

describe('a rehearsal', () => {
  it('runs in its own container, which all servers follow, without a run and with the queue running', async () => {
    rig.engine.updaterDoes(good());
    const [one, other] = [await booted(), await booted({}, 'svc-app-2')];
    const begun = await one.updates.rehearse(order);
    expect(begun).toMatchObject({ rehearsal: { version: 'v1.5.0', state: 'running', by: 'anna' } });
    for (const server of [one, other]) {
      await until(async () => (await stateOf(server)) === 'succeeded');
      expect(await last(server)).toMatchObject({
        ...{ version: 'v1.5.0', by: 'anna', readySeconds: 43, advice: null },
        ...{ message: 'nothing was changed', log: 'docker logs svc-updater-rehearsal-svc' },
      });
    }
    const [container] = all();
    expect(all()).toHaveLength(1);
    expect(container?.spec.Cmd?.slice(0, 3)).toEqual(['rehearse', '--target', 'v1.5.0']);
    expect(container?.spec.HostConfig).toMatchObject({ RestartPolicy: { Name: 'no' } });
    expect([await one.updates.history(), (await one.updates.status()).run]).toEqual([[], null]);
    expect(rig.state.calls.filter(({ part }) => part === 'hold')).toEqual([]);
  });

  it.each<[string, () => Script, object]>([
    ['failed', bad, { state: 'failed', message: 'v1.5.0 did not become ready', readySeconds: null }],
    ['inconclusive', unclear, { state: 'inconclusive', message: 'v1.4.2 did not become ready' }],
    ['killed', () => [...started(), { exit: 137 }], { state: 'inconclusive' }],
    [
      'finished without anything to rehearse',
      () => [json('done', 'unchanged', resultOf('unchanged', null, null)), { exit: 0 }],
      { state: 'inconclusive', message: 'nothing was changed' },
    ],
  ])('that is %s has a result, and can be repeated', async (_, script, result) => {
    rig.engine.updaterDoes(script());
    const one = await booted();
    await one.updates.rehearse(order);
    await until(async () => (await last(one))?.endedAt);
    expect(await last(one)).toMatchObject(result);
    const [first] = all();
    rig.engine.updaterDoes(good());
    expect(await one.updates.rehearse(order)).toMatchObject({ rehearsal: { state: 'running' } });
    await until(async () => (await stateOf(one)) === 'succeeded');
    expect([first?.isGone, all().length]).toEqual([true, 1]);
  });

  it('waits until the updater of the last one has exited', async () => {
    // The clock is stopped, because the server follows an updater again that runs for too long after its result.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const exited = Promise.withResolvers<void>();
    const [last, ...rest] = good().toReversed();
    rig.engine.updaterDoes([...rest.toReversed(), { until: exited.promise }, ...(last ? [last] : [])]);
    const one = await booted();
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'succeeded');
    const [first] = all();
    rig.engine.updaterDoes(good());
    vi.setSystemTime(Date.now() + 1);
    expect(await one.updates.rehearse(order)).toMatchObject({ rehearsal: { state: 'running' } });
    await someLooks();
    expect([await stateOf(one), first?.status, all()]).toEqual(['running', 'running', [first]]);
    exited.resolve();
    await until(async () => (await stateOf(one)) === 'succeeded');
    expect([first?.isGone, all().length]).toEqual([true, 1]);
  });

  it('is refused while another one is running, also on another server', async () => {
    rig.engine.updaterDoes(forever());
    const [one, other] = [await booted(), await booted({}, 'svc-app-2')];
    await one.updates.rehearse(order);
    await until(() => all()[0]?.status === 'running');
    for (const server of [one, other])
      expect(await server.updates.rehearse(order)).toMatchObject({ reason: { code: 'rehearsal-running' } });
    expect(all()).toHaveLength(1);
  });

  it('runs once if two servers start it at the same time', async () => {
    rig.engine.updaterDoes(forever());
    const servers = [await booted(), await booted({}, 'svc-app-2')];
    await Promise.all(servers.map(({ updates }) => updates.rehearse(order)));
    for (const one of servers) await until(async () => (await stateOf(one)) === 'running');
    await until(() => all().length === 1);
    await someLooks();
    const states = await Promise.all(servers.map(stateOf));
    expect([states, all().length, all()[0]?.status]).toEqual([['running', 'running'], 1, 'running']);
  });

  it('is refused during an update', async () => {
    rig.engine.updaterDoes([...started(), { until: never }]);
    const one = await booted();
    await one.ask();
    expect(await one.updates.rehearse(order)).toMatchObject({ reason: { code: 'update-running' } });
  });

  it('is cancelled with SIGTERM, and then has no result', async () => {
    rig.engine.updaterDoes(forever());
    const one = await booted();
    expect(await one.updates.cancelRehearsal()).toEqual({
      reason: { code: 'not-running', message: 'no rehearsal is running' },
    });
    await one.updates.rehearse(order);
    await until(() => all()[0]?.status === 'running');
    const signals: string[] = [];
    const [container] = all();
    if (container)
      container.onSignal = (it, signal) => {
        signals.push(signal);
        it.say(json('done', 'cancelled', resultOf('cancelled', null, null)).say);
        it.exit(143);
      };
    expect(await one.updates.cancelRehearsal()).toMatchObject({ rehearsal: { version: 'v1.5.0' } });
    await until(async () => (await stateOf(one)) === 'cancelled');
    expect(signals).toEqual(['SIGTERM']);
    expect((await one.updates.cancelRehearsal()) as object).toHaveProperty('reason');
  });

  it('is followed to its end if the response to its start is lost', async () => {
    rig.engine.updaterDoes(bad());
    const one = await booted();
    const lost = rig.engine.fault({ kind: 'hang', match: /rehearsal.*\/start|containers\/[0-9a-f]+\/start/ });
    await one.updates.rehearse(order);
    await until(() => lost.hits > 0);
    rig.engine.clearFaults();
    all()[0]?.start();
    await until(async () => (await stateOf(one)) === 'failed');
    expect(all()).toHaveLength(1);
  });

  it('is cancelled while the updater image is pulled', async () => {
    const one = await booted();
    rig.engine.images.local.length = 0;
    rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    await one.updates.rehearse(order);
    await until(async () => (await last(one))?.message.startsWith('pulling'));
    expect(await one.updates.cancelRehearsal()).toHaveProperty('rehearsal');
    await until(async () => (await stateOf(one)) === 'cancelled');
    await someLooks();
    expect([await last(one), all()]).toMatchObject([{ advice: null }, []]);
  });

  it('is followed by the next server, whose version ends it', async () => {
    rig.engine.updaterDoes(bad());
    const one = await booted();
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'failed');
    await one.updates.close();
    const next = await booted();
    await until(async () => (await stateOf(next)) === 'failed');
    await next.updates.close();
    await booted({ version: 'v1.5.0' });
    await until(() => all().length === 0);
  });

  it('is outdated after seven days, unless it failed', async () => {
    rig.engine.updaterDoes(good());
    const one = await booted();
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'succeeded');
    vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
    const week = 8 * 24 * 3_600_000;
    vi.setSystemTime(Date.now() + week);
    expect(await last(one)).toBeNull();
    rig.engine.updaterDoes(bad());
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'failed');
    vi.setSystemTime(Date.now() + week);
    expect(await stateOf(one)).toBe('failed');
  });

  it('is remembered if its container is removed, also by the next server', async () => {
    rig.engine.updaterDoes(bad());
    const one = await booted();
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'failed');
    await until(() => rig.state.store.has('rehearsals'));
    all()[0]?.vanish();
    await someLooks();
    expect(await stateOf(one)).toBe('failed');
    await one.updates.close();
    expect(await stateOf(await booted())).toBe('failed');
  });

  it('replaces the container of another instance with the same name', async () => {
    rig.engine.updaterDoes(good());
    const Labels = { 'svc-updater.project': 'svc', 'svc-updater.directory': '/srv/old' };
    const other = rig.engine.create({
      name: 'svc-updater-rehearsal-svc',
      Image: 'acme/svc-updater:1',
      Cmd: ['rehearse'],
      Labels,
    });
    other.start();
    await until(() => other.status === 'exited');
    const one = await booted();
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'succeeded');
    expect([other.isGone, other.name]).toEqual([false, `svc-updater-rehearsal-svc-${other.id.slice(0, 12)}`]);
  });

  it('that cannot be started says why, and can be repeated', async () => {
    rig.engine.updaterDoes(good());
    const one = await booted();
    rig.engine.images.local.length = 0;
    const pull = rig.engine.fault({
      ...{ kind: 'refuse', status: 500, message: 'no route', match: /images\/create/ },
    });
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'inconclusive');
    await someLooks();
    expect(await last(one)).toMatchObject({ state: 'inconclusive', message: expect.stringMatching(/./) });
    expect([pull.hits > 0, all()]).toEqual([true, []]);
    rig.engine.clearFaults();
    rig.engine.images.add('acme/svc-updater:1');
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'succeeded');
  });
});

describe('an automatic update with rehearsals', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
    vi.setSystemTime(new Date('2026-11-25T02:30:00Z'));
  });

  it('starts after one successful rehearsal, with any number of servers', async () => {
    rig.engine.updaterDoes(good());
    const one = await booted({ automatic });
    await booted({ automatic }, 'svc-app-2');
    await until(() => rig.past.length > 0 || rig.open !== null);
    expect(all()).toHaveLength(1);
    expect((await last(one))?.by).toBe('automatic');
  });

  it.each<[string, () => Script, string]>([
    ['failed', bad, 'rehearsal-failed'],
    ['inconclusive', unclear, 'rehearsal-inconclusive'],
  ])('waits after a rehearsal that is %s, and notifies users once', async (state, script, code) => {
    using hooks = await receiver();
    rig.engine.updaterDoes(script());
    const notify = [`http://${hooks.host}/hook`];
    const servers = [await booted({ automatic, notify }), await booted({ automatic, notify }, 'svc-app-2')];
    for (const one of servers) await until(async () => (await blockedBy(one)) === code);
    await until(() => hooks.received.some(({ body }) => body.event === 'rehearsed'));
    await someLooks();
    const told = hooks.received.filter(({ body }) => body.event === 'rehearsed');
    expect(told.map(({ body: { version, outcome } }) => [version, outcome])).toEqual([['v1.5.0', state]]);
    expect([rig.past, rig.open, all().length]).toEqual([[], null, 1]);
  });

  it.each<[string, () => Script]>([
    ['without a result', unclear],
    [
      'that is cancelled',
      () => [...started(), json('done', 'cancelled', resultOf('cancelled', null, null)), { exit: 143 }],
    ],
  ])('never starts after a failure and a second rehearsal %s', async (_, script) => {
    rig.engine.updaterDoes(bad());
    const one = await booted({
      automatic: { ...automatic, rehearse: false, from: '04:00' },
      restorePoint: true,
    });
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'failed');
    rig.engine.updaterDoes(script());
    await one.updates.rehearse(order);
    await until(async () => !['failed', 'running'].includes((await stateOf(one)) ?? ''));
    vi.setSystemTime(new Date('2026-11-25T04:10:00Z'));
    await until(async () => (await blockedBy(one)) === 'rehearsal-failed');
    await someLooks();
    expect([rig.past, rig.open]).toEqual([[], null]);
    rig.engine.updaterDoes(good());
    await one.updates.rehearse(order);
    await until(() => rig.past.length > 0 || rig.open !== null);
  });

  it('never starts after a failure while another rehearsal is running', async () => {
    rig.engine.updaterDoes(bad());
    const settings = { ...automatic, rehearse: false };
    const one = await booted({ automatic: { ...settings, from: '04:00' } });
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'failed');
    rig.engine.updaterDoes(forever());
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'running');
    await one.updates.setAutomatic({ from: '02:00' });
    await someLooks();
    expect([await blockedBy(one), rig.past, rig.open]).toEqual(['rehearsal-failed', [], null]);
  });

  it('never starts after a failure that is stored while it waits for jobs', async () => {
    const one = await booted({ automatic: { ...automatic, rehearse: false } });
    const job = rig.state.startJob('deployment');
    await until(() => rig.open?.run.state === 'waiting');
    const at = new Date().toISOString();
    const failed = { version: 'v1.5.0', state: 'failed', startedAt: at, endedAt: at, message: 'app exited' };
    rig.state.store.set('rehearsals', JSON.stringify([failed]));
    if (job) rig.state.endJob(job);
    await until(() => rig.past.length > 0);
    expect(rig.past[0]?.run).toMatchObject({
      ...{ outcome: 'refused', by: 'automatic' },
      message: 'the rehearsal of v1.5.0 failed; nothing was changed',
    });
    expect(await blockedBy(one)).toBe('rehearsal-failed');
  });

  it('waits for a rehearsal that an admin has started, even if rehearsals are off', async () => {
    rig.engine.updaterDoes(forever());
    const one = await booted({ automatic: { ...automatic, rehearse: false, from: '04:00' } });
    await one.updates.rehearse(order);
    await until(async () => (await stateOf(one)) === 'running');
    await one.updates.setAutomatic({ from: '02:00' });
    await someLooks();
    expect([await stateOf(one), rig.past, rig.open]).toEqual(['running', [], null]);
  });

  it('is rehearsed again by the next server if the server stops before the rehearsal has started', async () => {
    rig.engine.updaterDoes(good());
    rig.engine.images.local.length = 0;
    rig.engine.fault({ kind: 'hang', match: /images\/create/ });
    const one = await booted({ automatic, restorePoint: true });
    await until(async () => (await last(one))?.message.startsWith('pulling'));
    await one.updates.close();
    rig.engine.clearFaults();
    rig.engine.images.add('acme/svc-updater:1');
    const feed = { url: forge.address('static') };
    await rig.booted(one.place, { automatic, restorePoint: true, feed });
    await until(() => rig.past.length > 0 || rig.open !== null);
    expect(JSON.parse(rig.state.store.get('rehearsals') ?? '[]')).toMatchObject([{ state: 'succeeded' }]);
  });

  it('waits if its rehearsal was refused because another one is running', async () => {
    const refusal = resultOf('refused', 'rehearsal-running', 'another rehearsal is running');
    rig.engine.updaterDoes([json('done', 'refused', refusal), { exit: 3 }]);
    const one = await booted({ automatic, restorePoint: true });
    await until(async () => (await stateOf(one)) === 'inconclusive');
    await someLooks();
    expect([rig.past, rig.open, all().length, rig.state.store.has('rehearsals')]).toEqual([
      [],
      null,
      1,
      false,
    ]);
  });

  it('starts without a result if it saves a restore point', async () => {
    rig.engine.updaterDoes(unclear());
    await booted({ automatic, restorePoint: true });
    await until(() => rig.past.length > 0 || rig.open !== null);
    expect(all()).toHaveLength(1);
  });
});
