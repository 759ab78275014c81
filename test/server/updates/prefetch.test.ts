import { beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineApi } from '../../../src/engine/engine-api.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import { goodRun, type Script } from '../../rig/engine-double/script.ts';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

freshForges();
freshRigs();
beforeEach(() => {
  forge.publish('v1.5.0');
});

const fetching = (...end: Script): Script => [
  { say: { phase: 'pull', message: '42 of 98 MB', percent: 42 } },
  ...end,
];
const fetched = fetching({ say: { phase: 'done', message: 'fetched v1.5.0 in 2 s' } }, { exit: 0 });
const failed = fetching(
  { say: { phase: 'done', message: 'failed (pull-failed): nothing was changed' } },
  { exit: 4 },
);

async function booted(more: Partial<InstanceOptions> = {}): Promise<Server> {
  return rig.booted({}, { prefetch: true, feed: { url: forge.address('static') }, ...more });
}
const all = () => rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater-prefetch-'));
const next = async ({ updates }: Server) => (await updates.status()).next;
const ahead = async ({ updates }: Server) => (await updates.status()).prefetch;
const isReady = async (one: Server) => (await next(one))?.downloaded === true;
/** Waits until each server has inspected the prefetch container three more times. */
async function someLooks(): Promise<void> {
  const looks = () =>
    Map.groupBy(
      rig.engine.requests.filter(({ line }) => line.includes('/containers/svc-updater-prefetch-')),
      ({ door }) => door,
    );
  const before = looks();
  const more = () => [...looks()].map(([door, { length }]) => length - (before.get(door)?.length ?? 0));
  await until(async () => more().length > 0 && more().every((count) => count >= 3));
}

