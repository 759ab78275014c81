import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Channel, findNewestRelease } from '../../src/core/release/channel.ts';
import { createFeed, type Feed, type LogEntry } from '../../src/feed/create-feed.ts';
import { type Forge, json, type Published, startForge, text } from './forge.ts';

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
const checked = async (url: string) => {
  const reading = feedOf(url);
  await reading.check();
  return reading;
};
const newest = (reading: Feed, on: Channel = channel) => findNewestRelease(on, reading.releases)?.version;
const canaries = (count: number, more: Partial<Published> = {}): Published[] =>
  Array.from({ length: count }, (_, i) => ({
    tag: `v2.0.0-canary.${count - i}`,
    prerelease: true,
    ...more,
  }));
/** Query parameters of all requested pages of the list. */
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
  ] as const)('of %s is requested with %s releases', async (api, most) => {
    forge.publish(...Array.from({ length: 120 }, (_, i) => `v1.${120 - i}.0`));
    await checked(forge.address(api));
    expect(pages()).toEqual([{ [sizes[api]]: most }]);
    expect(feed?.releases).toHaveLength(Number(most));
  });

  it.each([
    ['/git/api/v1/repos/acme/svc/releases/', '?limit=50', 'latest?'],
    ['/gitlab/api/v4/projects/42/releases', '?per_page=100', 'permalink/latest?'],
    ['/repos/acme/svc/releases?per_page=7', '?per_page=7', 'latest?per_page=7'],
  ])('of a forge is requested at %s', async (path, query, latest) => {
    forge.next(json(200, []), json(404, {}));
    await checked(`${forge.origin}${path}`);
    const list = path.replace(/\/?(\?.*)?$/, '');
    expect(forge.seen.map((one) => one.path.replace(/\/\?/, '?'))).toEqual([
      `${list}${query}`,
      `${list}/${latest}`.replace(/\?$/, ''),
    ]);
    expect(log).toEqual([]);
  });

  it('over 8 MiB is requested again at half the size', async () => {
    // 30 releases are 9 MiB.
    const assets = 0.3 * mebibyte;
    forge.publish(...Array.from({ length: 60 }, (_, i) => ({ tag: `v1.${60 - i}.0`, assets })));
    const reading = await checked(forge.address('gitHub'));
    expect(pages()).toEqual([{ per_page: '100' }, { per_page: '50' }, { per_page: '25' }]);
    expect([newest(reading), reading.releases.length, log]).toEqual(['v1.60.0', 25, []]);

    // The next check begins with the successful page size.
    forge.seen.length = 0;
    await reading.check();
    expect(pages()).toEqual([{ per_page: '25' }]);
  });

  it('fails the check if it is too large with a single release', async () => {
    forge.publish({ tag: 'v1.5.0', assets: 9 * mebibyte }, 'v1.4.0');
    const reading = await checked(`${forge.address('gitHub')}?per_page=4`);
    expect(pages().map(({ per_page }) => per_page)).toEqual(['4', '2', '1']);
    expect(reading.failure?.message).toContain('a page is larger than 8 MiB');
  });
});

describe('the newest stable release', () => {
  it('is found if any number of canaries is newer', async () => {
    forge.publish(...canaries(900), 'v1.5.0');
    const reading = await checked(forge.address('gitHub'));
    expect([newest(reading), newest(reading, 'canary')]).toEqual(['v1.5.0', 'v2.0.0-canary.900']);
    expect(forge.seen).toHaveLength(2);
  });

  it('is found on the first five further pages of GitLab, which has no pre-releases', async () => {
    forge.publish(...canaries(550), 'v1.5.0');
    const reading = await checked(forge.address('gitLab'));
    expect(newest(reading)).toBe('v1.5.0');
    expect(pages()).toHaveLength(6);
  });

  it('may have a higher version than the latest release by date', async () => {
    forge.publish('v1.4.9', 'v1.5.0');
    const reading = await checked(forge.address('gitea'));
    expect(newest(reading)).toBe('v1.5.0');
  });

  it.each(paged)('is found on %s even if it is on no page', async (api) => {
    forge.publish('v1.5.0', 'v1.4.0');
    forge.next(json(200, []));
    const reading = await checked(forge.address(api));
    expect(newest(reading)).toBe('v1.5.0');
  });

  it.each([
    ['there is none', json(404, { message: 'Not Found' })],
    ['GitLab shows a guest the list alone', json(403, { message: '403 Forbidden' })],
  ])('is read from the list if the latest release cannot be requested: %s', async (_, reply) => {
    forge.publish('v1.5.0');
    const list = json(200, [{ tag_name: 'v1.5.0', draft: false, prerelease: false }]);
    forge.next(list, reply);
    const reading = await checked(forge.address('gitHub'));
    expect([newest(reading), log]).toEqual(['v1.5.0', []]);
  });

  it.each([
    ['its forge fails', json(502, {}), 'the response has status 502'],
    ['it is too large', text(200, ' '.repeat(8 * mebibyte + 1)), 'its latest release is larger than 8 MiB'],
  ])('fails the check if it cannot be read: %s', async (_, reply, why) => {
    forge.next(json(200, []), reply);
    const reading = await checked(forge.address('gitHub'));
    expect(reading.failure?.message).toContain(`cannot be read: ${why}`);
    expect(forge.seen).toHaveLength(2);
  });
});

