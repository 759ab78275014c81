import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMaskFilter } from '../../../../src/updater/run/log/mask.ts';

// Output of encoders for these values, without the surrounding quotes. The output of bash 5.2, Python 3, Go, Java, Perl
// and jq was recorded; the output of PHP, Ruby, Gson and Jackson follows their documentation.

const symbols = 'p@ss!w0rd:+=%/';
const letters = `Grüße/<€😀>&'"`;
const quotes = `a\\b"c'd$e f`;
const control = 'tab\there#~*;';

const raw = String.raw;

it.each<[encoder: string, value: string, printed: string]>([
  ['bash %q', symbols, raw`p@ss\!w0rd:+=%/`],
  ['bash %q', letters, raw`Grüße/\<€😀\>\&\'\"`],
  ['bash %q', quotes, raw`a\\b\"c\'d\$e\ f`],
  ['bash %q', control, raw`tab\there#~*;`],
  ['bash %q in the locale C', letters, raw`Gr\303\274\303\237e/<\342\202\254\360\237\230\200>&\'"`],
  ['a shell that escapes more', symbols, raw`p\@ss\!w0rd\:\+\=\%\/`],
  ['bash @Q', letters, raw`Grüße/<€😀>&'\''"`],
  ['bash double quotes', quotes, raw`a\\b\"c'd\$e f`],
  ['Python shlex.quote', letters, raw`Grüße/<€😀>&'"'"'"`],
  ['Ruby Shellwords', letters, raw`Gr\ü\ße/\<\€\😀\>\&\'\"`],
  ['Ruby Shellwords', symbols, raw`p@ss\!w0rd:+\=\%/`],
  ['PHP escapeshellarg', letters, raw`Grüße/<€😀>&'\''"`],
  ['Perl quotemeta', symbols, raw`p\@ss\!w0rd\:\+\=\%\/`],
  ['PHP json_encode', symbols, raw`p@ss!w0rd:+=%\/`],
  ['PHP json_encode', letters, raw`Gr\u00fc\u00dfe\/<\u20ac\ud83d\ude00>&'\"`],
  ['PHP json_encode, JSON_UNESCAPED_UNICODE', letters, raw`Grüße\/<€😀>&'\"`],
  ['PHP json_encode, JSON_UNESCAPED_SLASHES', letters, raw`Gr\u00fc\u00dfe/<\u20ac\ud83d\ude00>&'\"`],
  [
    'PHP json_encode, JSON_HEX_*',
    letters,
    raw`Gr\u00fc\u00dfe\/\u003C\u20ac\ud83d\ude00\u003E\u0026\u0027\u0022`,
  ],
  ['Python json.dumps', letters, raw`Gr\u00fc\u00dfe/<\u20ac\ud83d\ude00>&'\"`],
  ['Python json.dumps', quotes, raw`a\\b\"c'd$e f`],
  ['Python json.dumps', control, raw`tab\there#~*;`],
  ['Go json.Marshal', letters, raw`Grüße/\u003c€😀\u003e\u0026'\"`],
  ['Java, Gson', letters, raw`Grüße/\u003c€😀\u003e\u0026\u0027\"`],
  ['Java, Gson', symbols, raw`p@ss!w0rd:+\u003d%/`],
  ['Java, Jackson with ESCAPE_NON_ASCII', letters, raw`Gr\u00FC\u00DFe/<\u20AC\uD83D\uDE00>&'\"`],
  ['Java, Properties', symbols, raw`p@ss\!w0rd\:+\=%/`],
  ['Ruby JSON, script_safe', symbols, raw`p@ss!w0rd:+=%\/`],
  ['Rails to_json', letters, raw`Grüße/\u003c€😀\u003e\u0026'\"`],
  ['Perl JSON::PP, ascii', letters, raw`Gr\u00fc\u00dfe/<\u20ac\ud83d\ude00>&'\"`],
  ['Python quote', symbols, 'p%40ss%21w0rd%3A%2B%3D%25/'],
  ['Python quote', letters, 'Gr%C3%BC%C3%9Fe/%3C%E2%82%AC%F0%9F%98%80%3E%26%27%22'],
  ['Python quote_plus', quotes, 'a%5Cb%22c%27d%24e+f'],
  ['Go QueryEscape', symbols, 'p%40ss%21w0rd%3A%2B%3D%25%2F'],
  ['Go PathEscape', symbols, 'p@ss%21w0rd:+=%25%2F'],
  ['Go PathEscape', letters, 'Gr%C3%BC%C3%9Fe%2F%3C%E2%82%AC%F0%9F%98%80%3E&%27%22'],
  ['Java URLEncoder', control, 'tab%09here%23%7E*%3B'],
  ['a URL in small letters', letters, 'Gr%c3%bc%c3%9fe%2f%3c%e2%82%ac%f0%9f%98%80%3e%26%27%22'],
  ['compose', quotes, raw`a\b"c'd$$e f`],
])('hides the output of %s for %j', (_, value, printed) => {
  const mask = createMaskFilter({ secrets: [{ key: 'A', value }] });
  expect(mask(`"${printed}"`)).toBe('"***"');
  // Also next to characters that could belong to an escape.
  for (const before of ['\\', '%', '$', "'", '\\u00', '%2'])
    expect(mask(`${before}${printed}.`)).toContain('***.');
});

it('returns any text without a secret unchanged', () => {
  const unit = fc.oneof(
    fc.constantFrom(...`\\\\%%$$'"uxUE_+0123789abcdef`),
    fc.string({ unit: 'binary', maxLength: 1 }),
  );
  const mask = createMaskFilter({ secrets: [{ key: 'A', value: '\u0000never there' }] });
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
      expect(mask(text)).toBe(text);
    }),
  );
});

describe('a value that', () => {
  it.each([
    ['has an underscore behind a backslash', 'DOMAIN\\_svc_', raw`DOMAIN\_svc_, DOMAIN\\_svc_`, '***, ***'],
    ['is no valid text', 'a\ud800bcdefgh', 'a%EF%BF%BDbcdefgh a\ufffdbcdefgh', '*** ***'],
    ['looks like an escape', '\\u0041\\n%41$$', raw`is \u0041\n%41$$ or \\u0041\\n%41$$`, 'is *** or ***'],
    ['is base64 in JSON of PHP', '~~~?~~~?~~~?', raw`"fn5+P35+fj9+fn4\/"`, '"***"'],
    ['is base64 in a URL', '~~~?~~~?~~~?', 'x=fn5%2BP35%2Bfj9%2Bfn4%2F', 'x=***'],
  ])('%s is hidden', (_, value, text, hidden) => {
    expect(createMaskFilter({ secrets: [{ key: 'A', value }] })(text)).toBe(hidden);
  });

  it('is part of a shown name is not hidden in any encoding of the name', () => {
    const mask = createMaskFilter({
      secrets: [{ key: 'A', value: 'acme.example/ü' }],
      shown: ['acme.example/ü/svc'],
    });
    for (const text of [raw`acme.example\/\u00fc\/svc`, 'acme.example%2F%C3%BC%2Fsvc', 'acme.example/ü/svc'])
      expect(mask(text)).toBe(text);
    expect(mask(raw`acme.example\/\u00fc\/`)).toBe(raw`***\/`);
  });
});
