import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChannelFile } from '../../../src/provenance/channel-file.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import { channelFile, hostChannel, recallsOf } from '../../feed/channel-copies.ts';
import { attach, releaseFile } from '../../feed/proofs.ts';
import { publisher } from '../../provenance/sign.ts';
import { goodRun, type Script } from '../../rig/engine-double/script.ts';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

const anna = publisher();
/** The publication date of all releases. */
const publishedAt = '2026-11-20T08:00:00Z';
const automatic = { enabled: true, timeZone: 'UTC', minAgeHours: 0 };
/** This instance gets v1.5.0 when its rollout reaches 29.38 %. */
const instance = 'instance-4';

/** Sets the clock. */
const at = (moment: string) => void vi.setSystemTime(new Date(moment));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
  at('2026-11-21T01:00:00Z');
});
afterEach(() => void vi.useRealTimers());
freshForges();
freshRigs();
beforeEach(() => {
  rig.state.store.set('rollout', JSON.stringify({ instance, asked: null }));
  publish('v1.5.0');
});

const publish = (...versions: string[]) =>
  forge.publish(...versions.map((version) => attach(forge, anna, releaseFile(version, { publishedAt }))));
let minutes = 0;
/** Publishes a channel file that is newer than the previous file. */
const say = (told: Partial<ChannelFile>) => {
  const issuedAt = new Date(Date.parse('2026-11-20T08:00:00Z') + 60_000 * minutes++).toISOString();
  hostChannel(forge, channelFile({ issuedAt, ...told }), anna);
};
const recalled = (...versions: string[]) => ({ recalled: recallsOf(...versions) });

async function booted(more: Partial<InstanceOptions> = {}, name = 'svc-app-1'): Promise<Server> {
  const feed = { url: forge.address('static'), trust: { keys: [anna.key] } };
  const one = await rig.booted({ name }, { feed, ...more });
  await until(async () => (await one.updates.status()).checkedAt !== null);
  return one;
}
const status = ({ updates }: Server) => updates.status();
const check = ({ updates }: Server) => updates.status({ refresh: true });
/** Waits until the server has read its automatic settings three more times. */
async function someLooks({ host }: Server): Promise<void> {
  const looks = () => host.calls('get').filter(({ args }) => args[0] === 'automatic').length;
  const before = looks();
  await until(() => looks() >= before + 3);
}
const started = () => rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater'));
const past = () => rig.past.map(({ run: { to, outcome, by, code } }) => [to, outcome, by, code].join(' '));
const recall = {
  code: 'recalled',
  message: 'v1.5.0 has been recalled by its publisher: It loses data',
  advice: 'Wait until a newer release is available.',
};

