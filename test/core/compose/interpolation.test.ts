// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import {
  type ComposeVariableLookup,
  findUnsetRequiredVariables,
  interpolate,
} from '../../../src/core/compose/interpolation.ts';
import { createSourceMappedText, splitIntoSourceSegments } from '../../../src/core/compose/source-map.ts';

const values: Record<string, string> = { A: 'va', B: 'vb', EMPTY: '', _x9: 'vx' };
const lookup: ComposeVariableLookup = (name) => {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  return value === undefined
    ? null
    : createSourceMappedText(value, '.env', 100, { via: 'variable', variable: name });
};
const resolve = (text: string) =>
  interpolate(createSourceMappedText(text, 'compose.yaml', 0, { via: 'text' }), lookup, 'here');

describe('interpolate', () => {
  // test/slow/env-file.test.ts checks the same results with compose 2.26.1 and 2.40.3.
  it.each([
    ['plain', 'plain'],
    ['$A', 'va'],
    ['x${A}y', 'xvay'],
    ['$_x9.', 'vx.'],
    ['$NONE', ''],
    ['${NONE}', ''],
    ['${A-d}', 'va'],
    ['${NONE-d}', 'd'],
    ['${EMPTY-d}', ''],
    ['${A:-d}', 'va'],
    ['${NONE:-d}', 'd'],
    ['${EMPTY:-d}', 'd'],
    ['${A?e}', 'va'],
    ['${EMPTY?e}', ''],
    ['${A:?e}', 'va'],
    // Compose 5.0.2 and later do not evaluate an unused default; older versions reject these texts.
    ['${A:-${NONE?why}}', 'va'],
    ['${EMPTY:+${NONE?why}}', ''],
    ['${A?${1}}', 'va'],
    ['${A+alt}', 'alt'],
    ['${NONE+alt}', ''],
    ['${A:+alt}', 'alt'],
    ['${EMPTY:+alt}', ''],
    ['${NONE:-${B}}', 'vb'],
    ['${NONE:-x${NONE:-y}z}', 'xyz'],
    ['${A:+:$B}', ':vb'],
    ['${NONE:-{a}}', '{a}'],
    ['${NONE:-a}b}', 'ab}'],
    ['${NONE:-a-b:?c}', 'a-b:?c'],
    ['$$A', '$A'],
    ['$$$A', '$va'],
    ['${NONE:-$$x}', '$x'],
    ['$1 $ $', '$1 $ $'],
    ['', ''],
    ['${A:-{}', 'va'],
    ['${NONE:-{}', '{'],
    ['${NONE:-{}}x}', '{}}x'],
    ['${NONE:-a}\n}', 'a\n}'],
    ['$\u017f${\u212a:-k}', 'k'],
  ])('resolves %s to %s', (text, expected) => {
    expect(resolve(text).text).toBe(expected);
  });

  it.each([
    ['${NONE:?set it}', 'here: NONE is required but not set: set it'],
    ['${EMPTY:?}', 'here: EMPTY is required but not set'],
    ['${NONE?}', 'here: NONE is required but not set'],
    ['${NONE:-${ALSO?why}}', 'here: ALSO is required but not set: why'],
    ['${A', 'here: ${A is not a valid substitution'],
    ['${1}', 'here: ${1} is not a valid substitution'],
    ['${A!x}', 'here: ${A!x} is not a valid substitution'],
    ['${NONE:-a\nb}', 'here: ${NONE:-a\nb} is not a valid substitution'],
    // Compose also resolves the unused branch.
    ['${NONE:-'.repeat(200) + '}'.repeat(200), 'here: variables are nested more than 100 levels deep'],
  ])('rejects %s', (text, message) => {
    expect(() => resolve(text)).toThrow(expect.objectContaining({ code: 'compose-invalid', message }));
  });

  it('lists the unset variables that resolve to an empty text', () => {
    expect(resolve('$NONE${ALSO}${A}${B:-$NOT}${FINE:-}').unset).toEqual(['NONE', 'ALSO']);
  });

  const parts = (text: string) => {
    const resolved = resolve(text);
    return splitIntoSourceSegments(resolved, 0, resolved.text.length).map(
      ({ text: part, via, variable, source, start, end }) =>
        [part, via, variable, source, start, end].join(' '),
    );
  };

  it.each([
    ['svc:${A}', ['svc: text  compose.yaml 0 4', 'va variable A .env 100 102']],
    [
      'svc:${NONE:-v1}-x',
      ['svc: text  compose.yaml 0 4', 'v1 default NONE compose.yaml 12 14', '-x text  compose.yaml 15 17'],
    ],
    ['${NONE:-${ALSO-v1}}', ['v1 default ALSO compose.yaml 15 17']],
    ['${NONE:-${A}b}', ['va variable A .env 100 102', 'b default NONE compose.yaml 12 13']],
    ['a$$b', ['a$b text  compose.yaml 0 4']],
    ['a${NONE}b', ['a text  compose.yaml 0 1', 'b text  compose.yaml 8 9']],
  ])('maps the parts of %s to their sources', (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });
});

describe('findUnsetRequiredVariables', () => {
  const setTo = (name: string) => values[name] ?? null;

  it.each<[string, string[]]>([
    ['${X} ${X:-d} ${X:+d}', []],
    ['${A:?} ${EMPTY?}', []],
    ['${X?} ${Y:?why} ${EMPTY:?}', ['X', 'Y', 'EMPTY']],
    ['$${X:?} $$${Y:?}', ['Y']],
    ['# ${ \n${X:?of\n several lines}', ['X']],
    // Compose before 5.0.2 also evaluates the unused branch.
    ['${A:-${X:?}} ${NONE:+${Y?}}', ['X', 'Y']],
  ])('finds the unset variables without which compose rejects %s: %j', (text, expected) =>
    expect(findUnsetRequiredVariables(text, setTo)).toEqual(expected),
  );
});
