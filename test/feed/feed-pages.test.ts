import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFeed, type Feed, type LogEntry } from '../../src/feed/feed.ts';
import { type Channel, newestOn } from '../../src/release/channel.ts';
import { compareVersions } from '../../src/release/order.ts';
import { type Api, type Forge, json, type Published, startForge, text } from './forge.ts';

const mebibyte = 1024 * 1024;
const paged = ['gitHub', 'gitea', 'gitLab'] as const;
const sizes = { gitHub: 'per_page', gitea: 'limit', gitLab: 'per_page' } as const;

let forge: Forge;
let feed: Feed | undefined;
let channel: Channel = 'stable';
const log: LogEntry[] = [];

beforeEach(async () => {
  forge = await startForge();
  channel = 'stable';
  log.length = 0;
});
afterEach(async () => {
  feed?.close();
  await forge.close();
});

const feedOf = (url: string) => {
  feed = createFeed({ url }, (entry) => log.push(entry), { channel: () => channel });
  return feed;
};
const newest = (reading: Feed, on: Channel = channel) => newestOn(on, reading.releases)?.version;
const canaries = (count: number, more: Partial<Published> = {}): Published[] =>
  Array.from({ length: count }, (_, i) => ({
    tag: `v2.0.0-canary.${count - i}`,
    prerelease: true,
    ...more,
  }));
/** The list's pages that were asked for, as their parameters. */
const pages = () =>
  forge.seen
    .map(({ path }) => new URL(path, forge.origin))
    .filter(isList)
    .map(parameters);
const isList = ({ pathname }: URL) => pathname.endsWith('/releases');
const parameters = ({ searchParams }: URL) => Object.fromEntries(searchParams);

describe('a page', () => {
  it.each([
    ['gitHub', '100'],
    ['gitea', '50'],
    ['gitLab', '100'],
  ] as const)('of %s is asked for with %s releases', async (api, most) => {
    forge.publish(...Array.from({ length: 120 }, (_, i) => `v1.${120 - i}.0`));
    await feedOf(forge.address(api)).check();
    expect(pages()).toEqual([{ [sizes[api]]: most }]);
    expect(feed?.releases).toHaveLength(Number(most));
  });

  it.each([
    ['/api/v3/repos/acme/svc/releases', '?per_page=100', 'latest?'],
    ['/git/api/v1/repos/acme/svc/releases/', '?limit=50', 'latest?'],
    ['/gitlab/api/v4/projects/42/releases', '?per_page=100', 'permalink/latest?'],
    ['/api/v1/repos/acme/svc/releases?token=x', '?token=x&limit=50', 'latest?token=x'],
    ['/repos/acme/svc/releases?per_page=7', '?per_page=7', 'latest?per_page=7'],
  ])('of a forge at %s', async (path, query, latest) => {
    forge.next(json(200, []), json(404, {}));
    await feedOf(`${forge.origin}${path}`).check();
    const list = path.replace(/\/?(\?.*)?$/, '');
    expect(forge.seen.map((one) => one.path.replace(/\/\?/, '?'))).toEqual([
      `${list}${query}`,
      `${list}/${latest}`.replace(/\?$/, ''),
    ]);
    expect(log).toEqual([]);
  });

  it('of anything else is asked for as it is, and nothing besides', async () => {
    forge.next(json(200, { releases: [{ version: 'v1.5.0' }] }));
    await feedOf(`${forge.origin}/acme/releases`).check();
    expect(forge.seen.map(({ path }) => path)).toEqual(['/acme/releases']);
  });

  it.each(paged)('of %s that is over 8 MiB is asked for again at half the size', async (api) => {
    // 30 of them are 9 MiB.
    const assets = 0.3 * mebibyte;
    forge.publish(...Array.from({ length: 60 }, (_, i) => ({ tag: `v1.${60 - i}.0`, assets })));
    const reading = feedOf(forge.address(api));
    await reading.check();
    const most = api === 'gitea' ? 50 : 100;
    const asked = [most, most / 2, ...(most === 100 ? [25] : [])].map((size) => ({
      [sizes[api]]: String(size),
    }));
    expect(pages()).toEqual(asked);
    expect([newest(reading), reading.releases.length, log]).toEqual(['v1.60.0', 25, []]);

    // The next check begins with the size that the forge could give.
    forge.seen.length = 0;
    await reading.check();
    expect(pages()).toEqual([{ [sizes[api]]: '25' }]);
  });

  it('further on that is too large is read at half the size from the first on, and no release is left out', async () => {
    channel = 'canary';
    const assets = 3 * mebibyte;
    // Its forge gives nine, whatever it is asked for: 9 MiB are on the second page, and the only canary is the last.
    const small = Array.from({ length: 9 }, (_, i) => `v1.${30 - i}.0`);
    const large = Array.from({ length: 3 }, (_, i) => ({ tag: `v1.${10 - i}.0`, assets }));
    forge.publish(...small, ...large, 'v2.0.0-canary.1');
    forge.configure({ most: 9 });
    const reading = feedOf(`${forge.address('gitHub')}?per_page=10`);
    await reading.check();
    expect(newest(reading)).toBe('v2.0.0-canary.1');
    expect(reading.releases).toHaveLength(13);
    expect(log).toEqual([]);
  });

  it('that is too large with one release alone fails the check', async () => {
    forge.publish({ tag: 'v1.5.0', assets: 9 * mebibyte }, 'v1.4.0');
    const reading = feedOf(`${forge.address('gitHub')}?per_page=4`);
    await reading.check();
    expect(pages().map(({ per_page }) => per_page)).toEqual(['4', '2', '1']);
    expect(reading.failure?.message).toContain('a page is larger than 8 MiB');
  });
});

