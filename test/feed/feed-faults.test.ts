import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createFeed, type Feed, type LogEntry } from '../../src/feed/create-feed.ts';
import { endless, type Forge, json, type Reply, silence, startForge, text } from './forge.ts';

const mebibyte = 1024 * 1024;
const secret = 'Zq7secret';

let forge: Forge;
let feed: Feed | undefined;
const log: LogEntry[] = [];

beforeEach(async () => {
  forge = await startForge();
  log.length = 0;
});
afterEach(async () => {
  vi.useRealTimers();
  feed?.close();
  await forge.close();
  expect(
    JSON.stringify(log, (_, value) => (value instanceof Error ? [value.message, value.stack] : value)),
  ).not.toContain(secret);
});

const feedOf = (url: string, headers: Record<string, string> = { authorization: `Bearer ${secret}` }) => {
  feed = createFeed({ url, headers }, (entry) => log.push(entry));
  return feed;
};
const versions = ({ releases }: Feed) => releases.map(({ version }) => version);
const messages = () =>
  log.map(({ level, message }) => `${level}: ${message.replace(/127\.0\.0\.1:\d+/, 'HOST')}`);
const warning = (why: string) =>
  `warn: the releases at HOST cannot be read: ${why}. The releases from the last successful check remain available.`;
const good = 'info: the releases at HOST can be read again';

/** Waits for a condition; works with fake timers, too. */
async function until(done: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!done()) {
    if (performance.now() > end) throw new Error('it did not happen');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const cut = '[{"tag_name":"v9.0.0","draft":false,"prere';
const bomb = gzipSync(Buffer.alloc(32 * mebibyte, ' '));

describe('an invalid response', () => {
  it.each<[string, Reply, string]>([
    [
      'HTML',
      text(200, '<!doctype html><title>Sign in</title>', { 'content-type': 'text/html' }),
      'the response is not valid JSON',
    ],
    ['another shape', json(200, { message: secret }), 'the response is not a list of releases'],
    [
      'a connection cut in the body',
      (_, response) => {
        response.writeHead(200, { 'content-length': '5000' });
        response.write(cut, () => response.destroy());
      },
      'other side closed',
    ],
    ['an endless page', endless(), 'a page is larger than 8 MiB'],
    [
      'a page that unpacks to 32 MiB',
      text(200, bomb, { 'content-encoding': 'gzip' }),
      'a page is larger than 8 MiB',
    ],
    [
      'an endless 500',
      (_, response) => {
        response.writeHead(500);
        response.write('x'.repeat(100));
      },
      'the response has status 500',
    ],
    [
      'a redirect to itself',
      (request, response) => {
        forge.next(...Array.from({ length: 6 }, () => text(302, '', { location: request.url ?? '' })));
        response.writeHead(302, { location: request.url }).end();
      },
      'it redirects more than 5 times',
    ],
    [
      'a redirect to a file',
      text(302, '', { location: 'file:///etc/passwd' }),
      'it redirects to an address that is neither http nor https',
    ],
  ])('causes a warning and keeps the releases: %s', async (_, reply, why) => {
    forge.publish('v1.5.0');
    // A static file is one page; a page of a forge would be requested again at a smaller size.
    const reading = feedOf(forge.address(why.includes('8 MiB') ? 'static' : 'gitea'));
    if (why !== 'the response has status 304') await reading.check();
    const { releases, checkedAt } = reading;
    forge.next(reply);
    await reading.check();
    expect(messages()).toEqual([warning(why)]);
    expect([reading.releases, reading.checkedAt]).toEqual([releases, checkedAt]);
    await until(() => forge.seen.every(({ status }) => status > 0));
    // The rest was not read.
    expect(Math.max(...forge.seen.map(({ bytes }) => bytes))).toBeLessThan(20 * mebibyte);
  });

  it('never causes a token to be logged', async () => {
    await feedOf(`${forge.origin}/${secret}?access_token=${secret}`).check();
    await feedOf(forge.origin.replace('//', `//robot:${secret}@`)).check();
    await feedOf(forge.origin, { authorization: `Bearer ${secret}\nx` }).check();
    await feedOf(forge.origin.replace('//', `//robot:%zz${secret}@`)).check();
    expect(messages()).toEqual([
      warning('the response has status 404'),
      warning('the response has status 404'),
      warning('the configured headers or credentials contain invalid characters'),
      warning('the configured headers or credentials contain invalid characters'),
    ]);
  });
});

describe('a failed page', () => {
  it('fails the check and is discarded completely', async () => {
    forge.publish({ tag: 'v1.6.0-canary.1', prerelease: true }, 'v1.4.0');
    const reading = feedOf(`${forge.address('gitHub')}?per_page=1`);
    await reading.check();
    forge.publish(
      { tag: 'v1.6.0-canary.2', prerelease: true },
      { tag: 'v1.5.0', prerelease: true },
      'v1.4.0',
    );
    const link = `<${forge.address('gitHub')}?per_page=1&page=2>; rel="next"`;
    forge.next(
      json(200, [{ tag_name: 'v1.6.0-canary.2', draft: false, prerelease: true }], { link, etag: '"new"' }),
      json(404, {}),
      json(502, {}),
    );
    await reading.check();
    expect(versions(reading)).toEqual(['v1.4.0', 'v1.6.0-canary.1']);
    expect(messages()).toEqual([warning('the response has status 502')]);
    // The ETag of a discarded response must not be used, because it would hide the new releases permanently.
    const before = forge.seen.length;
    await reading.check();
    expect(versions(reading)).toEqual(['v1.4.0', 'v1.6.0-canary.2']);
    expect(forge.seen[before]?.headers['if-none-match']).toMatch(/^W/);
  });
});

it('a feed logs only the first failure of a series and the recovery', async () => {
  forge.publish('v1.5.0');
  const reading = feedOf(forge.address('static'));
  forge.next(json(500, {}), json(404, {}));
  for (let check = 0; check < 4; check++) await reading.check();
  forge.next(json(403, {}));
  await reading.check();
  expect(messages()).toEqual([
    warning('the response has status 500'),
    good,
    warning('the response has status 403'),
  ]);
});

describe('an unanswered check', () => {
  it.each<[string, readonly Reply[]]>([
    ['a redirect and no answer', [text(302, '', { location: '/elsewhere' }), silence]],
    [
      'a body that stops',
      [(_, response) => response.writeHead(200, { 'content-type': 'application/json' }).write('[')],
    ],
  ])('times out after 10 s: %s', async (_, replies) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    forge.next(...replies);
    const reading = feedOf(forge.origin);
    let ended = false;
    const checking = reading.check().then(() => {
      ended = true;
    });
    await until(() => forge.seen.length === replies.length);
    await vi.advanceTimersByTimeAsync(9_900);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    await checking;
    expect(messages()).toEqual([warning('no complete response within 10 s')]);
    await until(() => forge.seen.at(-1)?.dropped === true);
  });

  it('has its connection closed when the feed is closed', async () => {
    forge.next(silence);
    const reading = feedOf(forge.origin);
    const checking = reading.check();
    await until(() => forge.seen.length === 1);
    reading.close();
    await checking;
    await until(() => forge.seen[0]?.dropped === true);
    expect([log, reading.checkedAt]).toEqual([[], null]);
  });
});

