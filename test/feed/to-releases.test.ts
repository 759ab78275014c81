import { describe, expect, it } from 'vitest';
import { assetsOf, toReleases } from '../../src/feed/to-releases.ts';

const gitHub = (tag_name: unknown, more: object = {}) => ({
  tag_name,
  draft: false,
  prerelease: false,
  html_url: 'https://forge.example/acme/svc/releases/tag/v1.5.0',
  body: '- faster',
  published_at: '2026-11-20T08:30:00Z',
  ...more,
});
const gitLab = (tag_name: unknown, more: object = {}) => ({
  tag_name,
  description: '- faster',
  released_at: '2026-11-20T08:30:00.123Z',
  upcoming_release: false,
  _links: { self: 'https://forge.example/acme/svc/-/releases/v1.5.0' },
  ...more,
});
const versions = (page: unknown) => toReleases(page).map(({ version }) => version);

describe('toReleases', () => {
  it('reads the format of each forge and of a static file', () => {
    const notes = '- faster';
    expect(toReleases([gitHub('v1.5.0')])).toEqual([
      {
        version: 'v1.5.0',
        url: 'https://forge.example/acme/svc/releases/tag/v1.5.0',
        notes,
        publishedAt: '2026-11-20T08:30:00.000Z',
      },
    ]);
    expect(toReleases([gitLab('v1.5.0')])).toEqual([
      {
        version: 'v1.5.0',
        url: 'https://forge.example/acme/svc/-/releases/v1.5.0',
        notes,
        publishedAt: '2026-11-20T08:30:00.123Z',
      },
    ]);
    const release = { version: 'v1.5.0', url: 'https://svc.example/v1.5.0', notes };
    expect(toReleases({ releases: [{ ...release, publishedAt: '2026-11-20' }] })).toEqual([
      { ...release, publishedAt: '2026-11-20T00:00:00.000Z' },
    ]);
    expect(toReleases({ releases: [{ version: 'v1.5.0' }], generator: 'make' })).toEqual([
      { version: 'v1.5.0', url: null, notes: null, publishedAt: null },
    ]);
  });

  it.each<[string, unknown, string[]]>([
    ['a draft', gitHub('v1.5.0', { draft: true }), []],
    ['a stable tag that its publisher calls a pre-release', gitHub('v1.5.0', { prerelease: true }), []],
    ['a release to come', gitLab('v1.5.0', { upcoming_release: true }), []],
    [
      'a GitLab that does not know of those yet',
      gitLab('v1.5.0', { upcoming_release: undefined }),
      ['v1.5.0'],
    ],
    ['a variant', gitHub('v1.5.0-alpine'), []],
    ['a line end after it', gitHub('v1.5.0\n'), []],
    ['numbers that no machine compares', gitHub(`v1.5.${'9'.repeat(30)}`), []],
  ])('lists only published releases: %s', (_, entry, expected) => {
    expect(versions([entry])).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ['no tag', gitHub(undefined)],
    // If it were parsed as an entry of GitLab, the draft would be available as an update.
    ['a draft that is a word', gitHub('v1.5.0', { draft: 'true' })],
    ['no word about drafts', gitHub('v1.5.0', { draft: undefined })],
  ])('omits a release that cannot be parsed: %s', (_, entry) => {
    expect(versions([entry, gitHub('v1.4.0'), entry])).toEqual(['v1.4.0']);
  });

  it.each<[string, unknown]>([
    ['an error of a forge', { message: 'Not Found', documentation_url: 'https://docs.example' }],
    ['releases that are no list', { releases: { 'v1.5.0': {} } }],
  ])('rejects a response that is not a list of releases: %s', (_, page) => {
    expect(() => toReleases(page)).toThrow('the response is not a list of releases');
  });

  it('rejects a list of more than 5000 releases', () => {
    const many = (count: number) => ({
      releases: Array.from({ length: count }, () => ({ version: 'v1.5.0' })),
    });
    expect(toReleases(many(5000))).toHaveLength(1);
    expect(() => toReleases(many(5001))).toThrow('it lists more than 5000 releases');
  });

  it('uses the first entry of each tag', () => {
    const page = [
      gitHub('v1.5.0', { draft: true, body: 'a draft' }),
      gitHub('v1.5.0', { body: 'first' }),
      gitHub('v1.5.0', { body: 'another' }),
    ];
    expect(toReleases(page).map(({ notes }) => notes)).toEqual(['first']);
  });

  it.each<[unknown, string | null]>([
    ['https://svc.example/v1.5.0?a=b#c', 'https://svc.example/v1.5.0?a=b#c'],
    ['https://svc.example/"><script>', 'https://svc.example/%22%3E%3Cscript%3E'],
    ['javascript:alert(1)', null],
    [' \u0001java\nscript:alert(1)', null],
    [`https://svc.example/${'x'.repeat(3000)}`, null],
  ])('reads the page address %j as %j', (url, expected) => {
    expect(toReleases({ releases: [{ version: 'v1.5.0', url }] })[0]?.url).toBe(expected);
  });

  it.each<[unknown, string | null]>([
    ['2026-11-20T08:30:00.5+05:30', '2026-11-20T03:00:00.500Z'],
    // A time without a zone is ambiguous.
    ['2026-11-20T08:30:00', null],
    ['0000-01-01T00:00:00+14:00', null],
    [null, null],
  ])('reads the time %j as %j', (publishedAt, expected) => {
    expect(toReleases({ releases: [{ version: 'v1.5.0', publishedAt }] })[0]?.publishedAt).toBe(expected);
  });

  it.each<[unknown, string | undefined]>([
    ['v1.5.0', 'v1.5.0'],
    ['v1.6.0-canary.3', 'v1.6.0-canary.3'],
    [null, undefined],
  ])('reads requires %j of a static file as %j', (requires, expected) => {
    expect(toReleases({ releases: [{ version: 'v2.0.0', requires }] })[0]?.requires).toBe(expected);
  });

  it('ignores requires from a forge', () => {
    expect(toReleases([gitHub('v2.0.0', { requires: 'v1.5.0' })])[0]).not.toHaveProperty('requires');
  });

  it('truncates long notes without splitting a character', () => {
    const notesOf = (body: string | null) => toReleases([gitHub('v1.5.0', { body })])[0]?.notes;
    expect(notesOf('x'.repeat(65_537))).toBe('x'.repeat(65_536));
    expect(notesOf(`${'x'.repeat(65_535)}😀`)).toBe('x'.repeat(65_535));
    expect(notesOf('')).toBeNull();
    expect(notesOf(null)).toBeNull();
  });
});

const asset = { name: 'svc.mjs', url: 'https://forge.example/svc.mjs' };
const attached = { name: asset.name, browser_download_url: asset.url };

describe('assetsOf', () => {
  it.each<[string, unknown, unknown[]]>([
    ["a forge's list", [{ id: 1, ...attached, size: 7 }], [asset]],
    ["GitLab's links", { count: 1, sources: [], links: [{ id: 1, ...asset, link_type: 'other' }] }, [asset]],
    // In some versions of Gitea, `url` is an address of its API.
    ['both addresses', [{ ...attached, url: 'https://forge.example/api/7' }], [asset]],
    ['nothing', undefined, []],
    ['some that do not parse', [null, { name: 7, url: '' }, { name: 'x' }, attached, []], [asset]],
  ])('reads %s', (_, value, expected) => {
    expect(assetsOf(value)).toEqual(expected);
  });
});
