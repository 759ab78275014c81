// Finds secrets in the lines of any text (docs/contract.md 6.6).

/** A text that must not be printed; what its key looks like decides from which length on. */
export interface Secret {
  key: string;
  value: string;
}

const anywhere = /PASS|SECRET|TOKEN|CREDENTIAL/i;
// As a part of a word they say nothing: KEYBOARD, MONKEY, AUTHOR.
const wholeWord = /(?:^|[_-])(?:KEY|AUTH)(?:[_-]|$)/i;

export const looksSecret = (key: string): boolean => anywhere.test(key) || wholeWord.test(key);

/** Of a text that cannot be read: each line whole, and what stands behind each `=` or `:`, commented out or not. */
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

/** Of an env file that is read without quotes and comments (`format: raw`): what stands behind each first `=`. */
export const secretsOfRawEnvFile = (text: string): Secret[] =>
  linesOf(text).flatMap((line) => {
    const at = line.indexOf('=');
    return at < 0 ? [] : [{ key: line.slice(0, at).trim(), value: line.slice(at + 1) }];
  });

/** Of a file of a secret, or of an inline config: each line, and what stands behind its first `=` or `:`. */
export const secretsOfContent = (text: string): Secret[] =>
  linesOf(text).flatMap((line) => [line, ...split(line).value].map((value) => ({ key: '', value })));

// A name, or a run of blanks, is tried from its beginning alone: from each of its characters, a long one takes minutes.
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

/** The value also without its quotes, a comma of JSON and an inline comment. */
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

/** Commented-out passwords next to a changed line would appear in the diff. */
export const commentedOut = (text: string): Secret[] =>
  linesOf(text)
    .filter((line) => line.startsWith('#'))
    .flatMap((line) => {
      const { key, value } = split(line.replace(/^[#\s]+/, ''));
      return looksSecret(key) ? value.map((each) => ({ key, value: each })) : [];
    });

/** `--admin-password x`, `--admin-password=x`, `["--admin-password", "x"]`, and `x` as the next item of a YAML list. */
const option =
  /(?<![\w-])--?([\w-]+)["']?(?:\s*[=,]\s*|[\t ]+|[^\S\n]*\n\s*-\s+)("[^"]*"|'[^']*'|[^\s"',{}[\]]+)/g;

/**
 * What stands behind a name that looks secret: labels, arguments of builds, extensions, settings of configs, options of
 * commands. None of that is known to be a password, so paths, other options and values below 8 characters are shown.
 */
export const keyedSecrets = (text: string): Secret[] =>
  [...linesOf(text).flatMap((line) => [...line.matchAll(keyed)]), ...text.matchAll(option)].flatMap(
    ([, key = '', each = '']) => {
      const value = unquoted(each);
      return looksSecret(key) && !/^(?:\.{0,2}\/|-)/.test(value) ? [{ key: '', value }] : [];
    },
  );
