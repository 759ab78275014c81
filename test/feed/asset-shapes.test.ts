import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readNewestRelease } from '../../src/feed/read-feed.ts';
import { assetsOf } from '../../src/feed/shapes.ts';
import { type Api, type Forge, startForge } from './forge.ts';

const asset = { name: 'svc.mjs', url: 'https://forge.example/svc.mjs' };
const attached = { name: asset.name, browser_download_url: asset.url };

describe('assetsOf', () => {
  it.each<[string, unknown, unknown[]]>([
    ["a forge's list", [{ id: 1, ...attached, size: 7 }], [asset]],
    ["GitLab's links", { count: 1, sources: [], links: [{ id: 1, ...asset, link_type: 'other' }] }, [asset]],
    // Gitea has the address of its API as `url` in some versions.
    ['both addresses', [{ ...attached, url: 'https://forge.example/api/7' }], [asset]],
    ['nothing', undefined, []],
    ['some that do not parse', [null, { name: 7, url: '' }, { name: 'x' }, attached, []], [asset]],
  ])('reads %s', (_, value, expected) => {
    expect(assetsOf(value)).toEqual(expected);
  });
});

describe('the newest release', () => {
  let forge: Forge;
  beforeEach(async () => {
    forge = await startForge();
  });
  afterEach(() => forge.close());

  const apis: readonly Api[] = ['gitHub', 'gitea', 'gitLab', 'static'];
  const files = ['svc.mjs', 'SHA256SUMS'];
  const read = (url: string, channel: 'stable' | 'canary') =>
    readNewestRelease(url, channel, new AbortController().signal);

  it.each(apis)('of %s comes with what is attached to it', async (api) => {
    forge.publish({ tag: 'v1.6.0-canary.1', prerelease: true }, { tag: 'v1.4.0' }, { tag: 'v1.5.0', files });
    const release = await read(forge.address(api), 'stable');
    expect(release?.version).toBe('v1.5.0');
    expect(release?.assets?.map(({ name }) => name)).toEqual(files);
    expect(URL.parse(release?.assets?.[0]?.url ?? '', forge.origin)?.pathname).toBe(
      forge.fileAt('v1.5.0', 'svc.mjs'),
    );
    expect((await read(forge.address(api), 'canary'))?.assets).toEqual([]);
  });
});