describe('prefetch', () => {
  it('downloads a version once, and all servers report it', async () => {
    rig.engine.updaterDoes(fetched);
    const [one, other] = [await booted(), await booted()];
    await until(() => isReady(one));
    await until(() => isReady(other));
    await someLooks();
    expect(all()).toHaveLength(1);
    const [{ spec }] = all() as [(typeof rig.engine.containers)[number]];
    expect(spec.Cmd?.slice(0, 3)).toEqual(['fetch', '--target', 'v1.5.0']);
    expect(spec.HostConfig).toMatchObject({ RestartPolicy: { Name: 'no' } });
    // No run is reported, and the queue is not held.
    expect([await one.updates.history(), (await one.updates.status()).run]).toEqual([[], null]);
    expect(rig.state.calls.filter(({ part }) => part === 'hold')).toEqual([]);
  });

  it('reports the progress of a download', async () => {
    let end = () => {};
    const told = new Promise<void>((resolve) => {
      end = resolve;
    });
    rig.engine.updaterDoes(fetching({ until: told }, ...fetched.slice(1)));
    const one = await booted();
    await until(async () => (await ahead(one))?.percent === 42);
    expect([await ahead(one), (await next(one))?.downloaded]).toEqual([
      { state: 'downloading', percent: 42 },
      false,
    ]);
    end();
    await until(() => isReady(one));
    expect(await ahead(one)).toEqual({ state: 'downloaded', percent: null });
  });

  it('reads the log of a download again after the first attempt fails', async () => {
    const logs = vi.spyOn(EngineApi.prototype, 'followLog').mockImplementationOnce(() => {
      throw new Error('out of memory');
    });
    rig.engine.updaterDoes(fetching({ until: new Promise(() => {}) }));
    const one = await booted();
    await until(async () => (await ahead(one))?.percent === 42);
    expect(logs).toHaveBeenCalledTimes(2);
    logs.mockRestore();
  });

  it('tries again an hour after a failed download, without a notification', async () => {
    rig.engine.updaterDoes(failed);
    const one = await booted();
    await until(async () => all()[0]?.status === 'exited');
    await someLooks();
    expect([all().length, await ahead(one)]).toEqual([1, { state: 'waiting', percent: null }]);
    expect(one.host.calls('onEnd')).toEqual([]);
    const [first] = all();
    if (first) first.finishedAt = new Date(Date.now() - 3_700_000).toISOString();
    await until(async () => all()[0] !== first && all()[0]?.status === 'exited');
    expect(all()[0]?.spec.Labels?.['svc-updater.tries']).toBe('2');
    // After the second failure, the wait is twice as long.
    const [second] = all();
    if (second) second.finishedAt = new Date(Date.now() - 3_700_000).toISOString();
    await someLooks();
    expect(all()).toEqual([second]);
  });

  it('stops its download when an update starts', async () => {
    rig.engine.updaterDoes(fetching({ until: new Promise(() => {}) }));
    const one = await booted();
    await until(async () => all()[0]?.status === 'running');
    const signals: string[] = [];
    const [fetcher] = all();
    if (fetcher)
      fetcher.onSignal = (container, signal) => {
        signals.push(signal);
        container.exit(143);
      };
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    await one.ask();
    await until(async () => (await one.updates.findRunRecord())?.run.outcome === 'updated');
    expect(signals).toEqual(['SIGTERM']);
  });

  it('downloads the newest release, and removes the download of an older release', async () => {
    rig.engine.updaterDoes(fetched);
    const one = await booted();
    await until(() => isReady(one));
    forge.publish('v1.6.0', 'v1.5.0');
    await one.updates.status({ refresh: true });
    await until(async () => (await next(one))?.version === 'v1.6.0' && (await isReady(one)));
    expect(all().map(({ spec }) => spec.Cmd?.[2])).toEqual(['v1.6.0']);
  });

  it('stops a running download for a newer release', async () => {
    rig.engine.updaterDoes(fetching({ until: new Promise(() => {}) }));
    const one = await booted();
    await until(async () => (await ahead(one))?.percent === 42);
    const [old] = all();
    rig.engine.updaterDoes(fetched);
    forge.publish('v1.6.0', 'v1.5.0');
    await one.updates.status({ refresh: true });
    await until(() => isReady(one));
    expect([old?.isGone, (await next(one))?.version]).toEqual([true, 'v1.6.0']);
    expect(all().map(({ spec }) => spec.Cmd?.[2])).toEqual(['v1.6.0']);
  });

  it.each<[string, Script]>([
    ['running', fetching({ until: new Promise(() => {}) })],
    ['finished', fetched],
    ['failed', failed],
  ])('keeps a %s container if a server restarts, has no feed, or cannot read the feed', async (_, script) => {
    rig.engine.updaterDoes(script);
    const one = await booted();
    await until(() => all().length === 1 && all()[0]?.status !== 'created');
    const [container] = all();
    await one.updates.close();
    const gone = `${forge.address('static')}-gone`;
    const others = [await booted({ feed: null }), await booted({ feed: { url: gone } })];
    const again = await booted();
    await until(async () => (await next(again)) !== null);
    await someLooks();
    await again.updates.skip('v1.5.0');
    await someLooks();
    expect(others).toHaveLength(2);
    expect(all()).toEqual([container]);
    expect(container?.isGone).toBe(false);
  });

  it('keeps the number of failures while the updater image cannot be pulled', async () => {
    rig.engine.updaterDoes(failed);
    const one = await booted();
    await until(() => all()[0]?.status === 'exited');
    rig.engine.images.local.length = 0;
    const pull = rig.engine.fault({
      kind: 'refuse',
      status: 500,
      message: 'no route',
      match: /images\/create/,
    });
    const [first] = all();
    if (first) first.finishedAt = new Date(Date.now() - 3_700_000).toISOString();
    await until(() => pull.hits > 0);
    await someLooks();
    expect([all(), first?.isGone]).toEqual([[first], false]);
    expect(one.host.calls('onEnd')).toEqual([]);
  });

  it('downloads only in its window, and not at all without the option', async () => {
    const hours = (from: number) => `${String((new Date().getHours() + from) % 24).padStart(2, '0')}:00`;
    const one = await booted({ prefetch: { from: hours(2), to: hours(3) } });
    await until(async () => (await next(one))?.version === 'v1.5.0');
    await someLooks();
    expect([all(), (await next(one))?.downloaded]).toEqual([[], false]);
    const other = await booted({ prefetch: false });
    await until(async () => (await next(other)) !== null);
    expect([(await next(other))?.downloaded, await ahead(other)]).toEqual([null, null]);
  });
});

it('a skipped release is not announced until a newer release is available', async () => {
  const offers: string[] = [];
  const look = async (name: string) => {
    const { updates } = await rig.server({ name }, { feed: { url: forge.address('static') } });
    updates.listeners.on('offer', ({ version }) => offers.push(`${name} ${version}`));
    return { updates, status: await updates.status({ refresh: true }) };
  };
  const { updates } = await look('one');
  expect(await updates.skip('v1.4.9')).toBeNull();
  const quiet = { updateAvailable: false, next: { version: 'v1.5.0' }, skipped: { version: 'v1.5.0' } };
  expect(await updates.skip('v1.5.0')).toMatchObject(quiet);
  expect(await updates.skip(null)).toMatchObject({ updateAvailable: true, skipped: null });
  await updates.skip('v1.5.0');
  expect((await look('two')).status).toMatchObject(quiet);
  forge.publish('v1.6.0', 'v1.5.0');
  expect((await look('three')).status).toMatchObject({ updateAvailable: true, skipped: null });
  expect(offers).toEqual(['one v1.5.0', 'three v1.6.0']);
});
