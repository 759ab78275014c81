import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createInstanceUpdates, type InstanceUpdates, type Status } from '../../src/instance/index.ts';
import { type Api, type Forge, json, startForge } from '../feed/forge.ts';
import { origin, path } from './http/ask.ts';
import { memoryStore, plainOptions } from './place/details.ts';

let forge: Forge;
let updates: InstanceUpdates | undefined;

beforeEach(async () => {
  forge = await startForge();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await updates?.close();
  await forge.close();
});

/** A server without an engine: what is published is told all the same. */
function serverOf(api: Api | null, version = 'v1.4.2') {
  updates = createInstanceUpdates({
    ...plainOptions,
    version,
    engine: 'unix:///nowhere/docker.sock',
    feed: api && { url: forge.address(api) },
    authorize: () => 'admin',
    store: memoryStore(),
  });
  return updates;
}

async function ask(server: InstanceUpdates, query = '', init: RequestInit = {}): Promise<Status> {
  const answer = await server.handle(new Request(`${origin}${path}${query}`, init));
  expect(answer.status).toBe(200);
  return (await answer.json()) as Status;
}
const refreshed = (server: InstanceUpdates) => ask(server, '?refresh=1');

describe('the status', () => {
  it('says what an update goes to now, and why nothing is offered', async () => {
    const releases = [
      { tag: 'v3.0.0', requires: 'v2.8.0' },
      { tag: 'v2.8.0', requires: 'v2.0.0' },
    ];
    forge.publish(...releases, 'v2.0.0');
    expect(await refreshed(serverOf('static'))).toMatchObject({
      latest: { version: 'v3.0.0' },
      next: { version: 'v2.0.0', major: true },
      upToDate: null,
      updateAvailable: true,
      feedError: null,
    });
    forge.publish(...releases);
    const there = await refreshed(serverOf('static'));
    expect(there).toMatchObject({ next: null, upToDate: { code: 'upgrade-step' }, updateAvailable: false });
    expect(there.latest).not.toHaveProperty('requires');
  });

  it('says why the releases cannot be read, and when they are again', async () => {
    const server = serverOf('gitHub');
    forge.next(json(503, {}, { 'retry-after': '3600' }));
    await server.start();
    const told = await refreshed(server);
    expect(told).toMatchObject({ latest: null, checkedAt: null, upToDate: { code: 'unread' } });
    expect(told.feedError?.message).toMatch(
      /^the releases at 127\.0\.0\.1:\d+ cannot be read: it answers 503$/,
    );
    const minutes = (Date.parse(told.feedError?.nextCheckAt ?? '') - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(59);
    expect(minutes).toBeLessThan(62);
  });

  it('says nothing of a release that is skipped, until there is a newer one', async () => {
    forge.publish('v1.5.0');
    const server = serverOf('static');
    const offers: string[] = [];
    server.on('offer', ({ version }) => offers.push(version));
    await refreshed(server);
    const skip = (version: string | null) =>
      server.handle(
        new Request(`${origin}${path}/skip`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ version }),
        }),
      );
    const wrong = await skip('v1.4.9');
    expect([wrong.status, await wrong.json()]).toMatchObject([
      409,
      { detail: 'v1.4.9 is not the newest release of the channel.' },
    ]);
    const quiet = { updateAvailable: false, next: { version: 'v1.5.0' }, skipped: { version: 'v1.5.0' } };
    expect(await (await skip('v1.5.0')).json()).toMatchObject(quiet);
    expect(await ask(server)).toMatchObject(quiet);
    expect(await (await skip(null)).json()).toMatchObject({ updateAvailable: true, skipped: null });
    await skip('v1.5.0');
    forge.publish('v1.6.0', 'v1.5.0');
    await expect
      .poll(async () => (await refreshed(server)).latest?.version, { interval: 500 })
      .toBe('v1.6.0');
    expect(await ask(server)).toMatchObject({ updateAvailable: true, skipped: null });
    expect(offers).toEqual(['v1.5.0', 'v1.6.0']);
  });
});
