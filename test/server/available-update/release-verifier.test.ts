import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Channel } from '../../../src/core/release/channel.ts';
import { createFeed, type Feed } from '../../../src/feed/create-feed.ts';
import type { Trust } from '../../../src/provenance/trust.ts';
import { ReleaseVerifier } from '../../../src/server/available-update/release-verifier.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import { validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import { StateStore } from '../../../src/server/store/state-store.ts';
import { type Api, endless, type Forge, json, startForge, text } from '../../feed/forge.ts';
import { attach, releaseFile, type Tampering } from '../../feed/proofs.ts';
import { publisher } from '../../provenance/sign.ts';
import { HostDouble } from '../../rig/host-double/host-double.ts';
import { quick } from '../updates/rig.ts';

const anna = publisher();
const bert = publisher();
const mallory = publisher();

let forge: Forge;
let elsewhere: Forge;
let host: HostDouble;
const feeds: Feed[] = [];
const logged: string[] = [];
beforeEach(async () => {
  logged.length = 0;
  [forge, elsewhere] = [await startForge(), await startForge()];
  host = new HostDouble();
});
afterEach(async () => {
  for (const feed of feeds.splice(0)) feed.close();
  await Promise.all([forge.close(), elsewhere.close()]);
});

/** The feed of a server. All servers share the store. */
function feedOf(
  more: Partial<InstanceOptions> = {},
  {
    channel = 'stable',
    api = 'gitHub',
    trust = { keys: [bert.key, anna.key] },
  }: { channel?: Channel; api?: Api; trust?: Trust } = {},
) {
  const settings = validateInstanceOptions({
    version: 'v1.4.2',
    updaterImage: 'acme/svc-updater:1',
    feed: { url: forge.address(api), headers: { 'private-token': 'abc' }, trust },
    authorize: host.authorize,
    queue: host.queue,
    store: host.store,
    log: host.log,
    ...more,
  });
  const ledger = new StateStore(settings, quick);
  const proven = new ReleaseVerifier({ settings, ledger, timing: quick }, trust);
  const feed = createFeed(settings.feed ?? { url: '' }, ({ message }) => logged.push(message), {
    channel: () => channel,
    judge: (releases, signal) => proven.judge(releases, channel, signal),
  });
  feeds.push(feed);
  return feed;
}
const versions = ({ releases }: Feed) => releases.map(({ version }) => version);
/** The available versions, and why others are not available. */
const resultOf = (feed: Feed) => [versions(feed), feed.failure?.message ?? null];
async function checked(...given: Parameters<typeof feedOf>): Promise<Feed> {
  const feed = feedOf(...given);
  await feed.check();
  return feed;
}
const asked = (of = forge) => of.seen.filter(({ path }) => path.includes('/download/'));

describe('a signed release', () => {
  it('is offered with the signed values', async () => {
    forge.publish(attach(forge, anna, releaseFile('v1.5.0', { requires: 'v1.4.0' })), 'v1.4.2', 'v1.4.1');
    const feed = await checked();
    await feed.check();
    expect(resultOf(feed)).toEqual([['v1.5.0', 'v1.4.2', 'v1.4.1'], null]);
    // Only the first check downloads the two files.
    expect(asked()).toHaveLength(2);
    // The signed values, not those of the feed.
    expect(feed.releases[0]).toMatchObject({ requires: 'v1.4.0', publishedAt: '2026-11-20T08:00:00Z' });
  });

  it('is verified if it is one of the twenty newest releases, starting with the newest', async () => {
    const all = Array.from({ length: 25 }, (_, at) => `v1.5.${24 - at}`);
    forge.publish(...all.map((tag) => attach(forge, anna, releaseFile(tag))), 'v1.4.1');
    const feed = await checked();
    expect(versions(feed)).toEqual([...all.slice(0, 20), 'v1.4.1']);
    expect(asked().map(({ path }) => path.split('/').at(-2))).toEqual(
      all.slice(0, 20).flatMap((tag) => [tag, tag]),
    );
  });

  it("is downloaded with the feed's headers only from the feed's own origin", async () => {
    elsewhere.host('/file', text(200, JSON.stringify(releaseFile('v1.5.0'))));
    const redirect = text(302, '', { location: `${elsewhere.origin}/file` });
    forge.publish(attach(forge, anna, releaseFile('v1.5.0'), { replies: { 'release.json': redirect } }));
    const feed = await checked();
    expect(versions(feed)).toEqual(['v1.5.0']);
    expect(forge.seen.map(({ headers }) => headers['private-token'])).toEqual(['abc', 'abc', 'abc', 'abc']);
    expect(elsewhere.seen.map(({ headers }) => headers['private-token'])).toEqual([undefined]);
  });
});

const told = releaseFile('v1.5.0');
const one = (what: string) => `v1.5.0 is not verified: ${what}`;
/** A response that continues slowly until the client disconnects. */
const trickle: Tampering['replies'] = {
  'release.json': (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  },
};

