// Functions that find secrets in the lines of any text (docs/contract.md 6.6).

/** A text that must not be printed. `key` is the name of the text and determines the minimum length of masked texts. */
export interface Secret {
  key: string;
  value: string;
}

const anywhere = /PASS|SECRET|TOKEN|CREDENTIAL/i;
// KEY and AUTH only indicate a secret if they are whole words, unlike in KEYBOARD, MONKEY and AUTHOR.
const wholeWord = /(?:^|[_-])(?:KEY|AUTH)(?:[_-]|$)/i;

export const isSecretKey = (key: string): boolean => anywhere.test(key) || wholeWord.test(key);

/**
 * Returns the secrets of a text that cannot be parsed: each whole line and the value after each `=` or `:`, including
 * lines that are commented out.
 */
export function secretsOfLines(text: string): Secret[] {
  return linesOf(text).flatMap((line) => {
    const bare = line.replace(/^#+\s*/, '');
    const { key, value } = split(bare);
    return [
      ...[line, bare].map((whole) => ({ key: '', value: whole })),
      ...value.map((each) => ({ key, value: each })),
      ...[...bare.matchAll(assigned)].map(([, name = '', each = '']) => ({
        key: name,
        value: unquoted(each),
      })),
    ];
  });
}

/**
 * Returns the values of an env file with `format: raw`, in which quotes and comments have no meaning: the text after
 * the first `=` of each line.
 */
export const secretsOfRawEnvFile = (text: string): Secret[] =>
  linesOf(text).flatMap((line) => {
    const at = line.indexOf('=');
    return at < 0 ? [] : [{ key: line.slice(0, at).trim(), value: line.slice(at + 1) }];
  });

/** Returns the secrets of a secret file or an inline config: each line, and the text after its first `=` or `:`. */
export const secretsOfContent = (text: string): Secret[] =>
  linesOf(text).flatMap((line) => [line, ...split(line).value].map((value) => ({ key: '', value })));

// A match may only start at the beginning of a name or of a run of spaces, because trying each character of a long run
// would take minutes.
const nameForm = String.raw`(?<![\w.-])([\w.-]+)["']?\s*`;
const valueForm = String.raw`[=:]\s*("[^"]*"|'[^']*'|[^\s,{}[\]]+)`;
const assigned = new RegExp(`(?:${nameForm})?${valueForm}`, 'g');
const keyed = new RegExp(nameForm + valueForm, 'g');

const unquoted = (value: string): string => value.replace(/^(["'])(.*)\1$/, '$2');

const linesOf = (text: string): string[] =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Splits a line into key and value. Also returns the value without quotes, the comma of JSON and an inline comment. */
function split(line: string): { key: string; value: string[] } {
  const at = line.search(/[=:]/);
  if (at < 0) return { key: '', value: [] };
  const key = line
    .slice(0, at)
    .replace(/^(?:-|export)\s+/, '')
    .replaceAll(/["'\s]/g, '');
  const value = line.slice(at + 1).trim();
  const bare = value.replace(/(?<!\s)\s+#.*$/s, '').replace(/,$/, '');
  return { key, value: [...new Set([value, bare, unquoted(bare)])] };
}

/** Returns the secrets in lines that are commented out, because these lines may be next to a changed line in a diff. */
export const commentedOutSecretsOf = (text: string): Secret[] =>
  linesOf(text)
    .filter((line) => line.startsWith('#'))
    .flatMap((line) => {
      const { key, value } = split(line.replace(/^[#\s]+/, ''));
      return isSecretKey(key) ? value.map((each) => ({ key, value: each })) : [];
    });

/**
 * Matches an option with its value: `--admin-password x`, `--admin-password=x`, `["--admin-password", "x"]`, and `x` as
 * the next item of a YAML list.
 */
const option =
  /(?<![\w-])--?([\w-]+)["']?(?:\s*[=,]\s*|[\t ]+|[^\S\n]*\n\s*-\s+)("[^"]*"|'[^']*'|[^\s"',{}[\]]+)/g;

/**
 * Returns the values after names that look secret: in labels, build arguments, extensions, settings in configs and
 * command options. They may not be passwords, so paths, other options and values of fewer than 8 characters are not
 * masked.
 */
export const findKeyedSecrets = (text: string): Secret[] =>
  [...linesOf(text).flatMap((line) => [...line.matchAll(keyed)]), ...text.matchAll(option)].flatMap(
    ([, key = '', each = '']) => {
      const value = unquoted(each);
      return isSecretKey(key) && !/^(?:\.{0,2}\/|-)/.test(value) ? [{ key: '', value }] : [];
    },
  );
