import { looksSecret, type Secret } from '../../compose/secret-lines.ts';
import { phases } from '../../progress/event.ts';
import { outcomes } from '../../progress/outcome.ts';
import { errorCodes } from '../../progress/update-error.ts';
import { parseTag } from '../../release/tag.ts';

export interface MaskOptions {
  /** Everything that may hold a secret: env files, environments of services. */
  secrets: Iterable<Secret>;
  /** Image references, names of the project and of services, paths: a value that lies wholly inside one is shown there. */
  keep: Iterable<string>;
  /** Masked whatever they are, such as the passwords of registries. */
  extra?: Iterable<string>;
}

const hidden = '***';
const headLength = 4;
// The scheme's length is bounded: else the expression tries a long run of letters from each of its letters.
// A name of 16 or more characters without a password is a token, as in https://ghp_…@github.com.
const urlCredentials = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)(?:[^\s/?#@:]*:[^\s/?#]*|[^\s/?#@:]{16,})@/gi;

/**
 * The filter that every line of the log goes through (docs/contract.md 6.6): values of 8 or more characters, or of 4 or more where
 * the key looks secret, become `***` in each form in which they may be printed; so does `user:password` in any URL.
 */
export function createMask({ secrets, keep, extra = [] }: MaskOptions): (text: string) => string {
  const kept = new Set([...keep].filter((text) => text !== ''));
  const values = new Set<string>();
  for (const { key, value } of secrets) {
    const shortest = looksSecret(key) ? 4 : 8;
    for (const text of [value, ...value.split('\n'), ...passwordsIn(value)].map((line) => line.trim())) {
      if (text.length >= shortest && !kept.has(text) && !isWord(text)) values.add(text);
    }
  }
  for (const value of extra) if (value !== '') values.add(value);
  const findSecrets = finder([...values].flatMap(forms));
  const findKept = finder([...kept, ...ownTexts]);

  return (text) =>
    hideSecrets(text, findSecrets(text), findKept(text, isWhole)).replace(urlCredentials, `$1${hidden}@`);
}

const passwordInUrl = /\b[a-z][a-z0-9+.-]{0,30}:\/\/([^\s/?#@:]*):([^\s/?#]{8,})@/gi;

/** A client of a database says its password without the URL that it had it from. A name that is its own is none. */
function passwordsIn(value: string): string[] {
  return [...value.matchAll(passwordInUrl)].flatMap(([, user = '', password = '']) => {
    if (password === user) return [];
    try {
      return [password, decodeURIComponent(password)];
    } catch {
      return [password];
    }
  });
}

/** What the engine calls the states of a container and of its health. */
const states = 'created running paused restarting removing exited dead healthy unhealthy starting'.split(' ');
const words = new Set<string>([...outcomes, ...phases, ...errorCodes, ...states]);

/** Words that the log is made of, and that the server reads back from it, are no secrets. */
const isWord = (text: string): boolean => parseTag(text).kind !== 'other' || words.has(text);

/**
 * Shown as wholes, whatever value lies inside one (docs/contract.md 6.7): a password `update` would hide the outcome
 * `updated`, and tell of itself by that; one that is `docker` would hide what to type.
 */
const ownTexts = [
  ...words,
  ...'compose run logs ps image start restart network volume pull commit login inspect'
    .split(' ')
    .map((command) => `docker ${command}`),
  'svc-updater',
];

/** How a value is printed by this program, by compose and by the engine; compose doubles each `$` first. */
function forms(value: string): string[] {
  const printed = [value, value.replaceAll('$', '$$$$')].flatMap((text) => {
    const json = JSON.stringify(text).slice(1, -1);
    const goJson = json.replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
    const inJson = JSON.stringify(json).slice(1, -1);
    return [text, json, goJson, inJson, text.replaceAll("'", "''")];
  });
  // encodeURIComponent throws at a lone surrogate.
  if (!/\p{Cs}/u.test(value)) {
    const encoded = encodeURIComponent(value);
    printed.push(encoded, encoded.replaceAll('%20', '+'), encodeURI(value));
  }
  printed.push(value.replaceAll("'", "'\\''"), ...base64Forms(value));
  return [...new Set(printed)];
}

/** Fewer characters of base64 are found in too many texts. */
const shortestBase64 = 6;

/** The value by itself, and, as in `Basic <user:password>`, behind and in front of others: what its own bits decide. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  const whole = bytes.toString('base64').replace(/=+$/, '');
  const inside = [0, 1, 2].map((before) => {
    const bits = (before + bytes.length) * 8;
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6));
  });
  return [whole, ...inside]
    .filter((text) => text.length >= shortestBase64)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

interface Match {
  start: number;
  end: number;
}

/** Matches in order; at each place the longest that `accepts`. */
type Finder = (text: string, accepts?: (text: string, match: Match) => boolean) => Match[];

/** Looks for thousands of texts in one pass: by their first characters, then by the few lengths that begin so. */
function finder(texts: readonly string[]): Finder {
  const all = new Set(texts);
  const lengthsByHead = new Map<string, Set<number>>();
  for (const text of all) {
    const head = text.slice(0, headLength);
    const lengths = lengthsByHead.get(head);
    if (lengths) lengths.add(text.length);
    else lengthsByHead.set(head, new Set([text.length]));
  }
  const longestFirst = new Map(
    [...lengthsByHead].map(([head, lengths]) => [head, [...lengths].sort((a, b) => b - a)]),
  );
  // A text that is shorter than a head is its own head.
  const headLengths = [...new Set([...longestFirst.keys()].map((head) => head.length))].sort((a, b) => b - a);

  return (text, accepts = () => true) => {
    const matches: Match[] = [];
    for (let start = 0; start < text.length; start += 1) {
      const match = longestAt(text, start, accepts);
      if (match) matches.push(match);
    }
    return matches;
  };

  function longestAt(
    text: string,
    start: number,
    accepts: (text: string, match: Match) => boolean,
  ): Match | null {
    for (const size of headLengths) {
      for (const length of longestFirst.get(text.slice(start, start + size)) ?? []) {
        const match = { start, end: start + length };
        if (all.has(text.slice(start, match.end)) && accepts(text, match)) return match;
      }
    }
    return null;
  }
}

/** Not a part of a longer word: a project named `acme` is no excuse for `acme4711`. */
function isWhole(text: string, { start, end }: Match): boolean {
  const isLetter = (char: string | undefined) => char !== undefined && /[A-Za-z0-9]/.test(char);
  const isCut = (at: number) => isLetter(text[at - 1]) && isLetter(text[at]);
  return !isCut(start) && !isCut(end);
}

function hideSecrets(text: string, matches: readonly Match[], kept: readonly Match[]): string {
  const parts: string[] = [];
  let shown = 0;
  let keptUntil = 0;
  let next = 0;
  for (const { start, end } of matches) {
    for (let keep = kept[next]; keep && keep.start <= start; keep = kept[next]) {
      keptUntil = Math.max(keptUntil, keep.end);
      next += 1;
    }
    if (end <= keptUntil || end <= shown) continue;
    // Overlapping secrets are hidden as one stretch: hidden one by one, the rest of the second would be shown.
    if (start >= shown) parts.push(text.slice(shown, start), hidden);
    shown = end;
  }
  parts.push(text.slice(shown));
  return parts.join('');
}