describe('a recalled release', () => {
  it('is not offered, not prefetched, and does not start automatically', async () => {
    say(recalled('v1.5.0'));
    const one = await booted({ prefetch: true, automatic });
    at('2026-11-21T02:00:00Z');
    await someLooks(one);
    expect(await status(one)).toMatchObject({
      latest: null,
      next: null,
      upToDate: { code: 'none' },
      recalled: null,
      feedError: null,
    });
    expect(started()).toEqual([]);
  });

  const fetching: Script = [{ say: { phase: 'pull', message: '42 of 98 MB', percent: 42 } }];
  it.each<[string, Script, () => void]>([
    [
      'recalled during the download',
      [...fetching, { until: new Promise(() => {}) }],
      () => say(recalled('v1.5.0')),
    ],
    ['recalled after the download', [...fetching, { exit: 0 }], () => say(recalled('v1.5.0'))],
    [
      'withdrawn during the download',
      [...fetching, { until: new Promise(() => {}) }],
      () => publish('v1.4.2'),
    ],
    ['withdrawn after a failed download', [...fetching, { exit: 4 }], () => publish()],
  ])('has its prefetch removed if it is %s', async (_, script, withdraw) => {
    rig.engine.updaterDoes(script);
    const one = await booted({ prefetch: true });
    await until(
      () => started()[0]?.status === (script.some((step) => 'exit' in step) ? 'exited' : 'running'),
    );
    at('2026-11-21T01:10:00Z');
    withdraw();
    await check(one);
    await until(() => started().length === 0);
    expect((await status(one)).prefetch).toBeNull();
  });

  it('does not block the newest release that is not recalled', async () => {
    publish('v1.6.0', 'v1.5.1', 'v1.5.0');
    say(recalled('v1.6.0', 'v1.5.0'));
    const one = await booted();
    expect(await status(one)).toMatchObject({
      latest: { version: 'v1.5.1' },
      next: { version: 'v1.5.1', upgradePath: ['v1.5.1'] },
    });
  });

  it('is rejected as a target and on an upgrade path, even with force', async () => {
    say(recalled('v1.5.0'));
    const one = await booted();
    for (const allSteps of [false, true])
      for (const force of [false, true]) {
        expect(await one.ask({ allSteps, force })).toEqual({ reason: recall });
        expect(await one.ask({ target: null, allSteps, force })).toMatchObject({
          reason: { code: 'up-to-date' },
        });
      }
    expect(started()).toEqual([]);
  });

  it('is rejected by every server after one server has read the recall', async () => {
    say({});
    const [one, two] = [await booted(), await booted({}, 'svc-app-2')];
    say(recalled('v1.5.0'));
    await check(one);
    expect(await two.ask()).toEqual({ reason: recall });
    expect((await status(two)).next).toBeNull();
    // Also after a restart, if the file is withheld.
    hostChannel(forge, channelFile({ product: 'acme' }), anna);
    expect(await (await booted({}, 'svc-app-3')).ask()).toEqual({ reason: recall });
  });

  it('is reported if it is running, with the newer release', async () => {
    publish('v1.5.0', 'v1.4.2');
    say({ recalled: [{ version: 'v1.4.2', why: 'It loses data.', url: 'https://svc.test/recall' }] });
    const one = await booted();
    expect(await status(one)).toMatchObject({
      recalled: { version: 'v1.4.2', why: 'It loses data.', url: 'https://svc.test/recall' },
      next: { version: 'v1.5.0' },
    });
  });

  it('does not stop the server, even if every release is recalled', async () => {
    publish('v1.5.0', 'v1.4.2', 'v1.4.1');
    say(recalled('v1.5.0', 'v1.4.2', 'v1.4.1', 'v9.9.9'));
    const one = await booted({ automatic });
    at('2026-11-21T02:00:00Z');
    await someLooks(one);
    expect(await status(one)).toMatchObject({
      latest: null,
      upToDate: { code: 'none', message: 'no release is available on the stable channel' },
      recalled: { version: 'v1.4.2', url: null },
      canUpdate: false,
    });
    expect(await one.ask()).toMatchObject({ reason: { code: 'recalled' } });
    // A fixed release is installed automatically.
    publish('v1.5.1', 'v1.5.0', 'v1.4.2', 'v1.4.1');
    at('2026-11-21T02:10:00Z');
    const two = await booted({ automatic }, 'svc-app-2');
    await until(() => past().length > 0);
    expect(past()).toEqual(['v1.5.1 updated automatic ']);
    expect((await status(two)).recalled).not.toBeNull();
  });

  it('can be restored by a rollback, because no other release may be left', async () => {
    const point = { at: publishedAt, version: 'v1.4.1', bytes: 1, downtimeSeconds: 1 };
    const run = createRunWithDefaults({
      id: 'past',
      state: 'updated',
      outcome: 'updated',
      to: 'v1.4.2',
      restorePoint: point,
    });
    const told = { updaterStartedAt: null, told: true, attempts: 1, teller: null };
    rig.state.store.set('history', JSON.stringify([{ run, ...told }]));
    say(recalled('v1.4.1', 'v1.4.2'));
    const one = await booted({ restorePoint: true });
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.4.1'));
    await one.updates.rollback({ confirm: 'v1.4.1', when: 'now', force: false, by: 'anna' });
    await until(() => past().length > 1);
    expect(past()[0]).toBe('v1.4.1 updated anna ');
  });

  it('is rejected even without configured trust', async () => {
    hostChannel(forge, channelFile({ ...recalled('v1.5.0'), expires: '2026-11-20T09:00:00Z' }), null);
    const one = await booted({ feed: { url: forge.address('static') } });
    expect(await status(one)).toMatchObject({ next: null, feedError: null });
    expect(await one.ask()).toEqual({ reason: recall });
  });
});

