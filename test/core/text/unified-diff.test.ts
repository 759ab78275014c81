import { describe, expect, it } from 'vitest';
import { createUnifiedDiff } from '../../../src/core/text/unified-diff.ts';

describe('createUnifiedDiff', () => {
  it('shows a changed line with three lines of context', () => {
    const text = (version: string) => `1\n2\n3\n4\nSVC_VERSION=${version}\n6\n7\n8\n9\n`;
    expect(createUnifiedDiff('.env', text('v1.4.2'), text('v1.5.0'))).toEqual([
      '--- a/.env',
      '+++ b/.env',
      '@@ -2,7 +2,7 @@',
      ' 2',
      ' 3',
      ' 4',
      '-SVC_VERSION=v1.4.2',
      '+SVC_VERSION=v1.5.0',
      ' 6',
      ' 7',
      ' 8',
    ]);
  });

  it.each<[string, string | null, string | null, string[]]>([
    ['nothing', 'a\n', 'a\n', []],
    ['a new file', null, 'a\nb\n', ['--- /dev/null', '+++ b/f', '@@ -0,0 +1,2 @@', '+a', '+b']],
    ['a file that is gone', 'a\n', null, ['--- a/f', '+++ /dev/null', '@@ -1 +0,0 @@', '-a']],
    [
      'no final newline',
      'a',
      'b',
      [
        '--- a/f',
        '+++ b/f',
        '@@ -1 +1 @@',
        '-a',
        '\\ No newline at end of file',
        '+b',
        '\\ No newline at end of file',
      ],
    ],
    ['CRLF', 'a\r\n', 'b\r\n', ['--- a/f', '+++ b/f', '@@ -1 +1 @@', '-a\r', '+b\r']],
  ])('shows %s', (_, before, after, diff) => {
    expect(createUnifiedDiff('f', before, after)).toEqual(diff);
  });

  it('shows no unchanged lines without context, however many lines have changed (docs/contract.md 6.10)', () => {
    const text = (tag: string) =>
      Array.from({ length: 6_000 }, (_, i) => (i % 4 === 0 ? `image: svc:${tag}\n` : `${i}\n`)).join('');
    const diff = createUnifiedDiff('f', text('v1.4.2'), text('v1.5.0'), 0);
    expect(diff).toHaveLength(2 + 1_500 * 3);
    expect(diff.filter((line) => line.startsWith(' '))).toEqual([]);
  });
});
