import assert from 'node:assert/strict';
import fc from 'fast-check';
import { channelOf } from '../../src/core/release/channel.ts';
import { FeedError } from '../../src/feed/feed-error.ts';
import { findNextPageUrl } from '../../src/feed/forge.ts';
import { readFeedPage } from '../../src/feed/read-page.ts';
import { toReleases } from '../../src/feed/to-releases.ts';
import { jsonWords, mutatedJson, mutatedText } from './mutate.ts';
import { attempt, expectPlain, type Target } from './target.ts';

// Responses of feeds (docs/contract.md 8.16): lists of GitHub and GitLab, and a file of the publisher.

const tag = fc.oneof(
  fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)).map((numbers) => `v${numbers.join('.')}`),
  fc.constantFrom('v1.6.0-canary.2', 'v2.0.0-rc.1', 'nightly', 'v1.5.0\n', '__proto__'),
);
const url = fc.constantFrom(
  'https://forge.example/acme/svc/v1.5.0',
  'javascript:alert(1)',
  'http://u:p@x/',
  '//x',
);
const time = fc.constantFrom(
  '2026-11-20T08:30:00Z',
  '2026-11-20',
  '0000-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59-14:00',
);
const gitHub = fc.record({
  ...{ tag_name: tag, draft: fc.boolean(), prerelease: fc.boolean(), html_url: url, published_at: time },
  ...{
    body: fc.string(),
    assets: fc.array(fc.record({ name: fc.string(), browser_download_url: url }), { maxLength: 2 }),
  },
});
const gitLab = fc.record({
  ...{ tag_name: tag, released_at: time, upcoming_release: fc.boolean(), description: fc.string() },
  ...{
    _links: url.map((self) => ({ self })),
    assets: url.map((one) => ({ links: [{ name: 'a', url: one }] })),
  },
});
const own = fc.record({ version: tag, url, notes: fc.string(), publishedAt: time, requires: tag });
const page = fc.oneof(
  fc.array(gitHub, { maxLength: 4 }),
  fc.array(gitLab, { maxLength: 4 }),
  fc.array(own, { maxLength: 4 }).map((releases) => ({ releases })),
);

const isFeedError = (error: Error) => error instanceof FeedError;

function expectReleases(content: unknown): void {
  const releases = attempt(() => toReleases(content, { withAssets: true }), isFeedError);
  if (releases === null) return;
  expectPlain(releases);
  assert.equal(new Set(releases.map(({ version }) => version)).size, releases.length);
  for (const { version, url: address, notes, publishedAt, requires, assets } of releases) {
    assert.ok(channelOf(version) !== null && version.length < 300);
    assert.ok(requires === undefined || (requires !== null && channelOf(requires) !== null));
    assert.ok(address === null || /^https?:\/\/[^\s"<>]{1,20000}$/.test(address));
    assert.ok(notes === null || (notes.length <= 65_536 && notes !== ''));
    assert.ok(publishedAt === null || new Date(publishedAt).toISOString() === publishedAt);
    for (const asset of assets ?? []) assert.deepEqual(Object.keys(asset).sort(), ['name', 'url']);
  }
  // The parsed releases are a valid feed in our own format, which parses to the same releases.
  if (releases.length > 0) assert.deepEqual(toReleases({ releases }, { withAssets: true }), releases);
}

const links = mutatedText(
  fc.constantFrom(
    '<https://feed.example/a?page=2>; rel="next"',
    '</b?page=2>; rel=last, <?page=3>; rel="prev next"',
    '',
  ),
  ['<', '>', ';', ',', 'rel=', '"next"', '//evil.example/', 'http://', '&page=-1', '\\'],
).map((text) => text.replace(/[^\x20-\x7e]/g, '?'));
const lists = [
  'https://feed.example/releases.json',
  'https://feed.example/repos/acme/svc/releases?token=secret',
];

/** A page with its headers, as sent. */
export const feedAnswers: Target<{ text: string; link: string; next: string; list: string; status: number }> =
  {
    name: 'feed-answers',
    share: 60,
    cases: fc.record({
      text: mutatedText(
        mutatedJson(page).map((value) => JSON.stringify(value) ?? ''),
        jsonWords,
      ),
      ...{
        link: links,
        next: fc.constantFrom('', '2', '-1', '99999999999'),
        list: fc.constantFrom(...lists),
      },
      status: fc.constantFrom(200, 200, 200, 304, 404, 500),
    }),
    async check({ text, link, next, list, status }) {
      const asked = new URL(list);
      const headers = { link, 'x-next-page': next, etag: '"1"' };
      const body = status === 304 ? null : text;
      const { fetch } = globalThis;
      globalThis.fetch = async () => new Response(body, { status, headers });
      try {
        const read = await readFeedPage(asked, { url: list }, null, new AbortController().signal);
        assert.ok(read !== null && read.validators['if-none-match'] === '"1"');
        assert.ok(read.next === null || read.next.origin === asked.origin);
        assert.deepEqual(read.content, JSON.parse(new TextDecoder().decode(new TextEncoder().encode(text))));
        expectReleases(read.content);
      } catch (error) {
        if (!(error instanceof FeedError)) throw error;
      } finally {
        globalThis.fetch = fetch;
      }
      findNextPageUrl(new Headers(headers), { asked, answered: asked });
    },
  };
