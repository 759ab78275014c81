import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Release } from '../../src/core/release/channel.ts';
import { listChannelFileLocations, readAssetIfFound } from '../../src/feed/read-channel-file.ts';
import { type Forge, startForge, text } from './forge.ts';

const gitHub = 'https://api.github.com/repos/acme/svc/releases';
const release = (version: string, publishedAt: string | null, ...names: string[]): Release => ({
  ...{ version, url: null, notes: null, publishedAt },
  assets: names.map((name) => ({ name, url: `https://x.test/${version}/${name}` })),
});
const both = ['channel.json', 'channel.json.sigstore.json'];
const addresses = (...given: Parameters<typeof listChannelFileLocations>) =>
  listChannelFileLocations(...given).map(({ files: [file, bundle] }) => [file.url, bundle?.url]);

describe('the channel file', () => {
  it.each<[string, { url: string; channelUrl?: string }, string, string]>([
    [
      'is beside a static feed',
      { url: 'https://svc.test/updates/releases.json?token=abc' },
      'https://svc.test/updates/channel.json',
      'https://svc.test/updates/channel.json.sigstore.json',
    ],
    [
      'is at the configured address',
      { url: gitHub, channelUrl: 'https://svc.test/stable?token=abc' },
      'https://svc.test/stable?token=abc',
      'https://svc.test/stable.sigstore.json?token=abc',
    ],
  ])('%s', (_, feed, ...expected) => {
    expect(addresses(feed, [release('v1.5.0', null, ...both)])).toEqual([expected]);
  });

  it('is attached to the three releases of a forge that were published last', () => {
    const releases = [
      release('v2.0.0', '2026-11-01T00:00:00Z', ...both),
      release('v1.9.9', null, ...both),
      release('v1.9.2', '2026-11-20T00:00:00Z', 'channel.json'),
      release('v1.9.1', '2026-11-19T00:00:00Z', 'svc.mjs'),
    ];
    expect(addresses({ url: gitHub }, releases)).toEqual([
      ['https://x.test/v1.9.2/channel.json', undefined],
      ['https://x.test/v2.0.0/channel.json', 'https://x.test/v2.0.0/channel.json.sigstore.json'],
    ]);
  });
});

it.each([
  [
    'at another origin goes by its own address',
    'http://svc.test/channel.json',
    'http://svc.test/channel.json',
  ],
  ['at the origin of the feed goes by the feed', 'https://api.github.com/channel.json', gitHub],
])('a channel file %s', (_, channelUrl, expected) => {
  const feed = { url: gitHub, headers: { 'private-token': 'abc' }, channelUrl };
  expect(listChannelFileLocations(feed, []).map(({ feed }) => [feed.url, 'headers' in feed])).toEqual([
    [expected, expected === gitHub],
  ]);
});

describe('a copy of the channel file', () => {
  let forge: Forge;
  let elsewhere: Forge;
  beforeEach(async () => {
    [forge, elsewhere] = [await startForge(), await startForge()];
  });
  afterEach(() => Promise.all([forge.close(), elsewhere.close()]));

  const read = async (channelUrl?: string) => {
    const headers = { 'private-token': 'abc' };
    const feed = { url: forge.address('static'), headers, ...(channelUrl && { channelUrl }) };
    const [place] = listChannelFileLocations(feed, []);
    const found: (string | null)[] = [];
    for (const file of place?.files ?? []) {
      const asking = { feed: place?.feed ?? feed, signal: AbortSignal.timeout(5_000) };
      const bytes = file ? await readAssetIfFound(file, asking) : null;
      found.push(bytes && Buffer.from(bytes).toString());
    }
    return found;
  };

  it('is read with its signature, if it has one', async () => {
    expect(await read()).toEqual([null, null]);
    forge.host('/channel.json', text(200, 'told'));
    expect(await read()).toEqual(['told', null]);
    forge.host('/channel.json.sigstore.json', text(200, 'signed'));
    expect(await read()).toEqual(['told', 'signed']);
  });

  it.each([403, 404, 410])('counts as missing after status %d', async (status) => {
    forge.host('/channel.json', text(status, ''));
    expect(await read()).toEqual([null, null]);
  });

  it.each<[number, Record<string, string>]>([
    [500, {}],
    [403, { 'retry-after': '60' }],
  ])('causes an error after status %d with %j', async (status, headers) => {
    forge.host('/channel.json', text(status, '', headers));
    await expect(read()).rejects.toThrow(`the response has status ${status}`);
  });

  it('is requested with the headers of the feed only at the origin of the feed', async () => {
    elsewhere.host('/channel.json', text(200, 'told'));
    expect(await read(`${elsewhere.origin}/channel.json`)).toEqual(['told', null]);
    await read();
    expect(elsewhere.seen.map(({ headers }) => headers['private-token'])).toEqual([undefined, undefined]);
    expect(forge.seen.map(({ headers }) => headers['private-token'])).toEqual(['abc', 'abc']);
  });
});
