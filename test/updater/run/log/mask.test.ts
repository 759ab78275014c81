import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createMaskFilter, type MaskRules } from '../../../../src/updater/run/log/mask.ts';

const mask = (secrets: Record<string, string>, text: string, more: Partial<MaskRules> = {}) =>
  createMaskFilter({ secrets: Object.entries(secrets).map(([key, value]) => ({ key, value })), ...more })(
    text,
  );

const marks = [...'_"\\$\'%/ +<&`(*;#~\n\t'];

/** Encodings in which programs write a text inside another text. */
const spellings: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  'a JSON string': (text) => JSON.stringify(text).slice(1, -1),
  'a JSON string of Go': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll('<', '\\u003c')
      .replaceAll('>', '\\u003e')
      .replaceAll('&', '\\u0026'),
  'a URL': encodeURIComponent,
  'a URL in small letters': (text) => encodeURIComponent(text).replace(/%../g, (one) => one.toLowerCase()),
  'a URL of Go and Python': (text) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  'a form': (text) => encodeURIComponent(text).replaceAll('%20', '+'),
  "a shell's single quotes": (text) => text.replaceAll("'", "'\\''"),
  "a shell's double quotes": (text) => text.replace(/["\\$`]/g, '\\$&'),
  "a shell's %q": (text) => text.replace(/[^A-Za-z0-9_./\u0080-\uffff-]/g, '\\$&'),
  "compose's $$": (text) => text.replaceAll('$', '$$$$'),
  base64: (text) => Buffer.from(text).toString('base64').replace(/=+$/, ''),
  'base64 of URLs': (text) => Buffer.from(text).toString('base64url'),
};

/** Values of at least 8 characters, without surrounding blanks, which are not part of a value. */
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
    [
      'a password that an own word begins with',
      { PASS: 'update' },
      'update and outdated updateds',
      '*** and outdated ***ds',
    ],
    ['a short value of a secret key', { DB_PASSWORD: 'hunt' }, 'pw hunt', 'pw ***'],
    [
      'a key that says so in a word of its own',
      { API_KEY: 'abcd', auth: 'efgh', 'x-api-key': 'ijkl', 'auth-user': 'mnop' },
      'abcd efgh ijkl mnop',
      '*** *** *** ***',
    ],
    ['the longest first', { A: 'abcdefgh', B: 'abcdefghij' }, 'abcdefghijk', '***k'],
    ['values that overlap', { A: 'abcdefgh', B: 'efghijkl' }, '<abcdefghijkl>', '<***>'],
    ['the lines of a value', { KEY: '-----BEGIN-----\nabcd1234\nxyz\n' }, 'abcd1234 and xyz', '*** and xyz'],
    ['blanks round a value', { A: ' longvalue\r' }, 'longvalue', '***'],
    ['credentials in a URL', {}, 'postgres://svc:pw@db:5432/svc', 'postgres://***@db:5432/svc'],
    ['a token in a URL', {}, 'https://ghp_0123456789abcdef@host/x', 'https://***@host/x'],
    ['a URL in JSON of PHP', {}, '"postgres:\\/\\/svc:pw@db\\/svc"', '"postgres:\\/\\/***@db\\/svc"'],
    [
      'a value behind half an escape',
      { A: 'a"b-long-' },
      'DOMAIN\\a\\"b-long-%a%22b-long-',
      'DOMAIN\\***%***',
    ],
    ['a short value in base64', { TOKEN: 'hunt' }, 'aHVudA==', '***=='],
    ['a value behind two letters in base64', { A: 'longvalue' }, btoa('us:longvalue'), 'dXM6***'],
    ['a value behind three letters in base64', { A: 'longvalue' }, btoa('usr:longvalue'), 'dXNyOm***Q=='],
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
    [
      'a part of a kept text in a URL',
      { REGISTRY: 'ghcr.io/acme' },
      'ghcr.io%2Facme%2Fsvc%3Av1.5.0 ghcr.io%2facme%2fsvc%3av1.5.0',
      ['ghcr.io/acme/svc:v1.5.0'],
    ],
    ['an empty value', { SECRET: '' }, 'nothing', ['']],
    ['a password that is the name of its user', { A: 'pg://postgres:postgres@db/x' }, 'in postgres', []],
    ['a short password of a URL', { A: 'pg://svc:hunt@db/x' }, 'go on a hunt', []],
  ])('shows %s', (_, secrets, text, shown) => {
    expect(mask(secrets, text, { shown })).toBe(text);
  });

  it('hides a part of a kept text outside that text, and in a longer word', () => {
    const shown = ['/opt/acme-4711/svc', 'acme'];
    expect(mask({ SECRET: 'acme-4711' }, 'acme-4711 in /opt/acme-4711/svc', { shown })).toBe(
      '*** in /opt/acme-4711/svc',
    );
    expect(mask({ SECRET: 'acme-4711' }, '/opt/acme-4711/svcs', { shown })).toBe('/opt/***/svcs');
  });

  it.each<[string, Record<string, string>, string, string]>([
    [
      'a host that a message contains',
      { DB_HOST: 'db.example.internal' },
      'db.example.internal',
      'db.example.internal',
    ],
    ['a part of it', { DOMAIN: 'example.internal' }, 'db.example.internal', 'db.example.internal'],
    ['another host', { SMTP_HOST: 'mail.example.internal' }, 'on mail.example.internal', 'on ***'],
    [
      'a host of a variable that looks secret',
      { AUTH_HOST: 'db.example.internal' },
      'on db.example.internal',
      'on ***',
    ],
    [
      'an address',
      { A: '172.18.0.12', B: 'fd00::12:34', C: '[fd00::7]:80' },
      '172.18.0.12 fd00::12:34 [fd00::7]:80',
      '172.18.0.12 fd00::12:34 ***',
    ],
    [
      'an address with a port or a prefix',
      { A: '10.20.30.40:5432', B: '10.20.0.0/16' },
      '10.20.30.40:5432 10.20.0.0/16',
      '10.20.30.40:5432 10.20.0.0/16',
    ],
    ['an address of a variable that looks secret', { TOKEN: '172.18.0.12' }, 'on 172.18.0.12', 'on ***'],
    ['a number like an address', { A: '1721.80.0.12' }, '1721.80.0.12', '***'],
  ])('shows or hides %s', (_, secrets, text, expected) => {
    expect(mask(secrets, text, { hosts: ['db.example.internal'] })).toBe(expected);
  });

  it('hides every text of `hidden`, even a version', () => {
    expect(mask({}, 'pw abc, v1.2.3', { hidden: ['abc', 'v1.2.3', ''] })).toBe('pw ***, ***');
    expect(mask({}, 'x', { hidden: ['abc'] })).toBe('x');
  });

  const beside = secretText.map((text) => text.replaceAll('*', '-'));
  const spelled = fc.constantFrom(...Object.entries(spellings));

  it('hides a secret in every encoding, regardless of the surrounding text', () => {
    fc.assert(
      fc.property(secretText, spelled, beside, beside, (value, [, spell], before, behind) => {
        const written = spell(value);
        expect(mask({ A: value }, `\u0001${written}\u0001`)).toBe('\u0001***\u0001');
        const parts = mask({ A: value }, `<${before}${written}${behind}>`).split('***');
        expect(parts.length).toBeGreaterThan(1);
        expect(`<${before}`.startsWith(parts[0] ?? '')).toBe(true);
        expect(`${behind}>`.endsWith(parts.at(-1) ?? '')).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('needs at most twice as many look-ups for twice as many values', () => {
    const lookUps = (count: number): number => {
      const secrets = Array.from({ length: count }, (_, i) => ({
        key: 'A',
        value: `value number ${10_000 + i}`,
      }));
      const get = vi.spyOn(Map.prototype, 'get');
      const hide = createMaskFilter({ secrets });
      expect(hide(`${'value number '.repeat(1000)}value number 10077`)).toMatch(/ \*\*\*$/);
      const { length } = get.mock.calls;
      get.mockRestore();
      return length;
    };
    const few = lookUps(1000);
    expect(few).toBeGreaterThan(1000);
    expect(lookUps(2000)).toBeLessThan(2 * few);
  });
});