describe('the newest stable release', () => {
  it.each(['gitHub', 'gitea'] as const)('of %s is found behind any number of canaries', async (api) => {
    forge.publish(...canaries(900), 'v1.5.0');
    const reading = feedOf(forge.address(api));
    await reading.check();
    expect([newest(reading), newest(reading, 'canary')]).toEqual(['v1.5.0', 'v2.0.0-canary.900']);
    expect(forge.seen).toHaveLength(2);
  });

  it('of GitLab, which knows no pre-releases, is found on the first five further pages', async () => {
    forge.publish(...canaries(550), 'v1.5.0');
    const reading = feedOf(forge.address('gitLab'));
    await reading.check();
    expect(newest(reading)).toBe('v1.5.0');
    expect(pages()).toHaveLength(6);
  });

  it.each(paged)('of %s may be greater than the one that is the latest by date', async (api) => {
    forge.publish('v1.4.9', 'v1.5.0');
    const reading = feedOf(forge.address(api));
    await reading.check();
    expect(newest(reading)).toBe('v1.5.0');
  });

  it.each(paged)('of %s may be on no page', async (api) => {
    forge.publish('v1.5.0', 'v1.4.0');
    forge.next(json(200, []));
    const reading = feedOf(forge.address(api));
    await reading.check();
    expect(newest(reading)).toBe('v1.5.0');
  });

  it('is found wherever it is, whatever is published beside it', async () => {
    const published = fc.uniqueArray(
      fc.record({
        tag: fc.oneof(
          fc.nat(30).map((minor) => `v1.${minor}.0`),
          fc.nat(30).map((number) => `v2.0.0-canary.${number}`),
          fc.constantFrom('nightly', 'chart-v9.0.0', 'v9.0.0-rc.1'),
        ),
        draft: fc.boolean(),
      }),
      { selector: ({ tag }) => tag, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(published, fc.constantFrom('gitHub', 'gitea'), fc.integer({ min: 1, max: 9 }), run),
      { numRuns: 60 },
    );
    async function run(list: { tag: string; draft: boolean }[], api: Api, most: number) {
      const isStable = ({ tag }: Published) => /^v1\./.test(tag);
      forge.configure({ most });
      forge.publish(...list.map((one) => ({ ...one, prerelease: !isStable(one) })));
      const reading = feedOf(forge.address(api));
      await reading.check();
      reading.close();
      const offered = list.filter((one) => isStable(one) && !one.draft).map(({ tag }) => tag);
      const firstPage = list.slice(0, most).map(({ tag }) => tag);
      // What is on the first page, and the first of all by date.
      const expected = offered
        .filter((tag, at) => at === 0 || firstPage.includes(tag))
        .toSorted(compareVersions)
        .at(-1);
      expect(newest(reading)).toBe(expected);
    }
  });

  it.each([
    ['there is none', json(404, { message: 'Not Found' })],
    ['GitLab shows a guest the list alone', json(403, { message: '403 Forbidden' })],
    ['an older forge knows no such address', json(405, {})],
  ])('is not asked for in vain: %s', async (_, reply) => {
    forge.publish('v1.5.0');
    const list = json(200, [{ tag_name: 'v1.5.0', draft: false, prerelease: false }]);
    forge.next(list, reply);
    const reading = feedOf(forge.address('gitHub'));
    await reading.check();
    expect([newest(reading), log]).toEqual(['v1.5.0', []]);
  });

  it.each([
    ['its forge fails', json(502, {}), 'it answers 502'],
    ['a rate limit is reached', json(403, {}, { 'retry-after': '60' }), 'it answers 403'],
    ['it is something else', json(200, { message: 'hello' }), 'the answer is no list of releases'],
    ['it is no JSON', text(200, '<html>'), 'the answer is no JSON'],
    ['it is too large', text(200, ' '.repeat(8 * mebibyte + 1)), 'its latest release is larger than 8 MiB'],
  ])('that cannot be read fails the check: %s', async (_, reply, why) => {
    forge.next(json(200, []), reply);
    const reading = feedOf(forge.address('gitHub'));
    await reading.check();
    expect(reading.failure?.message).toContain(`cannot be read: ${why}`);
    expect(forge.seen).toHaveLength(2);
  });
});

describe('further pages', () => {
  it.each(paged)('of %s are read until there is a release of the channel, and no further', async (api) => {
    channel = 'canary';
    forge.configure({ most: 2 });
    forge.publish(
      'v1.5.0',
      'v1.4.0',
      'v1.3.0',
      'v1.2.0',
      'v1.1.0',
      'v1.6.0-canary.1',
      'v1.0.0',
      'v1.6.0-canary.0',
    );
    const reading = feedOf(forge.address(api));
    await reading.check();
    expect(newest(reading)).toBe('v1.6.0-canary.1');
    expect(pages().map(({ page }) => page)).toEqual([undefined, '2', '3']);
    channel = 'stable';
    forge.seen.length = 0;
    await reading.check();
    expect(pages()).toHaveLength(1);
  });

  it.each(paged)('of %s are five at most', async (api) => {
    channel = 'canary';
    forge.configure({ most: 1 });
    forge.publish(...Array.from({ length: 9 }, (_, i) => `v1.${9 - i}.0`), 'v2.0.0-canary.1');
    const reading = feedOf(forge.address(api));
    await reading.check();
    expect(pages().map(({ page }) => page)).toEqual([undefined, '2', '3', '4', '5', '6']);
    expect(newest(reading)).toBeUndefined();
  });

  it('end where a page leads back to one that was read', async () => {
    channel = 'canary';
    const link = '</repos/acme/svc/releases?per_page=100>; rel="next"';
    forge.next(json(200, [], { link }), json(404, {}));
    await feedOf(forge.address('gitHub')).check();
    expect(forge.seen).toHaveLength(2);
  });

  it.each([
    ['gitea', { rootUrl: 'https://git.example' }],
    ['gitLab', { rootUrl: 'https://git.example' }],
    ['gitLab', { links: false }],
  ] as const)('of %s are found with %j, by the address that it was asked at', async (api, settings) => {
    channel = 'canary';
    forge.configure({ most: 1, ...settings });
    forge.publish('v1.5.0', 'v1.4.0', 'v2.0.0-canary.1');
    const reading = feedOf(forge.address(api));
    await reading.check();
    expect(newest(reading)).toBe('v2.0.0-canary.1');
    expect(pages()).toHaveLength(3);
  });

  it('are looked for when the channel is another one, where none of its releases is known', async () => {
    forge.configure({ most: 1 });
    forge.publish('v1.5.0', 'v2.0.0-canary.1');
    const reading = feedOf(forge.address('gitHub'));
    // Before the first check nothing is known of any: that is what it is for.
    reading.lookFor('canary');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(forge.seen).toHaveLength(0);
    await reading.check();
    reading.lookFor('stable');
    expect(newest(reading, 'canary')).toBeUndefined();
    channel = 'canary';
    reading.lookFor('canary');
    await reading.check();
    expect(newest(reading)).toBe('v2.0.0-canary.1');
    expect(pages()).toHaveLength(3);
  });
});

describe('what has not changed', () => {
  it.each([
    ['gitHub', 4],
    ['gitLab', 5],
  ] as const)('of %s is not sent again, page by page', async (api, requests) => {
    channel = 'canary';
    forge.configure({ most: 1 });
    const list: Published[] = [{ tag: 'v1.5.0' }, { tag: 'v1.4.0' }, { tag: 'v2.0.0-canary.1' }];
    forge.publish(...list);
    const reading = feedOf(forge.address(api));
    await reading.check();
    const { releases } = reading;
    forge.seen.length = 0;
    await reading.check();
    expect(forge.seen.map(({ status }) => status).filter((status) => status !== 302)).toEqual([
      304, 304, 304, 304,
    ]);
    expect(forge.seen).toHaveLength(requests);
    // What goes by the list need not look through it again.
    expect(reading.releases).toBe(releases);

    // The last page alone is another one.
    forge.publish({ tag: 'v1.5.0' }, { tag: 'v1.4.0' }, { tag: 'v2.0.0-canary.2' });
    forge.seen.length = 0;
    await reading.check();
    expect(forge.seen.map(({ status }) => status).filter((status) => status !== 302)).toEqual([
      304, 304, 304, 200,
    ]);
    expect(newest(reading)).toBe('v2.0.0-canary.2');
    expect(newest(reading, 'stable')).toBe('v1.5.0');
  });

  it('keeps the latest release where the list alone is another one, and the other way round', async () => {
    forge.publish('v1.5.0', 'v1.4.0');
    const reading = feedOf(forge.address('gitHub'));
    await reading.check();
    forge.publish('v1.5.0', 'v1.4.0', 'v1.3.0');
    forge.seen.length = 0;
    await reading.check();
    expect(forge.seen.map(({ status }) => status)).toEqual([200, 304]);
    expect(reading.releases).toHaveLength(3);
    forge.configure({ most: 1 });
    forge.publish({ tag: 'v2.0.0-canary.1', prerelease: true }, 'v1.5.0');
    await reading.check();
    forge.publish({ tag: 'v2.0.0-canary.1', prerelease: true }, 'v1.6.0');
    forge.seen.length = 0;
    await reading.check();
    expect(forge.seen.map(({ status }) => status)).toEqual([304, 200]);
    expect(newest(reading)).toBe('v1.6.0');
  });
});

describe('pages together', () => {
  const more = (api: Api, page: number) => ({ link: `<${forge.address(api)}?page=${page}>; rel="next"` });
  const canary = (tag: string, body = '') => ({
    tag_name: tag,
    name: tag,
    draft: false,
    prerelease: true,
    html_url: 'https://example.org/',
    published_at: '2026-11-20T08:30:00Z',
    body,
  });
  const noLatest = json(404, { message: 'Not Found' });

  it('are refused where the second one is no list of releases', async () => {
    forge.next(json(200, [canary('v2.0.0-canary.1')], more('gitHub', 2)), noLatest);
    forge.next(json(200, { message: 'Server Error' }));
    await feedOf(forge.address('gitHub')).check();
    expect(log.at(-1)?.message).toContain('the answer is no list of releases');
    expect(feed?.releases).toEqual([]);
  });

  it('have a release once, as it stood on the first of them', async () => {
    forge.next(json(200, [canary('v2.0.0-canary.1', 'first')], more('gitHub', 2)), noLatest);
    forge.next(json(200, [canary('v2.0.0-canary.1', 'moved to the next page meanwhile')]));
    await feedOf(forge.address('gitHub')).check();
    expect(feed?.releases.map(({ notes }) => notes)).toEqual(['first']);
  });

  it('are refused where they list more than 5000 releases', async () => {
    const many = (from: number) =>
      Array.from({ length: 2501 }, (_, i) => canary(`v2.0.0-canary.${from + i}`));
    forge.next(json(200, many(0), more('gitHub', 2)), noLatest, json(200, many(2501)));
    await feedOf(forge.address('gitHub')).check();
    expect(log.at(-1)?.message).toContain('it lists more than 5000 releases');
  });
});
