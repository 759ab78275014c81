import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Channel } from '../../../src/core/release/channel.ts';
import { readFeed } from '../../../src/feed/read-feed.ts';
import type { ChannelFile } from '../../../src/provenance/channel-file.ts';
import { ChannelFileReader } from '../../../src/server/available-update/channel-file-reader.ts';
import { validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import { StateStore } from '../../../src/server/store/state-store.ts';
import { attachChannel, channelFile, hostChannel, recallsOf } from '../../feed/channel-copies.ts';
import { type Api, endless, type Forge, silence, startForge, text } from '../../feed/forge.ts';
import { publisher } from '../../provenance/sign.ts';
import { HostDouble } from '../../rig/host-double/host-double.ts';
import { quick } from '../updates/rig.ts';

const anna = publisher();
const bert = publisher();
const mallory = publisher();
/** Longer than a response takes on a busy machine. */
const timing = { ...quick, proof: 2_000 };
const both = [bert.key, anna.key];

let forge: Forge;
let host: HostDouble;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-21T12:00:00Z') });
  forge = await startForge();
  host = new HostDouble();
});
afterEach(async () => {
  vi.useRealTimers();
  await forge.close();
});

/** A server. All servers share the store. */
function server(
  keys: readonly string[] | null = both,
  { api = 'static' as Api, channel = 'stable' as Channel } = {},
) {
  const settings = validateInstanceOptions({
    version: 'v1.4.2',
    updaterImage: 'acme/svc-updater:1',
    feed: { url: forge.address(api), ...(keys && { trust: { keys } }) },
    authorize: host.authorize,
    queue: host.queue,
    store: host.store,
    log: host.log,
  });
  const files = new ChannelFileReader({ settings, ledger: new StateStore(settings, timing), timing });
  const signal = AbortSignal.timeout(30_000);
  return {
    current: () => files.current(channel),
    /** The problem, and the day on which the file in use was issued. */
    async read() {
      const feed = { url: forge.address(api) };
      const { releases } = await readFeed(feed, { known: null, channel, withAssets: true, signal });
      const problem = await files.read(releases, channel, signal);
      return [problem, (await files.current(channel))?.issuedAt.slice(8, 10) ?? null];
    },
  };
}
const issued = (day: number, change: Partial<ChannelFile> = {}) =>
  channelFile({ issuedAt: `2026-11-${day}T08:00:00Z`, ...change });
const refused = (why: string) => `channel.json was rejected: ${why}`;
const older =
  'it was issued at 2026-11-14T08:00:00Z, but a newer file, issued at 2026-11-15T08:00:00Z, has already been accepted';

describe('a channel file', () => {
  it('is used if a trusted publisher signed it', async () => {
    const told = issued(20, { recalled: recallsOf('v1.5.0'), rollout: { version: 'v1.5.1', percent: 10 } });
    hostChannel(forge, told, anna);
    const one = server();
    expect(await one.read()).toEqual([null, '20']);
    expect(await one.current()).toEqual(told);
  });

  it('may be missing', async () => {
    expect(await server().read()).toEqual([null, null]);
    expect(await server(null).read()).toEqual([null, null]);
  });

  it('is read from the three most recently published releases, and the newest copy is used', async () => {
    const copy = (day: number, tag: string, by = anna, publishedAt = `2026-11-${day}T09:00:00Z`) =>
      attachChannel(forge, issued(day), by, { tag, publishedAt });
    forge.publish(
      copy(13, 'v1.7.0', mallory),
      copy(12, 'v1.6.0'),
      copy(14, 'v1.5.1'),
      copy(20, 'v1.5.0', anna, '2026-11-11T09:00:00Z'),
    );
    expect(await server(both, { api: 'gitHub' }).read()).toEqual([null, '14']);
    expect(await server(both, { api: 'gitLab' }).read()).toEqual([null, '14']);
  });

  it('is ignored if it is for another channel', async () => {
    hostChannel(forge, issued(20, { channel: 'canary' }), anna);
    expect(await server().read()).toEqual([null, null]);
    expect(await server(both, { channel: 'canary' }).read()).toEqual([null, '20']);
    expect(await server(null).read()).toEqual([null, null]);
    const canary = issued(20, { channel: 'canary' });
    forge.publish(
      attachChannel(forge, canary, anna, { tag: 'v1.5.1' }),
      attachChannel(forge, issued(19), anna, { tag: 'v1.5.0' }),
    );
    expect(await server(both, { api: 'gitHub' }).read()).toEqual([null, '19']);
  });

  it('is shared by all servers, and available to new servers', async () => {
    hostChannel(forge, issued(20), anna);
    const [one, other] = [server(), server()];
    await one.read();
    expect(await other.current()).toEqual(issued(20));
    hostChannel(forge, issued(21), bert);
    await other.read();
    expect(await one.current()).toEqual(issued(21));
    expect(await server().current()).toEqual(issued(21));
  });

  it('is still used while the store does not respond', async () => {
    hostChannel(forge, issued(20), anna);
    const one = server();
    await one.read();
    host.fail('get', { how: 'reject', times: 2 });
    expect((await one.current())?.issuedAt).toBe('2026-11-20T08:00:00Z');
    await expect(one.read()).rejects.toThrow('the store did not return the channel file');
  });
});