describe('an attack', () => {
  it.each<[name: string, publish: () => ReturnType<typeof attach>, message: string]>([
    ['unsigned', () => ({ tag: 'v1.5.0' }), 'release.json is missing'],
    ['by another key', () => attach(forge, mallory, told), 'it is not signed with a trusted key'],
    [
      'an old release as a new tag',
      () => attach(forge, anna, releaseFile('v1.4.0'), {}, 'v1.5.0'),
      'the signed version is v1.4.0, not v1.5.0',
    ],
    [
      'a canary build as a stable release',
      () => attach(forge, anna, releaseFile('v1.5.0', { channel: 'canary' })),
      'the signed channel is canary, but v1.5.0 is a stable release',
    ],
    [
      'with a time in the future',
      () => attach(forge, anna, releaseFile('v1.5.0', { publishedAt: '9999-01-01T00:00:00Z' })),
      'the publication date 9999-01-01T00:00:00Z is in the future',
    ],
    [
      'without an image',
      () => attach(forge, anna, releaseFile('v1.5.0', { images: {} })),
      'release.json lists no images',
    ],
    [
      '1 GB of a file',
      () =>
        attach(forge, anna, told, {
          replies: { 'release.json': endless({ 'content-length': '1000000000' }) },
        }),
      'release.json is larger than 256 KiB',
    ],
    [
      'a file that never ends, slowly',
      () => attach(forge, anna, told, { replies: trickle }),
      'the signature cannot be downloaded: no complete response within 0.4 s',
    ],
  ])('does not make a release available: %s', async (_, publish, message) => {
    forge.publish(publish(), attach(forge, anna, releaseFile('v1.4.3')));
    const feed = await checked();
    // The feed is still read.
    expect(resultOf(feed)).toEqual([['v1.4.3'], one(message)]);
    expect(feed.checkedAt).not.toBeNull();
    expect(Math.max(...forge.seen.map(({ bytes }) => bytes))).toBeLessThan(16_000_000);
  });

  it('with an old signed release is detected by the date of the last offered release', async () => {
    const [older, newer] = ['2026-11-19T08:00:00Z', '2026-11-20T08:00:00Z'];
    const old = attach(forge, anna, releaseFile('v1.5.0', { publishedAt: older }));
    const step = attach(forge, anna, releaseFile('v1.4.9', { publishedAt: older }));
    forge.publish(attach(forge, anna, releaseFile('v1.6.0', { publishedAt: newer })), old, step);
    const before = await checked();
    await before.check();
    // A release older than the newest may be an intermediate release on the upgrade path.
    expect(versions(before)).toEqual(['v1.6.0', 'v1.5.0', 'v1.4.9']);

    forge.publish(old, step);
    const after = await checked();
    const dates = `the release was published at ${older}, but a release published at ${newer} has already been offered`;
    expect(resultOf(after)).toEqual([
      [],
      `v1.5.0 is not verified: ${dates}; v1.4.9 is not verified: ${dates}`,
    ]);
    // The clock is set to a time before the last offered release was published.
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-18T12:00:00Z') });
    const behind = await checked();
    expect(versions(behind)).toEqual([]);
    vi.useRealTimers();
    // No release of the canary channel was offered before.
    forge.publish({
      ...attach(forge, anna, releaseFile('v1.6.0-canary.1', { publishedAt: older })),
      prerelease: true,
    });
    const canary = await checked({}, { channel: 'canary' });
    expect(versions(canary)).toEqual(['v1.6.0-canary.1']);
    // The release that was offered last is offered again.
    forge.publish(attach(forge, anna, releaseFile('v1.6.0', { publishedAt: newer })));
    await after.check();
    expect(resultOf(after)).toEqual([['v1.6.0'], null]);
  });

  it('with a key that is removed later does not block releases of the remaining signers', async () => {
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    forge.publish(attach(forge, anna, releaseFile('v1.9.0', { publishedAt: soon })));
    const poisoned = await checked();
    expect(versions(poisoned)).toEqual(['v1.9.0']);

    forge.publish(attach(forge, bert, releaseFile('v1.5.0')));
    const stillTrusted = await checked();
    expect(resultOf(stillTrusted)).toEqual([[], expect.stringContaining('has already been offered')]);
    const removed = await checked({}, { trust: { keys: [bert.key] } });
    expect(resultOf(removed)).toEqual([['v1.5.0'], null]);
  });

  it('fails even if the store does not respond', async () => {
    forge.publish(attach(forge, anna, told));
    host.fail('get', { how: 'reject' });
    const feed = await checked();
    expect(resultOf(feed)).toEqual([
      [],
      expect.stringContaining('the store did not return the release that was offered last'),
    ]);
    await feed.check();
    expect(resultOf(feed)).toEqual([['v1.5.0'], null]);
  });
});

describe('an unverified release', () => {
  it('is verified again if its signature could not be downloaded', async () => {
    const missing = { 'release.json.sigstore.json': json(404, {}) };
    forge.publish(attach(forge, anna, told, { replies: missing }));
    const feed = await checked();
    expect(resultOf(feed)).toEqual([
      [],
      one('the signature cannot be downloaded: the response has status 404'),
    ]);
    attach(forge, anna, told);
    await feed.check();
    expect(resultOf(feed)).toEqual([['v1.5.0'], null]);
  });

  it('is not verified again until the addresses of its files change', async () => {
    forge.publish(attach(forge, mallory, told));
    const feed = await checked({}, { api: 'static' });
    attach(forge, anna, told);
    await feed.check();
    expect([versions(feed), asked().length]).toEqual([[], 2]);
    const at = (name: string) => ({ name, url: `${forge.fileAt('v1.5.0', name)}?2` });
    const assets = [at('release.json'), at('release.json.sigstore.json')];
    forge.next(json(200, { releases: [{ version: 'v1.5.0', assets }] }));
    await feed.check();
    expect([versions(feed), asked().length]).toEqual([['v1.5.0'], 4]);
  });
});
