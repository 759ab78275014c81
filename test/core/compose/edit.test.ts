import { describe, expect, it } from 'vitest';
import { applyTextEdits, type TextEdit } from '../../../src/core/compose/edit.ts';

const edit = (start: number, before: string, after: string): TextEdit => ({
  file: '/srv/.env',
  line: 1,
  start,
  end: start + before.length,
  before,
  after,
});

describe('applyEdits', () => {
  it.each<[string, TextEdit[], string]>([
    ['abc', [], 'abc'],
    ['abc', [edit(1, 'b', 'xyz')], 'axyzc'],
    ['abc', [edit(2, 'c', 'z'), edit(0, 'a', '')], 'bz'],
    ['abc', [edit(3, '', 'd'), edit(3, '', 'e'), edit(0, '', '>')], '>abcde'],
    ['abc', [edit(0, 'ab', 'x'), edit(2, 'c', 'y')], 'xy'],
    ['', [edit(0, '', 'x')], 'x'],
  ])('changes %j with the edits %j', (text, edits, after) => {
    expect(applyTextEdits(text, edits)).toBe(after);
  });

  it('rejects edits of a text that was changed after planning', () => {
    const changed = expect.objectContaining({
      code: 'file-changed',
      message: '.env line 1 was changed after the update was planned',
    });
    expect(() => applyTextEdits('abc', [edit(1, 'x', 'y')])).toThrow(changed);
    expect(() => applyTextEdits('ab', [edit(1, 'bc', 'y')])).toThrow(changed);
    expect(() => applyTextEdits('ab', [edit(3, '', 'y')])).toThrow(changed);
  });

  it('rejects overlapping edits', () => {
    expect(() => applyTextEdits('abcd', [edit(0, 'abc', 'x'), edit(2, 'cd', 'y')])).toThrow(RangeError);
  });
});
