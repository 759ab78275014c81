import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startBadRegistry } from '../../rig/bad-registry.ts';
import { type PlatformRelease, platformReleases } from '../releases.ts';
import { forgePage } from './page.ts';

/** A stand-in for GitHub and its registry: the releases API, and images at the speed of a slow connection. */
export interface Forge {
  /** The address of its page and releases for this machine. */
  url: string;
  /** The address of the releases for containers. */
  feed: string;
  /** `127.0.0.1:port` for image references. */
  registry: string;
  publish(version: string): void;
  /** Limits the speed from now on; null removes the limit. */
  slow(bytesPerSecond: number | null): void;
  /** Holds all image downloads until the returned function is called. */
  hold(): () => void;
  close(): Promise<void>;
}

export interface ForgeOptions {
  /** The registry that stores the images. */
  upstream: string;
  /** The address of the machine in the default network of the engine: reachable by containers, not from outside. */
  address: string;
  /** A folder for each version with its release assets. */
  assets: string;
  ports?: { feed: number; registry: number };
}

const list = '/repos/acme/svc/releases';
const downloads = '/acme/svc/releases/download';

/** About 4 MB in five seconds. */
export const slowPace = 800_000;

export async function startForge({ upstream, address, assets, ports }: ForgeOptions): Promise<Forge> {
  const published = new Map<string, string>();
  const publish = (version: string) => {
    if (!published.has(version)) published.set(version, new Date().toISOString());
  };
  const registry = await startBadRegistry(upstream, undefined, ports?.registry);
  const slow = (pace: number | null) =>
    registry.fail(pace === null ? null : { kind: 'slow', bytesPerSecond: pace }, { on: 'blobs' });

  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    // The engine reports a layer after the first 1 MiB. A resumed pull starts after the received part.
    registry.fail({ kind: 'late', after: 1_500_000, until: promise }, { on: 'blobs' });
    return () => {
      registry.fail(null);
      resolve();
    };
  };

  const server = createServer((asked, answer) => {
    const { pathname, searchParams } = new URL(asked.url ?? '/', 'http://forge');
    const told = platformReleases.filter(({ version }) => published.has(version)).reverse();
    const shape = (release: PlatformRelease) => ({
      ...asGitHub(release, published.get(release.version) ?? ''),
      assets: assetsOf(release, assets).map((name) => ({
        name,
        browser_download_url: `${url}${downloads}/${release.version}/${name}`,
      })),
    });
    const [version = '', name = ''] = pathname.slice(downloads.length + 1).split('/');
    if (asked.method === 'POST' && pathname === '/publish') {
      publish(searchParams.get('version') ?? '');
      answer.writeHead(303, { location: '/' }).end();
    } else if (
      told.some((release) => release.version === version && assetsOf(release, assets).includes(name))
    ) {
      answer.writeHead(200).end(readFileSync(join(assets, version, name)));
    } else if (pathname === list) {
      const page = Number(searchParams.get('page') ?? 1);
      send(asked, answer, page === 1 ? told.map(shape) : []);
    } else if (pathname === `${list}/latest`) {
      const newest = told.find(({ version }) => !version.includes('-'));
      if (newest === undefined) answer.writeHead(404).end('{"message":"Not Found"}');
      else send(asked, answer, shape(newest));
    } else if (pathname === '/') {
      answer
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end(forgePage(new Set(published.keys())));
    } else {
      answer.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(ports?.feed ?? 0, address, resolve);
  });
  const url = `http://${address}:${(server.address() as AddressInfo).port}`;
  return {
    url,
    feed: `${url}${list}`,
    registry: registry.host,
    publish,
    slow,
    hold,
    async close() {
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), registry.close()]);
    },
  };
}

/** https://docs.github.com/en/rest/releases/releases */
function asGitHub({ version, notes }: PlatformRelease, publishedAt: string): object {
  return {
    tag_name: version,
    name: `svc ${version}`,
    html_url: `https://example.org/acme/svc/releases/tag/${version}`,
    body: notes,
    draft: false,
    prerelease: version.includes('-'),
    published_at: publishedAt,
  };
}

function assetsOf({ version }: PlatformRelease, assets: string): string[] {
  try {
    return readdirSync(join(assets, version));
  } catch {
    return [];
  }
}

/** With an ETag like GitHub, so that an unchanged response is not sent again. */
function send(asked: IncomingMessage, answer: ServerResponse, content: object): void {
  const body = JSON.stringify(content);
  const etag = `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;
  if (asked.headers['if-none-match'] === etag) answer.writeHead(304, { etag }).end();
  else answer.writeHead(200, { 'content-type': 'application/json; charset=utf-8', etag }).end(body);
}
