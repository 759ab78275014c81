import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  downloadAsset,
  verificationFileDownloadLimits,
} from '../../src/client/self-update/download-asset.ts';
import { followRedirects } from '../../src/feed/follow-redirects.ts';
import { isPrivateHost } from '../../src/feed/private-host.ts';

const closers: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

/** A private host, and a feed that redirects to it. */
async function rig(location: (port: number) => string) {
  const asked: string[] = [];
  const port = await serve(({ url = '' }, response) => {
    asked.push(url);
    response.end('secret');
  });
  const feedPort = await serve((_, response) => {
    response.writeHead(302, { location: location(port) }).end();
  });
  // The name of the feed resolves to a public address.
  const names: Record<string, string> = { localhost: '93.184.215.14', 'inner.test': '10.1.2.3' };
  const lookup = async (name: string) => [{ address: names[name] ?? '93.184.215.14' }];
  const go = (address: string, feed = address, resolve = lookup) =>
    followRedirects(new URL(address), {
      feed: { url: feed },
      headers: {},
      signal: AbortSignal.timeout(10_000),
      lookup: resolve,
    });
  return { asked, go, feed: `http://localhost:${feedPort}/releases` };
}

describe('a public feed', () => {
  it.each<(port: number) => string>([
    (port) => `http://127.0.0.1:${port}/latest/meta-data`,
    (port) => `http://inner.test:${port}/`,
  ])('cannot redirect to a host in a private network: %#', async (location) => {
    const { asked, go, feed } = await rig(location);
    await expect(go(feed)).rejects.toThrow('which is in a private network');
    expect(asked).toEqual([]);
  });

  it('cannot contain the address of a file in a private network', async () => {
    const { asked, go, feed } = await rig((port) => `http://127.0.0.1:${port}/`);
    await expect(go('http://127.0.0.1:9/', feed)).rejects.toThrow('the feed refers to 127.0.0.1:9, which');
    const asset = { name: 'file', url: 'http://169.254.169.254/latest/meta-data' };
    const { signal } = new AbortController();
    const wanted = {
      asset,
      feed: 'http://93.184.215.14/releases.json',
      limits: verificationFileDownloadLimits,
      signal,
    };
    await expect(downloadAsset(wanted)).rejects.toThrow('in a private network');
    expect(asked).toEqual([]);
  });

  it('times out if resolving a name takes too long', async () => {
    const ending = new AbortController();
    const { signal } = ending;
    const hanging = () => new Promise<never>(() => {});
    const asked = followRedirects(new URL('http://slow.test/'), {
      feed: { url: 'http://feed.test/' },
      headers: {},
      signal,
      lookup: hanging,
    });
    const reason = new Error('late');
    ending.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });
});

it('a feed with https cannot redirect to http', async () => {
  const answer = new Response(null, { status: 302, headers: { location: 'http://93.184.215.14/x' } });
  vi.stubGlobal('fetch', async () => answer);
  const { signal } = new AbortController();
  const feed = 'https://93.184.215.14/releases.json';
  await expect(followRedirects(new URL(feed), { feed: { url: feed }, headers: {}, signal })).rejects.toThrow(
    'it redirects from https to http',
  );
  vi.unstubAllGlobals();
  const asset = { name: 'file', url: 'http://93.184.215.14/file' };
  await expect(
    downloadAsset({ asset, feed, limits: verificationFileDownloadLimits, signal }),
  ).rejects.toThrow('the feed uses https, but the file is at http://93.184.215.14');
});

it('a feed in a private network can redirect to any address', async () => {
  const { asked, go, feed } = await rig((port) => `http://127.0.0.1:${port}/file`);
  const { response } = await go(feed, feed, async () => [{ address: '192.168.1.7' }]);
  expect([await response.text(), asked]).toEqual(['secret', ['/file']]);
});

const innerHosts = [
  ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '127.9.9.9', '0.0.0.0', '169.254.169.254'],
  ...['100.64.0.1', '100.127.255.255', '224.0.0.1', '255.255.255.255', '0x7f.1', '2130706433', '0300.0250.1'],
  ...['[::1]', '[::]', '[fc00::1]', '[fdff::1]', '[fe80::1]', '[febf::1]', '[fec0::1]', '[ff02::1]'],
  ...['[::ffff:10.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::a00:1]', '[2002:7f00:1::]'],
];
const outerHosts = [
  ...['93.184.215.14', '172.32.0.1', '100.128.0.1', '192.169.0.1', '11.0.0.1', '169.253.0.1'],
  ...['[2606:4700::1]', '[::ffff:93.184.215.14]', '[64:ff9b::5db8:d70e]'],
];
it.each([
  ['inner', innerHosts, true],
  ['outer', outerHosts, false],
] as const)('isPrivateHost classifies each %s address', async (_, hosts, expected) => {
  for (const host of hosts) expect(await isPrivateHost(new URL(`http://${host}/`)), host).toBe(expected);
});

it('isPrivateHost classifies a name as private if one of its addresses is private', async () => {
  const of = (...all: string[]) =>
    isPrivateHost(new URL('http://x.test/'), async () => all.map((address) => ({ address })));
  expect(await of('93.184.215.14', '192.168.0.7')).toBe(true);
  expect(await of('fe80::1%eth0')).toBe(true);
  expect(await of('93.184.215.14', '2606:4700::1')).toBe(false);
  expect(await isPrivateHost(new URL('http://x.test/'), () => Promise.reject(new Error('ENOTFOUND')))).toBe(
    false,
  );
  expect(await isPrivateHost(new URL('http://localhost/'))).toBe(true);
});