describe('further pages', () => {
  it('are read only until a release of the channel is found', async () => {
    channel = 'canary';
    forge.configure({ most: 2 });
    const stable = ['v1.5.0', 'v1.4.0', 'v1.3.0', 'v1.2.0', 'v1.1.0'];
    forge.publish(...stable, 'v1.6.0-canary.1', 'v1.0.0', 'v1.6.0-canary.0');
    const reading = await checked(forge.address('gitHub'));
    expect(newest(reading)).toBe('v1.6.0-canary.1');
    expect(pages().map(({ page }) => page)).toEqual([undefined, '2', '3']);
    channel = 'stable';
    forge.seen.length = 0;
    await reading.check();
    expect(pages()).toHaveLength(1);
  });

  it('are at most five', async () => {
    channel = 'canary';
    forge.configure({ most: 1 });
    forge.publish(...Array.from({ length: 9 }, (_, i) => `v1.${9 - i}.0`), 'v2.0.0-canary.1');
    const reading = await checked(forge.address('gitea'));
    expect(pages().map(({ page }) => page)).toEqual([undefined, '2', '3', '4', '5', '6']);
    expect(newest(reading)).toBeUndefined();
  });

  it('are not read if a page links to an earlier page', async () => {
    channel = 'canary';
    const link = '</repos/acme/svc/releases?per_page=100>; rel="next"';
    forge.next(json(200, [], { link }), json(404, {}));
    await checked(forge.address('gitHub'));
    expect(forge.seen).toHaveLength(2);
  });

  it.each([['gitLab', { rootUrl: 'https://git.example' }]] as const)(
    'of %s with %j are requested at the origin of the first page',
    async (api, settings) => {
      channel = 'canary';
      forge.configure({ most: 1, ...settings });
      forge.publish('v1.5.0', 'v1.4.0', 'v2.0.0-canary.1');
      const reading = feedOf(forge.address(api));
      await reading.check();
      expect(newest(reading)).toBe('v2.0.0-canary.1');
      expect(pages()).toHaveLength(3);
    },
  );

  it('are read after a change to a channel without known releases', async () => {
    forge.configure({ most: 1 });
    forge.publish('v1.5.0', 'v2.0.0-canary.1');
    const reading = feedOf(forge.address('gitHub'));
    // No request before the first check, which reads the releases anyway.
    reading.checkForChannel('canary');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(forge.seen).toHaveLength(0);
    await reading.check();
    reading.checkForChannel('stable');
    expect(newest(reading, 'canary')).toBeUndefined();
    channel = 'canary';
    reading.checkForChannel('canary');
    await reading.check();
    expect(newest(reading)).toBe('v2.0.0-canary.1');
    expect(pages()).toHaveLength(3);
  });
});

describe('an unchanged page', () => {
  it('is not sent again', async () => {
    channel = 'canary';
    forge.configure({ most: 1 });
    forge.publish('v1.5.0', 'v1.4.0', 'v2.0.0-canary.1');
    const reading = await checked(forge.address('gitHub'));
    const { releases } = reading;
    forge.seen.length = 0;
    await reading.check();
    expect(forge.seen.map(({ status }) => status)).toEqual([304, 304, 304, 304]);
    // An identical list shows callers that nothing has changed.
    expect(reading.releases).toBe(releases);

    // Only the last page has changed.
    forge.publish('v1.5.0', 'v1.4.0', 'v2.0.0-canary.2');
    forge.seen.length = 0;
    await reading.check();
    expect(forge.seen.map(({ status }) => status)).toEqual([304, 304, 304, 200]);
    expect(newest(reading)).toBe('v2.0.0-canary.2');
    expect(newest(reading, 'stable')).toBe('v1.5.0');
  });
});
