import { describe, expect, it } from 'vitest';
import {
  type NotesBlock,
  type NotesInline,
  parseReleaseNotes,
  truncateNotesBlocks,
} from '../../src/web/model/parse-release-notes.ts';

/** Formats inline elements for a test, with `<b>`, `<i>`, `<c>` and `<a>`. */
const shown = (pieces: readonly NotesInline[]): string =>
  pieces
    .map((piece) => {
      if (!('inside' in piece)) return piece.kind === 'text' ? piece.text : `<c>${piece.text}</c>`;
      if (piece.kind === 'link') return `<a ${piece.href}>${shown(piece.inside)}</a>`;
      const tag = piece.kind === 'strong' ? 'b' : 'i';
      return `<${tag}>${shown(piece.inside)}</${tag}>`;
    })
    .join('');

const outline = (blocks: readonly NotesBlock[]): string[] =>
  blocks.map((block) => {
    if (block.kind === 'code') return `code ${block.lines.join('\n')}`;
    if (block.kind === 'list')
      return `${block.ordered ? `ol ${block.start}` : 'ul'} ${block.items.map(shown).join(' | ')}`;
    return `${block.kind} ${shown(block.inside)}`;
  });

describe('release notes', () => {
  it.each([
    ['## New\n\n- one\n- two\n\ntext\nmore', ['heading New', 'ul one | two', 'paragraph text more']],
    ['# A #\n### B', ['heading A', 'heading B']],
    ['- one\n  goes on\n- two', ['ul one goes on | two']],
    ['```js\n<b> - # `x`\n```\nafter', ['code <b> - # `x`', 'paragraph after']],
    ['---\n\n***', []],
    ['<img src=x onerror=alert(1)>', ['paragraph <img src=x onerror=alert(1)>']],
    ['#hash', ['paragraph #hash']],
    ['', []],
  ])('are split into blocks: %j', (markdown, blocks) => {
    expect(outline(parseReleaseNotes(markdown))).toEqual(blocks);
  });

  it.each([
    ['**bold** and *slanted* and _so_ `code`', '<b>bold</b> and <i>slanted</i> and <i>so</i> <c>code</c>'],
    ['snake_case_name 2 * 3 * 4 **open', 'snake_case_name 2 * 3 * 4 **open'],
    ['`a ** b` ``c ` d``', '<c>a ** b</c> <c>c ` d</c>'],
    ['[svc](https://x.org/a_b)', '<a https://x.org/a_b>svc</a>'],
    ['[a [b](https://x.org)', '[a <a https://x.org/>b</a>'],
    [
      'see https://x.org/a, or (https://y.org).',
      'see <a https://x.org/a>https://x.org/a</a>, or (<a https://y.org/>https://y.org</a>).',
    ],
    [
      '[x](http://x.org) [x](javascript:alert) [x](//x.org)',
      '[x](http://x.org) [x](javascript:alert) [x](//x.org)',
    ],
    ['![image](https://x.org/a.png)', '![image](https://x.org/a.png)'],
    ['[https://x.org](https://y.org)', '<a https://y.org/>https://x.org</a>'],
    ['\\*not\\* \\`code\\`', '*not* `code`'],
    ['<b>html</b>', '<b>html</b>'],
    ['[svc](https://github.com@evil.org/a)', '[svc](https://github.com@evil.org/a)'],
    ['at https://github.com:x@evil.org/a', 'at https://github.com:x@evil.org/a'],
  ])('contain inline elements: %j', (line, text) => {
    expect(outline(parseReleaseNotes(line))).toEqual([`paragraph ${text}`]);
  });

  it('are truncated after a given number of lines', () => {
    const list = parseReleaseNotes(Array.from({ length: 20 }, (_, at) => `- ${at}`).join('\n'));
    expect(outline(truncateNotesBlocks(list, 3) ?? [])).toEqual(['ul 0 | 1 | 2']);
    expect(truncateNotesBlocks(list, 20)).toBeNull();
    expect(outline(truncateNotesBlocks(parseReleaseNotes('# a\nb\n\nc'), 2) ?? [])).toEqual([
      'heading a',
      'paragraph b',
    ]);
    expect(outline(truncateNotesBlocks(parseReleaseNotes('```\n1\n2\n3\n```'), 2) ?? [])).toEqual([
      'code 1\n2',
    ]);
    expect(truncateNotesBlocks(parseReleaseNotes('word '.repeat(60)), 2)).toBeNull();
  });
});
