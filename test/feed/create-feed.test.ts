import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findNewestRelease } from '../../src/core/release/channel.ts';
import { createFeed, type Feed, type LogEntry } from '../../src/feed/create-feed.ts';
import { type Api, type Forge, json, startForge } from './forge.ts';

let forge: Forge;
let feed: Feed | undefined;
const log: LogEntry[] = [];

beforeEach(async () => {
  forge = await startForge();
  log.length = 0;
});
afterEach(async () => {
  feed?.close();
  await forge.close();
  // No test in this file may log anything.
  expect(log).toEqual([]);
});

const feedOf = (url: string, headers?: Record<string, string>) => {
  feed = createFeed({ url, ...(headers && { headers }) }, (entry) => log.push(entry));
  return feed;
};
const versions = ({ releases }: Feed) => releases.map(({ version }) => version);

describe('a feed', () => {
  it.each<Api>(['gitHub', 'gitea', 'gitLab', 'static'])('reads the releases of %s', async (api) => {
    forge.publish(
      { tag: 'v1.5.0', notes: '- faster', publishedAt: '2026-11-21T12:00:00+02:00' },
      'v1.4.2',
      'v1.6.0-canary.2',
    );
    const reading = feedOf(forge.address(api));
    expect([reading.releases, reading.checkedAt]).toEqual([[], null]);
    const before = Date.now();
    await reading.check();
    expect(versions(reading)).toEqual(['v1.5.0', 'v1.4.2', 'v1.6.0-canary.2']);
    expect(reading.releases[0]).toEqual({
      version: 'v1.5.0',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/.*v1\.5\.0$/),
      notes: '- faster',
      publishedAt: '2026-11-21T10:00:00.000Z',
    });
    expect(reading.releases[1]?.notes).toBeNull();
    expect(reading.checkedAt?.getTime()).toBeGreaterThanOrEqual(before);
    expect(forge.seen[0]).toMatchObject({
      headers: { accept: 'application/json', 'user-agent': 'svc-updater' },
      status: 200,
    });
    // The latest release of a forge is requested separately; GitLab redirects that request.
    expect(forge.seen).toHaveLength({ gitHub: 2, gitea: 2, gitLab: 3, static: 1 }[api]);
  });

  it('sends credentials of its address as a header', async () => {
    forge.publish('v1.5.0');
    const url = new URL(forge.address('static'));
    url.username = 'robot';
    url.password = 'p@ss';
    await feedOf(url.href).check();
    expect(forge.seen[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('robot:p@ss').toString('base64')}`,
    );
  });

  it('keeps all releases, but only the notes of the newest releases of each channel', async () => {
    const notes = 'x'.repeat(50);
    const canaries = Array.from({ length: 500 }, (_, i) => ({ tag: `v2.0.0-canary.${i}`, notes }));
    const stable = Array.from({ length: 150 }, (_, i) => ({ tag: `v1.${i}.0`, notes }));
    forge.publish(...canaries, ...stable);
    const reading = feedOf(forge.address('static'));
    await reading.check();
    expect(reading.releases).toHaveLength(650);
    expect(findNewestRelease('stable', reading.releases)).toMatchObject({ version: 'v1.149.0', notes });
    expect(findNewestRelease('canary', reading.releases)).toMatchObject({
      version: 'v2.0.0-canary.499',
      notes,
    });
    expect(reading.releases.filter((release) => release.notes !== null)).toHaveLength(10);
  });
});

describe('a feed with several pages', () => {
  it.each([
    ['after others', '</one>; rel="prev", </three>; rel=last; title="a, b", </two>; title="c"; rel="next"'],
    ['with a login, which fetch would refuse', '<http://a:b@HOST/two>; rel="next"'],
    ['relative', '<two?x=,;>;rel=next'],
  ])('follows the Link header: %s', async (_, link) => {
    const { host } = new URL(forge.origin);
    forge.next(json(200, [], { link: link.replace('HOST', host) }), json(200, []));
    await feedOf(`${forge.origin}/one`).check();
    expect(forge.seen.map(({ path }) => path.replace(/\?.*/, ''))).toEqual(['/one', '/two']);
  });

  it('ignores pages of another origin', async () => {
    const other = await startForge();
    try {
      other.publish('v9.0.0');
      forge.next(
        json(
          200,
          { releases: [{ version: 'v1.5.0' }] },
          { link: `<${other.address('static')}>; rel="next"` },
        ),
      );
      const reading = feedOf(forge.address('static'), { 'private-token': 'secret' });
      await reading.check();
      expect(versions(reading)).toEqual(['v1.5.0']);
      expect(other.seen).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe('an unchanged response', () => {
  it.each<[Api, string]>([
    ['gitHub', 'if-none-match'],
    ['static', 'if-modified-since'],
  ])('is not sent again: %s', async (api, condition) => {
    let checks = 0;
    const reading = createFeed({ url: forge.address(api) }, (entry) => log.push(entry), {
      onCheck: () => checks++,
    });
    forge.publish('v1.5.0');
    await reading.check();
    const { releases } = reading;
    for (const { headers } of forge.seen.splice(0)) expect(headers).not.toHaveProperty(condition);
    await reading.check();
    expect(forge.seen.map(({ status, bytes }) => [status, bytes])).toEqual(forge.seen.map(() => [304, 0]));
    expect([reading.releases, checks]).toEqual([releases, 2]);
    forge.publish('v1.6.0', 'v1.5.0');
    await reading.check();
    expect(findNewestRelease('stable', reading.releases)?.version).toBe('v1.6.0');
    reading.close();
  });
});

describe('check', () => {
  it('joins a check that is in progress', async () => {
    forge.publish('v1.5.0');
    const reading = feedOf(forge.address('static'));
    await Promise.all([reading.check(), reading.check(), reading.check()]);
    expect(forge.seen).toHaveLength(1);
    await reading.check();
    expect(forge.seen).toHaveLength(2);
  });
});