describe('a recall is read', () => {
  it('right before an automatic update starts', async () => {
    say({});
    const one = await booted({ automatic });
    expect((await status(one)).next?.version).toBe('v1.5.0');
    say(recalled('v1.5.0'));
    await someLooks(one);
    // The feed has not been read again.
    expect((await status(one)).next?.version).toBe('v1.5.0');
    at('2026-11-21T02:00:00Z');
    await until(async () => (await status(one)).next === null);
    await someLooks(one);
    expect([past(), started()]).toEqual([[], []]);
  });

  it('right before the updater is launched, after the wait for jobs', async () => {
    say({});
    await booted({ automatic });
    const job = rig.state.startJob('deployment');
    at('2026-11-21T02:00:00Z');
    await until(() => rig.open?.run.state === 'waiting');
    say(recalled('v1.5.0'));
    if (job) rig.state.endJob(job);
    await until(() => past().length > 0);
    expect([past(), started()]).toEqual([['v1.5.0 refused automatic recalled'], []]);
    expect(rig.past[0]?.run).toMatchObject({
      message: `${recall.message}; nothing was changed`,
      advice: recall.advice,
    });
    await until(() => !rig.state.isHeld);
  });

  it('by another server while the update of an admin waits for jobs', async () => {
    say({});
    const [one, two] = [await booted(), await booted({}, 'svc-app-2')];
    const job = rig.state.startJob('deployment');
    await one.ask({ when: 'idle' });
    say(recalled('v1.5.0'));
    await check(two);
    if (job) rig.state.endJob(job);
    await until(() => past().length > 0);
    expect([past(), started()]).toEqual([['v1.5.0 refused anna recalled'], []]);
  });

  it('between two steps of an upgrade path', async () => {
    const { requires: _, ...plain } = releaseFile('v1.5.0', { publishedAt });
    forge.publish(
      attach(forge, anna, releaseFile('v2.0.0', { publishedAt, requires: 'v1.5.0' })),
      attach(forge, anna, plain as ReturnType<typeof releaseFile>),
    );
    say({});
    const one = await booted();
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    say(recalled('v2.0.0'));
    await one.ask({ target: null, allSteps: true });
    await until(() => rig.past.length === 1 && rig.open === null && !rig.state.isHeld);
    await one.updates.close();
    say({ ...recalled('v2.0.0') });
    const feed = { url: forge.address('static'), trust: { keys: [anna.key] } };
    const two = await rig.booted(one.place, { version: 'v1.5.0', feed });
    await until(async () => (await status(two)).pendingStep?.reason);
    expect((await status(two)).pendingStep).toMatchObject({
      to: 'v2.0.0',
      reason: 'v2.0.0 has been recalled by its publisher: It loses data',
    });
    expect(past()).toEqual(['v1.5.0 updated anna ']);
  });
});

