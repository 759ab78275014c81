// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import { applyTextEdits } from '../../../src/core/compose/edit.ts';
import { createVariableEdit, parseEnvAssignments } from '../../../src/core/compose/env-file.ts';
import { lineNumberOf } from '../../../src/core/compose/project-files.ts';
import { createSourceMappedText, splitIntoSourceSegments } from '../../../src/core/compose/source-map.ts';
import { createVariableLookup } from '../../../src/core/compose/variables.ts';

const file = (text: string, path = '/srv/svc/.env') => ({ path, text });
const project = (text: string) => ({ envFiles: [file(text)], newEnvFile: '/srv/svc/.env' });
const value = (text: string, key: string) => createVariableLookup([file(text)])(key)?.text ?? null;
const set = (text: string, key = 'V', to = 'v2') => {
  const edit = createVariableEdit(project(text), key, to);
  return { after: applyTextEdits(text, [edit]), line: edit.line };
};

describe('the parser of env files', () => {
  // test/slow/env-file.test.ts checks the same results with compose 2.26.1 and 2.40.3.
  it.each([
    ['A=v1', 'A', 'v1'],
    ['export B = v2 ', 'B', 'v2'],
    ['C: v3', 'C', 'v3'],
    ['D="v4" # c', 'D', 'v4'],
    ['E=v5 # c', 'E', 'v5'],
    ['G=#x', 'G', '#x'],
    ['G= # c', 'G', '# c'],
    ['T=x\t# tab', 'T', 'x\t# tab'],
    ['A=v1\nH="multi\nline $A"\nZ=z', 'H', 'multi\nline v1'],
    ['A=v1\nH="multi\nline $A"\nZ=z', 'Z', 'z'],
    ["A=v1\nI='raw $A'", 'I', 'raw $A'],
    ['A=v1\nJ=${A}-x', 'J', 'v1-x'],
    ['K=$Q', 'K', ''],
    ['L=`x`', 'L', '`x`'],
    ['M="tab\\tq\\"d\\$A"', 'M', 'tab\tq"d$A'],
    ['M="a\\\\b\\x"', 'M', 'a\\b\\x'],
    ['M="\\0101\\c"', 'M', 'A\\c'],
    ['N=un\\tq', 'N', 'un\\tq'],
    ["N='a\\'b'", 'N', "a'b"],
    ['P= ', 'P', ''],
    ['export R', 'R', null],
    ['R', 'R', null],
    ['  U=lead', 'U', 'lead'],
    ['V=v1\r\nW=v2\r\n', 'V', 'v1'],
    ['\ufeffV=v1', 'V', 'v1'],
    ['V=v1\nV=v2', 'V', 'v2'],
    ['V=v1\nW=$V\nV=v2', 'W', 'v1'],
    ['W=$V\nV=v2', 'W', ''],
    ['E="pre"post=1', 'E', 'pre'],
    ['E="pre"post=1', 'post', '1'],
    ['E=$$x', 'E', '$x'],
    ['', 'V', null],
    ['M="\\0\\01\\012\\0128\\0777"', 'M', '\\\\1\\12\\128\\777'],
    ['export\n# c\nA=1', 'A', '1'],
    ['export\u00a0A=1\nA=2', 'A', '2'],
    ['A=1\nmy key', 'A', '1'],
    ['A=x\u0085\u2003\u00a0', 'A', 'x'],
    ['A=\u2003x', 'A', '\u2003x'],
    ['\u2003A\u0085=x', 'A', 'x'],
    ['\u017f=1\nA=$\u017f', 'A', '1'],
    ['A="x\r\ny"\r\n', 'A', 'x\r\ny'],
    ['A="${Q:-{}"', 'A', '{'],
  ])('parses %j like compose: %s is %j', (text, key, expected) => {
    expect(value(text, key)).toBe(expected);
  });

  it.each([
    ['A=1\nB!=2', '.env line 2: unexpected "!" in a variable name'],
    ['A=1\n\n# x\nmy key=2', '.env line 4: a variable name contains a space'],
    ['A=1\nB="open\nC=3', '.env line 2: a quoted value has no closing quote'],
    ['A="x" "y', '.env line 1: unexpected "\\"" in a variable name'],
    ['A=1\n\ufeffB=1', '.env line 2: unexpected "\ufeff" in a variable name'],
    ['A=1\nexport  ', '.env line 2: there is no variable name after export'],
  ])('rejects the whole file like compose: %j', (text, message) => {
    expect(() => parseEnvAssignments({ path: '/srv/svc/.env', text })).toThrow(
      expect.objectContaining({ code: 'compose-invalid', message }),
    );
  });

  it('returns the position of each value', () => {
    const text = '\ufeffA=1\r\n# c\r\n\r\nexport B = "two" # c\r\nC:\'\'\r\nD=x # y';
    const file = { path: '/srv/svc/.env', text };
    const found = parseEnvAssignments(file).map(({ key, start, end, quote }) => [
      key,
      lineNumberOf(file, start),
      text.slice(start, end),
      quote,
    ]);
    expect(found).toEqual([
      ['A', 1, '1', ''],
      ['B', 4, 'two', '"'],
      ['C', 5, '', "'"],
      ['D', 6, 'x', ''],
    ]);
  });

  it('uses the last file that sets a variable, and resolves a reference from the lines above it', () => {
    const lookup = createVariableLookup([
      file('A=first\nX=$A', 'a.env'),
      file('W=$A\nA=second\nA\nY=$A\nZ=$X\nN=1', 'b.env'),
    ]);
    expect(['A', 'W', 'X', 'Y', 'Z', 'N', 'M'].map((key) => lookup(key)?.text ?? null)).toEqual([
      'second',
      'first',
      'first',
      'second',
      'first',
      '1',
      null,
    ]);
  });

  it('limits the length of a chain of variables', () => {
    const chain = (length: number) =>
      Array.from({ length }, (_, i) => (i === 0 ? 'V0=x' : `V${i}=$V${i - 1}`)).join('\n');
    expect(value(chain(200), 'V199')).toBe('x');
    expect(() => value(chain(2000), 'V1999')).toThrow(
      expect.objectContaining({
        code: 'compose-invalid',
        message: '.env line 1800: variables refer to one another more than 200 levels deep',
      }),
    );
  });

  it('prefers values from outside the files, which have no position', () => {
    const given = createSourceMappedText('given', '', -1, { via: 'variable', variable: 'A' });
    const found = createVariableLookup([file('A=1\nB=$A')], (name) => (name === 'A' ? given : null));
    expect(found('A')).toMatchObject({ text: 'given', origins: [{ offset: -1 }, {}, {}, {}, {}] });
    expect(found('B')?.text).toBe('given');
  });

  it('maps the characters of a value to their positions in the file', () => {
    const text = 'A=v1\nB="x\\t${A}\\$\\"" # c';
    const found = createVariableLookup([file(text)])('B');
    if (!found) throw new Error('not found');
    expect(found.text).toBe('x\tv1$"');
    expect(
      splitIntoSourceSegments(found, 0, found.text.length).map(({ start, end, variable }) => [
        variable,
        text.slice(start, end),
      ]),
    ).toEqual([
      ['B', 'x\\t'],
      ['A', 'v1'],
      ['B', '\\$\\"'],
    ]);
  });

  it('resolves exponentially nested references quickly, and limits the length of a value', () => {
    const text = Array.from({ length: 60 }, (_, i) =>
      i === 0 ? 'V0=x' : `V${i}=\${V${i - 1}:+}\${V${i - 1}}`,
    ).join('\n');
    expect(value(text, 'V59')).toBe('x');
    expect(() => value(text.replaceAll(':+}', '}'), 'V59')).toThrow(/is longer than 100000 characters/);
  });
});

