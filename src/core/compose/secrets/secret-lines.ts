// The functions in this file find secrets in the lines of any text (docs/contract.md 6.6).

/** Text that must not be printed. A short text is masked only if `key` suggests a secret. */
export interface SecretText {
  key: string;
  value: string;
}

const anywhere = /PASS|SECRET|TOKEN|CREDENTIAL/i;
// KEY and AUTH suggest a secret only as whole words, not as parts of MONKEY or AUTHOR.
const wholeWord = /(?:^|[_-])(?:KEY|AUTH)(?:[_-]|$)/i;

export const isSecretKey = (key: string): boolean => anywhere.test(key) || wholeWord.test(key);

/**
 * Returns the secrets in a text that cannot be parsed: each line, and the value after each `=` or `:`. Lines that are
 * commented out are included.
 */
export function findLineSecrets(text: string): SecretText[] {
  return linesOf(text).flatMap((line) => {
    const bare = line.replace(/^#+\s*/, '');
    const { key, value } = splitLine(bare);
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
 * Returns the text after the first `=` of each line, for env files with `format: raw`. In these files, quotes and
 * comments have no meaning.
 */
export const findRawEnvFileSecrets = (text: string): SecretText[] =>
  linesOf(text).flatMap((line) => {
    const at = line.indexOf('=');
    return at < 0 ? [] : [{ key: line.slice(0, at).trim(), value: line.slice(at + 1) }];
  });

/** Returns each line of the text, and the part of the line after its first `=` or `:`. */
export const splitIntoSecretTexts = (text: string): SecretText[] =>
  linesOf(text).flatMap((line) => [line, ...splitLine(line).value].map((value) => ({ key: '', value })));

// A match may only start at the beginning of a name, because trying each character of a long name could take minutes.
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

/**
 * Splits a line into its key and the forms of its value: as written, without a comment or trailing comma, and without
 * quotes.
 */
function splitLine(line: string): { key: string; value: string[] } {
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

/** Returns secrets in commented-out lines, because a diff may print these lines next to a changed line. */
export const findCommentedOutSecrets = (text: string): SecretText[] =>
  linesOf(text)
    .filter((line) => line.startsWith('#'))
    .flatMap((line) => {
      const { key, value } = splitLine(line.replace(/^[#\s]+/, ''));
      return isSecretKey(key) ? value.map((each) => ({ key, value: each })) : [];
    });

/**
 * Matches an option with its value: `--admin-password x`, `--admin-password=x`, `["--admin-password", "x"]`, and `x` as
 * the next item of a YAML list.
 */
const option =
  /(?<![\w-])--?([\w-]+)["']?(?:\s*[=,]\s*|[\t ]+|[^\S\n]*\n\s*-\s+)("[^"]*"|'[^']*'|[^\s"',{}[\]]+)/g;

/**
 * Returns values whose names suggest a secret, for example in labels and command options. Paths, options and values of
 * fewer than 8 characters are omitted, because many of them are not secret.
 */
export const findKeyedSecrets = (text: string): SecretText[] =>
  [...linesOf(text).flatMap((line) => [...line.matchAll(keyed)]), ...text.matchAll(option)].flatMap(
    ([, key = '', each = '']) => {
      const value = unquoted(each);
      return isSecretKey(key) && !/^(?:\.{0,2}\/|-)/.test(value) ? [{ key: '', value }] : [];
    },
  );