describe('an attack', () => {
  beforeEach(async () => {
    hostChannel(forge, issued(15), anna);
    await server().read();
  });

  it.each<[string, () => void, string]>([
    ['without a signature', () => hostChannel(forge, issued(20), null), refused('it is not signed')],
    [
      'by another signer',
      () => hostChannel(forge, issued(20), mallory),
      refused('it is not signed with a trusted key'),
    ],
    ['with an older file', () => hostChannel(forge, issued(14), anna), refused(older)],
    [
      'with an older file of another trusted signer',
      () => hostChannel(forge, issued(14), bert),
      refused(older),
    ],
    [
      'from the future',
      () => hostChannel(forge, issued(22, { issuedAt: '2026-11-22T12:00:01Z' }), anna),
      refused('its issue date 2026-11-22T12:00:01Z is in the future'),
    ],
    [
      'that would never expire',
      () => hostChannel(forge, issued(20, { expires: '9999-01-01T00:00:00Z' }), anna),
      refused('channel.json cannot be read: expires must be after issuedAt, but at most 366 days after it'),
    ],
    [
      'with the file of another product',
      () => hostChannel(forge, issued(20, { product: 'acme' }), anna),
      refused('it is a channel file of acme, not of svc'),
    ],
    [
      'without end',
      () => forge.host('/channel.json', endless()),
      refused('channel.json is larger than 256 KiB'),
    ],
    [
      'without an answer',
      () => forge.host('/channel.json', silence),
      'channel.json cannot be downloaded: no complete response within 2 s',
    ],
    [
      'by an error',
      () => forge.host('/channel.json', text(500, '')),
      'channel.json cannot be downloaded: the response has status 500',
    ],
  ])('%s changes nothing and is reported', async (_, attack, message) => {
    attack();
    expect(await server().read()).toEqual([message, '15']);
  });

  it('that withholds the file does not undo the stored file', async () => {
    forge.host('/channel.json', text(404, ''));
    expect(await server().read()).toEqual([null, '15']);
  });

  it('is not assumed if a file was issued up to a day in the future', async () => {
    hostChannel(forge, issued(22, { issuedAt: '2026-11-22T12:00:00Z' }), anna);
    expect(await server().read()).toEqual([null, '22']);
  });

  it('with a key that is removed later does not block files of the remaining signers', async () => {
    hostChannel(forge, issued(22, { recalled: recallsOf('v1.5.0') }), anna);
    await server().read();
    hostChannel(forge, issued(16), bert);
    expect(await server().read()).toEqual([expect.stringContaining('has already been accepted'), '22']);
    const removed = server([bert.key]);
    expect(await removed.current()).toBeNull();
    expect(await removed.read()).toEqual([null, '16']);
  });

  it.each<[string, readonly string[], unknown]>([
    ['alone', ['v1.5.1'], { below: 'v1.4.3', why: 'CVE-2026-1' }],
    ['beside an older file of another signer', ['v1.4.8', 'v1.5.1'], null],
  ])('cannot undo a stored recall by setting the clock back, %s', async (how, versions, urgent) => {
    const [recalled, urgentBelow] = [recallsOf('v1.5.1'), { below: 'v1.4.3', why: 'CVE-2026-1' }];
    const told = { recalled, urgent: urgentBelow, rollout: { version: 'v1.6.0', percent: 10 } };
    hostChannel(forge, issued(20, told), anna);
    await server().read();
    vi.setSystemTime(new Date('2026-11-18T12:00:00Z'));
    const isAlone = how === 'alone';
    // An older file of the same signer changes nothing, whatever the time is.
    const old = issued(14, isAlone ? {} : { recalled: recallsOf('v1.4.8') });
    hostChannel(forge, old, isAlone ? anna : bert);
    await server().read();
    const file = await server().current();
    expect(file?.recalled.map(({ version }) => version)).toEqual(versions);
    expect(file?.urgent).toEqual(urgent);
  });

  it('with a file from the future is undone when the clock is correct again', async () => {
    vi.setSystemTime(new Date('2026-12-24T12:00:00Z'));
    hostChannel(forge, channelFile({ issuedAt: '2026-12-24T08:00:00Z' }), anna);
    await server().read();
    // The clock is corrected.
    vi.setSystemTime(new Date('2026-11-21T12:00:00Z'));
    hostChannel(forge, issued(20), bert);
    expect(await server().read()).toEqual([null, '20']);
  });
});

describe('a channel file without configured trust', () => {
  it('is used whoever signed it, until the file is removed from the feed', async () => {
    hostChannel(forge, issued(20), mallory);
    const one = server(null);
    expect(await one.read()).toEqual([null, '20']);
    expect(forge.seen.map(({ path }) => path)).not.toContain('/channel.json.sigstore.json');
    forge.host('/channel.json', text(500, ''));
    expect(await one.read()).toEqual([expect.stringContaining('status 500'), '20']);
    forge.host('/channel.json', text(404, ''));
    expect(await one.read()).toEqual([null, null]);
    // An unverified file is not stored, because anybody could have written it.
    expect(host.state.store.has('channel-files')).toBe(false);
  });

  it.each<[string, Partial<ChannelFile>, string]>([
    ['another product', { product: 'acme' }, 'it is a channel file of acme, not of svc'],
    ['the future', { issuedAt: '2026-11-23T08:00:00Z' }, 'in the future'],
  ])('is not used if it is from %s', async (_, change, message) => {
    hostChannel(forge, issued(20, change), null);
    expect(await server(null).read()).toEqual([expect.stringContaining(message), null]);
  });
});