describe('createVariableEdit', () => {
  it.each([
    ['V=v1', 'V=v2', 1],
    ['A=1\nV=v1\nB=2\n', 'A=1\nV=v2\nB=2\n', 2],
    ['V=v1\nV=v0\n', 'V=v1\nV=v2\n', 2],
    ['export V = v1 # c\r\n', 'export V = v2 # c\r\n', 1],
    ['V="v1" # c', 'V="v2" # c', 1],
    ['V: v1', 'V: v2', 1],
    ['V=', 'V=v2', 1],
    ['V=a$B', 'V=v2', 1],
    ['VV=1\n#V=1\n', 'VV=1\n#V=1\nV=v2\n', 3],
    ['', 'V=v2\n', 1],
    ['\ufeff', '\ufeffV=v2\n', 1],
    ['A=1\r\nB=2', 'A=1\r\nB=2\r\nV=v2\r\n', 3],
    ['A=1\r\n', 'A=1\r\nV=v2\r\n', 2],
    ['V', 'V\nV=v2\n', 2],
    ['A=1 # ends in a comment', 'A=1 # ends in a comment\nV=v2\n', 2],
  ])('changes %j to %j', (text, after, line) => {
    expect(set(text)).toEqual({ after, line });
    expect(value(after, 'V')).toBe('v2');
    expect(set(after).after).toBe(after);
  });

  // compose 2.26.1 and 5.4.0 read these texts identically in the env files of a project and of a service.
  it.each([
    ['a b', '', "V='a b'\n"],
    ['a$b ${C} # d "e" `f` \\n', 'V=1 # c', 'V=\'a$b ${C} # d "e" `f` \\n\' # c'],
    ["it's", 'V="1" # c', 'V="it\'s" # c'],
    ['\'$A\\n"`', "V='1'", 'V="\'\\$A\\\\n\\"`"'],
    ['ends in \\', 'V=', 'V="ends in \\\\"'],
    [' \u2028é', 'A=1', "A=1\nV=' \u2028é'\n"],
  ])('writes %j so that compose reads exactly this value', (wanted, text, after) => {
    expect(set(text, 'V', wanted).after).toBe(after);
    expect(value(after, 'V')).toBe(wanted);
  });
});