describe('a release that is rolled out step by step', () => {
  const rollout = { version: 'v1.5.0', percent: 10 };

  it('is not offered outside its share until an admin checks again, and never starts automatically', async () => {
    say({ rollout });
    const [one, two] = [
      await booted({ automatic }),
      await booted({ automatic, prefetch: true }, 'svc-app-2'),
    ];
    expect(await status(one)).toMatchObject({
      next: null,
      upToDate: { code: 'rolling-out', message: expect.stringContaining('rolled out to 10% of') },
      canUpdate: false,
      automatic: { blockedBy: null },
    });
    at('2026-11-21T02:00:00Z');
    await someLooks(two);
    expect(started()).toEqual([]);
    await check(one);
    for (const server of [one, two])
      expect(await status(server)).toMatchObject({
        next: { version: 'v1.5.0' },
        updateAvailable: true,
        canUpdate: true,
        automatic: { blockedBy: { code: 'rolling-out' } },
      });
    await someLooks(one);
    await someLooks(two);
    expect([past(), rig.open]).toEqual([[], null]);
    expect(await one.ask({ target: null })).toMatchObject({ run: { to: 'v1.5.0' } });
  });

  it('is not offered if an admin checked again only before it was published', async () => {
    say({ rollout: { version: 'v1.4.9', percent: 10 } });
    const one = await booted();
    await check(one);
    say({ rollout });
    const two = await booted({}, 'svc-app-2');
    expect((await status(two)).upToDate?.code).toBe('rolling-out');
  });

  it('starts automatically on an instance in its share', async () => {
    say({ rollout: { ...rollout, percent: 30 } });
    await booted({ automatic });
    at('2026-11-21T02:00:00Z');
    await until(() => past().length > 0);
    expect(past()).toEqual(['v1.5.0 updated automatic ']);
  });

  it('starts if an admin requests it as the target', async () => {
    say({ rollout });
    expect(await (await booted()).ask()).toMatchObject({ run: { to: 'v1.5.0' } });
  });

  it('starts automatically if it is urgent, whatever its age', async () => {
    const urgent = { below: 'v1.5.0', why: 'Passwords can be read.' };
    say({ rollout, urgent });
    const one = await booted({ automatic: { ...automatic, minAgeHours: 72 } });
    expect(await status(one)).toMatchObject({ urgent, next: { version: 'v1.5.0' } });
    await someLooks(one);
    expect(past()).toEqual([]);
    at('2026-11-21T02:00:00Z');
    await until(() => past().length > 0);
    expect(past()).toEqual(['v1.5.0 updated automatic ']);
  });

  it('is offered to all instances without configured trust', async () => {
    hostChannel(forge, channelFile({ rollout }), null);
    const one = await booted({ feed: { url: forge.address('static') } });
    expect((await status(one)).next?.version).toBe('v1.5.0');
  });
});

describe('outdated information', () => {
  const expires = '2026-11-21T01:30:00.000Z';
  const stale = { code: 'stale', message: 'the information about releases is out of date', since: expires };

  it('pauses automatic updates, and releases are still offered', async () => {
    say({ expires });
    const one = await booted({ automatic });
    expect(await status(one)).toMatchObject({ feedError: null, automatic: { blockedBy: null } });
    at('2026-11-21T02:00:00Z');
    await someLooks(one);
    expect(await status(one)).toMatchObject({
      next: { version: 'v1.5.0' },
      canUpdate: true,
      automatic: { nextAt: null, blockedBy: stale },
      feedError: {
        message: `channel.json expired at ${expires}`,
        staleSince: expires,
      },
    });
    expect(past()).toEqual([]);
    expect(await one.ask()).toMatchObject({ run: { to: 'v1.5.0' } });
  });

  it('no longer pauses automatic updates after a new file is read', async () => {
    say({ expires });
    const one = await booted({ automatic });
    at('2026-11-21T02:00:00Z');
    await someLooks(one);
    say({});
    await check(one);
    await until(() => past().length > 0);
    expect(past()).toEqual(['v1.5.0 updated automatic ']);
  });

  it('is reported together with the rejection of a new file', async () => {
    say({ expires });
    const one = await booted();
    at('2026-11-21T02:00:00Z');
    hostChannel(forge, channelFile(), publisher());
    await check(one);
    expect((await status(one)).feedError?.message).toBe(
      `channel.json was rejected: it is not signed with a trusted key; channel.json expired at ${expires}`,
    );
    expect(one.host.logged.map(({ message }) => message)).toEqual([
      'channel.json was rejected: it is not signed with a trusted key',
    ]);
  });
});
