// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import fc from 'fast-check';

// Usual and unusual texts of env files and templates.

const pick = fc.constantFrom;
const joined = (parts: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(parts, { maxLength }).map((list) => list.join(''));
const weighted = (...parts: [number, fc.Arbitrary<string>][]) =>
  fc.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })));
const aName = pick('A', 'B', 'C', 'D', 'V', 'Q');

/** @param odd the share of unusual texts */
const templateWith = (odd: number) =>
  fc.letrec<{ template: string }>((tie) => ({
    template: fc
      .array(
        fc.oneof(
          { maxDepth: 4 },
          { weight: 6, arbitrary: pick('v1', 'x', '1.2', '/', ':', '-', 'sha256:ab', '+', '?', '=', '`') },
          { weight: 3, arbitrary: aName.map((name) => `$${name}`) },
          { weight: 3, arbitrary: aName.map((name) => `\${${name}}`) },
          { weight: 1, arbitrary: pick('$$', '$$A', '$${A}') },
          {
            weight: odd,
            arbitrary: pick(
              ...['{', '}', '{}', '}}', '${', '$', '$1', '${}', '${1}', '${A', '${A!}', '${A B}', '${A:x}'],
              ...[
                '$\u017f',
                '${\u017f:-k}',
                '\n',
                '\r\n',
                '\u2028',
                'é',
                '😀',
                '\u0085',
                '${A::-b}',
                '${A-}',
              ],
            ),
          },
          {
            weight: 6,
            arbitrary: fc
              .tuple(aName, pick('-', ':-', '+', ':+', '?', ':?'), tie('template'))
              .map(([name, sign, rest]) => `\${${name}${sign}${rest}}`),
          },
        ),
        { maxLength: 5 },
      )
      .map((list) => list.join('')),
  })).template;

/** Texts of a compose file that may contain variables. */
export const anyTemplate = weighted([3, templateWith(0)], [2, templateWith(1)], [1, templateWith(5)]);

const blank = pick('', '', '', '', ' ', '\t', '  ', '\u00a0', '\u0085', '\v', '\f', '\r');
const indent = pick('', '', '', '', ' ', '\t', '\n', '\u2003', '\u00a0', '\u3000', '\u2028', '\u0085');

const pieceOfValue = (odd: number) =>
  weighted(
    [8, pick('v1', 'x', '1.2.3', 'a#b', '#x', ' #', ' # c', ' ', '-', '/', ':', '=', '`')],
    [4, pick('$A', '$B', '${A}', '$$', '$$A', '${D:-${A}}', '${Q-a}b}', '${V}', '$V')],
    [3, pick('${Q:-d}', '${B-x}', '${C:+a}', '${Q+a}', '${A:?e}', '${V?e}')],
    [
      2,
      pick('\\', '\\\\', '\\n', '\\t', '\\"', "\\'", '\\$', '\\$A', '\\c', '\\x41', '\\a', '\\v', '\\u0041'),
    ],
    [1, pick('\\0', '\\01', '\\012', '\\0101', '\\0044', '\\08', '\\0777', '\\0128')],
    [odd, pick('"', "'", '\u0085', '\u00a0', '\u2003', '\ufeff', '\u2028', 'é', '😀', '\r', '\t', '\t#')],
    [odd, pick('{', '}', '${', '$', '${A', '!', '\u180e', '\u200b')],
  );

const quoted = (odd: number, quote: string) =>
  joined(weighted([6, pieceOfValue(odd)], [1, pick('\n', '\r\n')]), 4).map((text) => {
    const inner = odd > 1 ? text : text.replace(/\\*$/, '').replaceAll(quote, `\\${quote}`);
    return `${quote}${inner.replaceAll(`\\\\${quote}`, `\\${quote}`)}${quote}`;
  });

const assignment = (odd: number) =>
  fc
    .tuple(
      indent,
      pick('', '', '', 'export ', 'export\t', 'export  '),
      weighted(
        [16, aName],
        [1, pick('X.y', 'ÄÖ', '\u017f', '1x', 'a-b', 'K[0]', 'a\tb', 'a\u00a0b', 'exportA')],
      ),
      blank,
      pick('=', '=', '=', ':'),
      blank,
      weighted(
        [5, joined(pieceOfValue(odd), 4)],
        [3, quoted(odd, '"')],
        [2, quoted(odd, "'")],
        [odd, anyTemplate.map((template) => template.replaceAll('\n', ''))],
      ),
      pick('', '', '', '', ' ', '\t', ' # c', '#c', '\u2003', '\u0085', '\r'),
    )
    .map((parts) => parts.join(''));

const line = (odd: number) =>
  weighted(
    [14, assignment(odd)],
    [2, pick('', '# c', '  # V=1', '#', '\t#x"', "# it's", '\r', ' ')],
    [1, fc.tuple(pick('', 'export '), aName, blank).map((parts) => parts.join(''))],
    [
      odd > 1 ? 1 : 0,
      pick(
        ...[
          'export',
          'export ',
          'export\u00a0A=1',
          'export\vA=1',
          'my key',
          'my key=1',
          'a b',
          '=',
          '=x',
          '"x"',
        ],
        ...["A='open", 'A="open', 'A="x" "y', 'A="x"B=1', "A='x'='y'", '!', '\ufeff', 'K!=1', 'A\u2003=1'],
      ),
    ],
  );

const envFile = (odd: number) =>
  fc
    .tuple(
      pick('', '', odd > 1 ? '\ufeff\ufeff' : '', '\ufeff'),
      fc.array(fc.tuple(line(odd), pick('\n', '\n', '\r\n')), { minLength: 1, maxLength: 6 }),
      fc.boolean(),
    )
    .map(([mark, lines, isEnded]) => {
      const last = lines.length - 1;
      return mark + lines.map(([text, end], i) => text + (i < last || isEnded ? end : '')).join('');
    });

const envFilesWith = (odd: number) =>
  fc.oneof(
    fc.array(envFile(odd), { minLength: 1, maxLength: 1 }),
    fc.array(envFile(odd), { minLength: 2, maxLength: 3 }),
  );

/** Texts of env files, in order. */
export const anyEnvFiles = fc.oneof(envFilesWith(0), envFilesWith(1), envFilesWith(2));
