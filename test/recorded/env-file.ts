// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { parseEnvAssignments } from '../../src/core/compose/env-file.ts';
import { interpolate } from '../../src/core/compose/interpolation.ts';
import { createSourceMappedText } from '../../src/core/compose/source-map.ts';
import { createVariableLookup } from '../../src/core/compose/variables.ts';
import { UpdateError } from '../../src/core/errors/update-error.ts';

/** Contents of env files, in order, and templates by name. */
export interface Question {
  envFiles: readonly string[];
  templates: Readonly<Record<string, string>>;
}

/** Values of the templates; null if compose rejects the files or a template. */
export type Answer = Record<string, string> | null;

export const names = ['A', 'B', 'C', 'D', 'V', 'Q', '\u017f'];
const allNames = Object.fromEntries(names.map((name) => [name, `\${${name}-<unset>}`]));
export const values = (...envFiles: string[]): Question => ({ envFiles, templates: allNames });

export const base = "A=va\nB=vb\nC=\nD='a b'\n";

export const handPicked: readonly Question[] = [
  ...[
    'A=v1\n',
    'export A=v1',
    'export\tA = v1 ',
    'export\nA=v1',
    'export\n# c\nA=v1',
    'export\u00a0A=v1',
    'export\vA=v1',
    'export export A=v1',
    'exportA=1\nA=2',
    'export',
    'export\n',
    'export ',
    'A=1\nexport  ',
    'A: v1',
    'A :\tv1 # c',
    'A=a#b',
    'A=#x',
    'A= # c',
    'A=x\t# c',
    'A=x\u00a0# c',
    'A=x #c',
    'A="x"#c\nB=1',
    'A="pre"B=1',
    'A=\'x\'"y"=1',
    'A="x" "y',
    'A=a"b"',
    'A="open',
    "A='open\nB=1",
    'A="a\nb"\nB=1',
    'A="a\r\nb"\r\nB=1',
    'A=1\r\nB=2\r\n',
    'A=1\nB=2\r\nC=3\nD=4\r\n',
    'A=1\rB=2\n',
    '\ufeffA=1',
    '\ufeff\ufeffA=1',
    'A=1\n\ufeffB=1',
    'A=x\ufeff',
    'A=\ufeffx',
    '\u0085A\u0085=\u0085x\u0085',
    '\u00a0A\u00a0=\u00a0x\u00a0y\u00a0',
    '\u2003A=x\u2003',
    'A\u2003=x',
    'A=\u2003x',
    'A=\u2003 # c',
    'A\u00a0b=x',
    'A\u2028=x',
    '\u2028A=x\u2028B=y',
    '\u180eA=1',
    'A',
    'A\n',
    'my key',
    'my key\n',
    'my key=1',
    'my\tkey=1\nA=1',
    'A!=1',
    '=x\nA=1',
    'A==x',
    'A=1\nB',
    'A=1\nB=${A}\nA=2',
    'B=$A\nA=1',
    'A=1\nA=${A}2\nA=${A}3',
    'A=$$B\nB=$$$A',
    "A='$B'\nB='a\\'b\\\\'",
    'A="\\$B\\"\\t\\\\n\\x41\\u0041\\c"',
    'A="\\0101\\0044Q\\0\\01\\012\\0128\\0777\\0400\\0377"',
    'A="\\0101',
    'A=\\n\\$B',
    'A="${Q:-a\nb}"',
    'A=${Q:-a',
    'A=${Q:-"a b"} # c',
    'A=${Q:-a #b}',
    'A=${1}',
    'A=${B?no}',
    'A=${A:-${B:?no}}',
    'A=1\nB=${A:-${Q?no}}',
    "A='${1}'",
    'A=${Q?}',
    'A=\nB=${A:?no}',
    '\u017f=1\nA=$\u017f$\u212a',
    'A.b-c[0]=1\nB=$A.b',
    '1A=1\nA=$1A',
    'A=é😀$Q😀',
    '',
  ].map((text) => values(text)),
  values('A=1\nB=$A', 'A=2\nC=$A\nD=$B'),
  values('A=1', 'B=$A\nA=${A}2\nC=$A', 'D=$A$C'),
  values('A=1', 'A=2\nA\nB=$A'),
  values('A=1\nB=1', 'A\nB='),
  values('\ufeffA=1', '\ufeffB=${A}2'),
  values('A=1', 'B'),
  ...[
    '${A:-{}',
    '${A:-{}}x}',
    '${Q:-{}}x}',
    '${Q:-{x}}y}',
    '${Q:-{{}',
    '${Q:-x ${B}',
    '${Q:-a\nb}',
    '${Q:-a}\n}',
    '${Q:-a}b\n${B}}',
    '${Q:-}}',
    '${A:+${Q?no}}',
    '${C:+${Q?no}}',
    '${A-${Q?no}}',
    '${A?${Q?no}}',
    '${A:-${1}}',
    '${A-$}',
    '${Q-$$A}$$$A',
    '${Q:-$A}${C:-$B}${C-$B}',
    '${A+-}${A:+:-x}${Q-?e}${A?-x}',
    '${Q--}${Q:-:-}${Q-:?}',
    '${A:}',
    '${A::-x}',
    '${A }',
    '${ A}',
    '${}',
    '${A',
    '$A}',
    '$',
    '$$',
    '$$$',
    '$1$ $-$é',
    '$\u017f${\u212a:-k}',
    '$é${A}é',
    'é${Q:-😀}😀${A:+é}',
  ].map((template) => ({ envFiles: [base], templates: { template } })),
];

export function ours({ envFiles, templates }: Question): Answer {
  try {
    const files = envFiles.map((text, i) => ({ path: `/${i}.env`, text }));
    const lookup = createVariableLookup(files);
    for (const [i, file] of files.entries()) {
      // Compose resolves each assignment, even if a later assignment overrides it.
      for (const { key, end, quote } of parseEnvAssignments(file)) {
        const above = { ...file, text: file.text.slice(0, end) + quote };
        createVariableLookup([...files.slice(0, i), above])(key);
      }
    }
    return Object.fromEntries(
      Object.entries(templates).map(([name, text]) => {
        return [
          name,
          interpolate(createSourceMappedText(text, '/compose.yaml', 0, { via: 'text' }), lookup, 'here').text,
        ];
      }),
    );
  } catch (error) {
    if (error instanceof UpdateError && error.code === 'compose-invalid') return null;
    throw error;
  }
}

/** Row and key of a question in the recording. */
export function placeOf({ envFiles, templates }: Question): [row: string, question: string] {
  const { template } = templates;
  return template === undefined ? ['env files', JSON.stringify(envFiles)] : ['templates', template];
}
