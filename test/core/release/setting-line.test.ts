// biome-ignore-all lint/suspicious/noTemplateCurlyInString: text that a shell would replace
import { expect, it } from 'vitest';
import { settingLine } from '../../../src/core/release/setting-line.ts';

/** As the package `dotenv` reads a file. */
function read(text: string): Record<string, string> {
  const line =
    /^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$/gm;
  return Object.fromEntries(
    [...text.replace(/\r\n?/g, '\n').matchAll(line)].map(([, name = '', raw = '']) => {
      const value = raw.trim().replace(/^(['"`])([\s\S]*)\1$/gm, '$2');
      return [name, raw.trim().startsWith('"') ? value.replace(/\\n/g, '\n').replace(/\\r/g, '\r') : value];
    }),
  );
}

it.each([
  ['plain', "A='plain'"],
  [' # $HOME "${X}" \\n ', 'A=\' # $HOME "${X}" \\n \''],
  ["it's", 'A="it\'s"'],
  ['it\'s "so"', 'A=`it\'s "so"`'],
  ["it's \\n", "A=`it's \\n`"],
  ['C:\\data\\', 'A=C:\\data\\'],
  // No line can hold these.
  ['# C:\\', null],
  ['\'"`', null],
  ['', null],
  ['two\nlines', null],
  ['a\u0000', null],
  ['\ud800', null],
  ['x'.repeat(4097), null],
])('%j is written as %s', (value, line) => {
  expect(settingLine('A', value)).toBe(line);
  if (line !== null) expect(read(line)).toEqual({ A: value });
});

it('a file of any values is read exactly', () => {
  const pieces = ["'", '"', '`', '\\', '\\n', '#', ' ', '$', '=', 'a', 'ü', '\u2028', '\u00a0', 'B=x'];
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let file = 0; file < 3_000; file += 1) {
    const values = Array.from({ length: 3 }, (_, at) => {
      const value = Array.from({ length: 1 + random(6) }, () => pieces[random(pieces.length)]).join('');
      return [`NAME_${at}`, value] as const;
    }).filter((each) => settingLine(...each) !== null);
    const text = values.map((each) => settingLine(...each)).join('\n');
    expect(read(text), text).toEqual(Object.fromEntries(values));
  }
});