describe('a redirect', () => {
  const tokens = { authorization: `Bearer ${secret}`, 'private-token': secret, cookie: `session=${secret}` };

  it('is followed on the same origin with the configured headers', async () => {
    forge.publish('v1.5.0');
    forge.next(text(301, '', { location: new URL(forge.address('gitHub')).pathname }));
    const reading = feedOf(`${forge.origin}/repos/acme/old-name/releases`, tokens);
    await reading.check();
    expect(versions(reading)).toEqual(['v1.5.0']);
    expect(forge.seen[1]?.headers).toMatchObject(tokens);
  });

  it('is followed to another origin without tokens', async () => {
    const other = await startForge();
    try {
      other.publish({ tag: 'v1.6.0-canary.1', prerelease: true }, 'v1.4.0');
      const { host } = new URL(other.origin);
      const location = `//robot:${secret}@${host}/repos/acme/svc/releases?per_page=1`;
      forge.next(text(302, '', { location }));
      const reading = feedOf(forge.origin.replace('//', `//robot:${secret}@`), tokens);
      await reading.check();
      expect(versions(reading)).toEqual(['v1.4.0', 'v1.6.0-canary.1']);
      expect(other.seen).toHaveLength(2);
      for (const { headers } of other.seen) {
        expect(JSON.stringify(headers)).not.toContain(secret);
        expect(headers).toMatchObject({ accept: 'application/json', 'user-agent': 'svc-updater' });
        expect(headers).not.toHaveProperty('authorization');
      }
    } finally {
      await other.close();
    }
  });
});
