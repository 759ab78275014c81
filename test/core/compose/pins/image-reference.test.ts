import { describe, expect, it } from 'vitest';
import {
  formatImageReference,
  parseImageReference,
} from '../../../../src/core/compose/pins/image-reference.ts';

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('parseReference', () => {
  it.each<[string, string, string | null, string | null]>([
    ['svc', 'svc', null, null],
    ['svc:v1.2.3', 'svc', 'v1.2.3', null],
    ['ghcr.io/acme/svc:v1.2.3', 'ghcr.io/acme/svc', 'v1.2.3', null],
    ['localhost:5000/svc', 'localhost:5000/svc', null, null],
    ['[::1]:5000/svc:v1', '[::1]:5000/svc', 'v1', null],
    ['svc:5000', 'svc', '5000', null],
    ['svc:5000/app', 'svc:5000/app', null, null],
    [`svc@${digest}`, 'svc', null, digest],
    [`registry:5000/a/b__c.d-e/svc:v1@${digest}`, 'registry:5000/a/b__c.d-e/svc', 'v1', digest],
    [`svc:${'t'.repeat(128)}`, 'svc', 't'.repeat(128), null],
  ])('parses %s', (text, repository, tag, wantedDigest) => {
    const found = parseImageReference(text);
    if (!found) throw new Error('none found');
    expect([found.repository, found.tag, found.digest]).toEqual([repository, tag, wantedDigest]);
    expect(text.slice(found.tagStart, found.tagStart + (tag ?? '').length)).toBe(tag ?? '');
    expect(text.slice(found.digestStart)).toBe(wantedDigest ?? '');
    expect(found.tagStart).toBe(repository.length + (tag === null ? 0 : 1));
  });

  it.each([
    '',
    'svc:',
    ':v1',
    'Svc',
    'acme/Svc:v1',
    'svc:v1:v2',
    'svc@sha256:abc',
    'svc@',
    'svc:.v1',
    `svc:${'t'.repeat(129)}`,
    'svc :v1',
    'svc:v1 ',
    'svc:v1\n',
    'ghcr.io//svc',
    '/svc',
    'svc/',
    'a'.repeat(256),
    'a'.repeat(64),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an unresolved variable
    'svc:${V}',
  ])('rejects "%s"', (text) => {
    expect(parseImageReference(text)).toBeNull();
  });

  it('rejects long invalid texts quickly', () => {
    for (const piece of ['a-', 'a.', 'a/'])
      expect(parseImageReference(`${piece.repeat(50_000)}!`)).toBeNull();
  });

  it.each(['svc', 'HOST/svc:v1', `localhost:5000/a/b-c:v1@${digest}`])(
    'returns a reference that is formatted to the same text: %s',
    (text) => {
      const found = parseImageReference(text);
      expect(found && formatImageReference(found)).toBe(text);
    },
  );
});
