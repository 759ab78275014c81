import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMask, type MaskRules } from '../../../src/agent/log/mask.ts';

const mask = (secrets: Record<string, string>, text: string, more: Partial<MaskRules> = {}) =>
  createMask({ secrets: Object.entries(secrets).map(([key, value]) => ({ key, value })), ...more })(text);

const bytes = (text: string) => [...Buffer.from(text)];
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');
const marks = ['"', '\\', '$', "'", '%', '/', ' ', '+', '<', '&', '`', '(', '*', ';', '#', '~', '\n', '\t'];

/** How programs write a text down within another. */
const spellings: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  'JSON of JavaScript': (text) => JSON.stringify(text).slice(1, -1),
  'JSON of PHP': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll('/', '\\/')
      .replace(/[\u0080-\uffff]/g, (char) => `\\u${hex(char.charCodeAt(0), 4)}`),
  'JSON of Java': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replace(/[<>&'=\u0080-\uffff]/g, (char) => `\\u${hex(char.charCodeAt(0), 4).toUpperCase()}`),
  'percent of JavaScript': encodeURIComponent,
  'percent of a whole address': (text) => encodeURI(text),
  'percent in small letters': (text) => encodeURIComponent(text).replace(/%../g, (one) => one.toLowerCase()),
  'percent of Go and Python': (text) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${hex(char.charCodeAt(0), 2)}`),
  'percent of everything': (text) =>
    bytes(text)
      .map((byte) => `%${hex(byte, 2)}`)
      .join(''),
  'a form': (text) => encodeURIComponent(text).replaceAll('%20', '+'),
  "a shell's %q": (text) => text.replace(/[^A-Za-z0-9_./\u0080-\uffff]/g, '\\$&'),
  "a shell's $''": (text) => text.replace(/['\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t'),
  "a shell's $'' in octal": (text) =>
    bytes(text)
      .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
      .join(''),
  "a shell's double quotes": (text) => text.replace(/["\\$`]/g, '\\$&'),
  "a shell's single quotes": (text) => text.replaceAll("'", "'\\''"),
  'shlex of Python': (text) => text.replaceAll("'", `'"'"'`),
  'single quotes of YAML and SQL': (text) => text.replaceAll("'", "''"),
  'bytes of Go and Python': (text) =>
    bytes(text)
      .map((byte) =>
        byte < 128 ? String.fromCharCode(byte).replace(/["'\\]/, '\\$&') : `\\x${hex(byte, 2)}`,
      )
      .join(''),
  'a long escape': (text) =>
    text
      .replace(/[^a-z\\]/gu, (char) => `\\U${hex(char.codePointAt(0) ?? 0, 8)}`)
      .replace(/\\(?!U)/g, '\\\\'),
  'an escape in braces': (text) =>
    [...text].map((char) => `\\u{${hex(char.codePointAt(0) ?? 0, 1)}}`).join(''),
  'HTML and XML': (text) =>
    text.replace(
      /[&<>"']/g,
      (char) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[char] ?? '#39'};`,
    ),
  "compose's $$": (text) => text.replaceAll('$', '$$$$'),
};

/** Of 8 characters or more, without blanks at its ends, which do not belong to a value. */
const secretText = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom(...marks, 'ä', '€', '😀', 'Ã', '¤', 'a', 'b', 'n', 'u', 'x', '0', '4', '5'),
      fc.constantFrom('%41', '\\u', '$$', "''", '\\\\', '&lt;'),
    ),
    minLength: 8,
    maxLength: 14,
  })
  .map((text) => text.trim())
  .filter((text) => text.length >= 8);

describe('createMask', () => {
  it.each<[string, Record<string, string>, string, string | RegExp]>([
    ['a long value', { NOTE: 'longvalue' }, 'is longvalue here', 'is *** here'],
    ['every time', { NOTE: 'longvalue' }, 'longvalue,longvalue', '***,***'],
    [
      'a password that an own word begins with',
      { PASS: 'update' },
      'update and outdated updateds',
      '*** and outdated ***ds',
    ],
    ['inside a word', { NOTE: 'longvalue' }, 'xlongvaluey', 'x***y'],
    ['a short value of a secret key', { DB_PASSWORD: 'hunt' }, 'pw hunt', 'pw ***'],
    ['a key that says so in a word of its own', { API_KEY: 'abcd', auth: 'efgh' }, 'abcd efgh', '*** ***'],
    ['the longest first', { A: 'abcdefgh', B: 'abcdefghij' }, 'abcdefghijk', '***k'],
    ['values that overlap', { A: 'abcdefgh', B: 'efghijkl' }, '<abcdefghijkl>', '<***>'],
    ['a value in JSON', { A: 'say "hi" \\ now' }, '{"A":"say \\"hi\\" \\\\ now"}', '{"A":"***"}'],
    ['a value in a URL', { A: 'p@ss w/rd' }, 'x=p%40ss%20w%2Frd', 'x=***'],
    ['a value as compose config writes it', { A: 'pa$$w$ord' }, 'A: pa$$$$w$$ord', 'A: ***'],
    ['the lines of a value', { KEY: '-----BEGIN-----\nabcd1234\nxyz\n' }, 'abcd1234 and xyz', '*** and xyz'],
    ['blanks round a value', { A: ' longvalue\r' }, 'longvalue', '***'],
    ['credentials in a URL', {}, 'postgres://svc:pw@db:5432/svc', 'postgres://***@db:5432/svc'],
    ['a token in a URL', {}, 'https://ghp_0123456789abcdef@host/x', 'https://***@host/x'],
    ['a value in a form', { A: 'two words +' }, 'a=two+words+%2B', 'a=***'],
    ['a value in JSON of PHP', { A: 'pä/ss/wört' }, '"p\\u00e4\\/ss\\/w\\u00f6rt"', '"***"'],
    ["a value as a shell's %q writes it", { A: 'two words; $x' }, 'A=two\\ words\\;\\ \\$x', 'A=***'],
    ["a value in a shell's $''", { A: "it's\tlöng" }, "$'it\\'s\\tl\\303\\266ng'", "$'***'"],
    [
      'a value behind half an escape',
      { A: 'a"b-long-' },
      'DOMAIN\\a\\"b-long-%a%22b-long-',
      'DOMAIN\\***%***',
    ],
    ['a value as a shell quotes it', { A: "it's long" }, "'it'\\''s long'", "'***'"],
    [
      'a value in JSON in JSON',
      { A: 'say "hi"' },
      '"{\\"a\\":\\"say \\\\\\"hi\\\\\\"\\"}"',
      '"{\\"a\\":\\"***\\"}"',
    ],
    ['a value in base64', { A: 'longvalue' }, 'bG9uZ3ZhbHVl', '***'],
    ['a short value in base64', { TOKEN: 'hunt' }, 'aHVudA==', '***=='],
    ['a value behind two letters in base64', { A: 'longvalue' }, btoa('us:longvalue'), 'dXM6***'],
    [
      'a value between others in base64',
      { A: 'longvalue' },
      btoa('user:longvalue, and more'),
      /^.{7}\*\*\*.{14}$/,
    ],
    ['a value in the base64 of URLs', { A: 'l?>ngvalue~~~' }, 'bD8-bmd2YWx1ZX5-fg', '***'],
    [
      'the password of a URL by itself',
      { A: 'pg://svc:hunter%2B2@db/x' },
      'hunter%2B2, hunter+2',
      '***, ***',
    ],
  ])('hides %s', (_, secrets, text, hidden) => {
    const shown = mask(secrets, text);
    if (typeof hidden === 'string') expect(shown).toBe(hidden);
    else expect(shown).toMatch(hidden);
  });

  it.each<[string, Record<string, string>, string, string[]]>([
    ['a short value', { NOTE: 'seven77' }, 'seven77', []],
    [
      'a short value of a key that only sounds so',
      { KEYBOARD: 'qwertz', AUTHOR: 'kim b', MY_KEYS: 'abcd' },
      'qwertz kim b abcd',
      [],
    ],
    ['the state of a container', { A: 'unhealthy', B: 'restarting' }, 'is unhealthy, restarting', []],
    ['the folder that a password is a part of', { PASS: 'update' }, '.svc-updater/backup/1/.env', []],
    ['a very short value of a secret key', { PASS: 'abc' }, 'abc', []],
    [
      'a release tag',
      { SVC_VERSION: 'v1.10.20', TAG_TOKEN: '10.20.30-alpine' },
      'v1.10.20 10.20.30-alpine',
      [],
    ],
    ['the outcome of a run', { A: 'unchanged', SECRET: 'failed' }, 'unchanged, failed', []],
    ['a kept text', { NAME_KEY: 'acme' }, 'project acme', ['acme']],
    [
      'a part of a kept text',
      { REGISTRY: 'ghcr.io/acme' },
      'pull ghcr.io/acme/svc:v1.5.0',
      ['ghcr.io/acme/svc:v1.5.0'],
    ],
    ['a part of a path', { DIR: '/opt/acme' }, 'in /opt/acme/svc/.env', ['/opt/acme/svc']],
    ['a URL without a password', {}, 'https://git@host/x https://host:8080/@scope/pkg@1:2', []],
    ['an empty value', { SECRET: '' }, 'nothing', ['']],
    ['a password that is the name of its user', { A: 'pg://postgres:postgres@db/x' }, 'in postgres', []],
    ['a short password of a URL', { A: 'pg://svc:hunt@db/x' }, 'go on a hunt', []],
  ])('shows %s', (_, secrets, text, shown) => {
    expect(mask(secrets, text, { shown })).toBe(text);
  });

  it('hides a part of a kept text anywhere else, and in a longer word', () => {
    const shown = ['/opt/acme-4711/svc', 'acme'];
    expect(mask({ SECRET: 'acme-4711' }, 'acme-4711 in /opt/acme-4711/svc', { shown })).toBe(
      '*** in /opt/acme-4711/svc',
    );
    expect(mask({ SECRET: 'acme-4711' }, '/opt/acme-4711/svcs', { shown })).toBe('/opt/***/svcs');
  });

  it('hides what it is told to, whatever it is', () => {
    expect(mask({}, 'pw abc, v1.2.3', { hidden: ['abc', 'v1.2.3', ''] })).toBe('pw ***, ***');
    expect(mask({}, 'x', { hidden: ['abc'] })).toBe('x');
  });

  const beside = secretText.map((text) => text.replaceAll('*', '-'));
  const spelled = fc.constantFrom(...Object.entries(spellings));

  it('lets no secret through in any spelling, nor in one within another, whatever stands beside it', () => {
    fc.assert(
      fc.property(
        secretText,
        spelled,
        fc.option(spelled),
        beside,
        beside,
        (value, [, spell], outer, before, behind) => {
          const inner = spell(value);
          const written = outer === null ? inner : outer[1](inner);
          expect(mask({ A: value }, `\u0001${written}\u0001`)).toBe('\u0001***\u0001');
          const parts = mask({ A: value }, `<${before}${written}${behind}>`).split('***');
          expect(parts.length).toBeGreaterThan(1);
          expect(`<${before}`.startsWith(parts[0] ?? '')).toBe(true);
          expect(`${behind}>`.endsWith(parts.at(-1) ?? '')).toBe(true);
        },
      ),
      { numRuns: 250 },
    );
  });

  it('leaves a text without secrets as it is', () => {
    const text = fc.array(fc.tuple(secretText, spelled).map(([value, [, spell]]) => spell(value)));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          text.map((all) => all.join('')),
        ),
        (line) => {
          fc.pre(!line.includes('://'));
          expect(mask({ A: 'not in there' }, line)).toBe(line);
        },
      ),
    );
  });
});
