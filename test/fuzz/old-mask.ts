import { isIP } from 'node:net';
import { unescape as unescaped } from 'node:querystring';
import { isSecretKey } from '../../src/core/compose/secrets/secret-lines.ts';
import { errorCodes } from '../../src/core/errors/update-error.ts';
import { dataKeywords } from '../../src/core/names/product.ts';
import { phases } from '../../src/core/progress/event.ts';
import { outcomes } from '../../src/core/progress/outcome.ts';
import { parseSemverTag } from '../../src/core/release/tag.ts';
import type { MaskRules } from '../../src/updater/run/log/mask.ts';

// The mask of release 1.0.0, unchanged: test/fuzz/mask.ts compares the mask with it.

// Ways in which a program may print a value (docs/contract.md 6.6).

/** The escapes of one encoding in a text, by position: the characters that an escape stands for, and where it ends. */
type Escapes = ReadonlyMap<number, { characters: string; end: number }>;

const { raw } = String;

/** The bytes of one character in UTF-8. @param first forms of the first of one, two, three and four bytes */
const inUtf8 = (first: readonly string[], more: string): string =>
  first.map((form, count) => `${form}(?:${more}){${count}}`).join('|');
const octal = inUtf8(
  [raw`\\[01][0-7]{2}`, raw`\\3[0-3][0-7]`, raw`\\3[45][0-7]`, raw`\\36[0-7]`],
  raw`\\2[0-7]{2}`,
);
const percent = inUtf8(
  [raw`%[0-7][\da-f]`, raw`%[cd][\da-f]`, raw`%e[\da-f]`, '%f[0-7]'],
  raw`%[89ab][\da-f]`,
);

const fromBytes = (code: string, prefix: string, radix: number): string => {
  const bytes = code.split(prefix).slice(1);
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, radix))).toString();
};
const fromPercent = (code: string): string => (code === '+' ? ' ' : fromBytes(code, '%', 16));
const fromBackslash = (code: string): string => {
  if (/\d/.test(code.charAt(1))) return fromBytes(code, '\\', 8);
  return /[a-z]/.test(code.charAt(1)) ? JSON.parse(`"${code}"`) : code.slice(1);
};

/** The pattern finds an escape at each position, also within another escape: a value may begin there. */
const encodings: readonly [pattern: RegExp, decode: (code: string) => string][] = [
  // JSON, and shell escapes: double quotes, `$'…'` and backslashes. Programs differ in the characters that they
  // escape, never in the meaning.
  [new RegExp(raw`(?=(\\u[\da-fA-F]{4}|${octal}|\\[bfnrt]|\\[^A-Za-z0-9]))`, 'g'), fromBackslash],
  // URLs, and forms, which write a space as a plus sign.
  [new RegExp(`(?=(${percent}))`, 'gi'), fromPercent],
  [new RegExp(raw`(?=(\+|${percent}))`, 'gi'), fromPercent],
  // A shell's single quotes.
  [/(?=('(?:\\'|"'")'))/g, () => "'"],
  // Compose.
  [/(?=(\$\$))/g, () => '$'],
];

/** The plain text, and the text as read by each encoding with an escape in it. */
function readingsOf(text: string): Escapes[] {
  const readings = encodings.map(([pattern, decode]) => {
    const escapes = new Map<number, { characters: string; end: number }>();
    for (const { index, 1: code = '' } of text.matchAll(pattern))
      escapes.set(index, { characters: decode(code), end: index + code.length });
    return escapes;
  });
  return [new Map(), ...readings.filter(({ size }) => size > 0)];
}

/** Fewer characters of base64 are found in too many texts. */
const shortestBase64 = 6;

/**
 * Base64 of the value at each of the three offsets in longer text, without characters that neighbouring bytes change.
 */
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

/** Positions in a line at which some of the texts begin. */
interface Found {
  start: number;
  /** Where they end, the longest first. */
  ends: Iterable<number>;
}

type Positions = [left: Int32Array, behind: Int32Array, far: Int32Array];
const at = (numbers: Int32Array, index: number): number => numbers[index] as number;

type Matcher = (line: string, escapes: Escapes) => Generator<Found>;

/**
 * Searches for thousands of texts at once, with the Aho-Corasick automaton. The time does not depend on their number,
 * length or similarity. It reads from the end of a line: each position has one next character, also within escapes,
 * but several previous ones.
 */
function createMatcher(texts: Iterable<string>): Matcher {
  const all = [...new Set(texts)];
  const size = all.reduce((sum, { length }) => sum + length, 1);
  /** Characters of the texts are numbered from 0 on, which results in small keys. */
  const numbers = new Map<string, number>();
  for (const text of all)
    for (let at = 0; at < text.length; at += 1)
      if (!numbers.has(text.charAt(at))) numbers.set(text.charAt(at), numbers.size);
  const keyOf = (node: number, character: number): number => node * numbers.size + character;
  /** The next node, by node and character. */
  const next = new Map<number, number>();
  const depth = new Int32Array(size);
  /** The next node if the character does not match: the longest suffix of a text that the node begins with. */
  const otherwise = new Int32Array(size);
  /** The node of the longest text that the node begins with; 0 if there is none. */
  const ending = new Int32Array(size);
  let nodes = 1;

  const step = (from: number, character: number): number => {
    for (let node = from; ; node = otherwise[node] as number) {
      const found = next.get(keyOf(node, character));
      if (found !== undefined || node === 0) return found ?? 0;
    }
  };

  // All texts grow by one character at a time: a fallback node has fewer characters, and exists already.
  let growing = all.map((text) => ({ text, node: 0 }));
  for (let at = 0; growing.length > 0; at += 1) {
    growing = growing.filter(({ text }) => text.length > at);
    for (const one of growing) {
      const character = numbers.get(one.text.charAt(one.text.length - 1 - at)) ?? 0;
      const key = keyOf(one.node, character);
      let child = next.get(key);
      if (child === undefined) {
        child = nodes++;
        depth[child] = at + 1;
        if (one.node !== 0) otherwise[child] = step(otherwise[one.node] as number, character);
        next.set(key, child);
      }
      one.node = child;
      if (one.text.length === at + 1) ending[child] = child;
    }
    for (const { node } of growing) ending[node] ||= ending[otherwise[node] as number] as number;
  }

  return function* (line, escapes) {
    const after = (index: number): number => escapes.get(index)?.end ?? index + 1;
    const charactersAt = (index: number): string => escapes.get(index)?.characters ?? line.charAt(index);
    /**
     * For each position: the number of following characters and of following positions, and a position far behind it.
     */
    const [left, behind, far] = [0, 1, 2].map(() => new Int32Array(line.length + 1)) as Positions;
    far[line.length] = line.length;
    function endOf(start: number, length: number): number {
      const rest = at(left, start) - length;
      let end = start;
      while (at(left, end) > rest) end = at(left, at(far, end)) > rest ? at(far, end) : after(end);
      return end;
    }
    function* endsFrom(start: number, longest: number): Generator<number> {
      for (let node = longest; node !== 0; node = ending[otherwise[node] as number] as number)
        yield endOf(start, depth[node] as number);
    }

    const reached = new Int32Array(line.length + 1);
    for (let start = line.length - 1; start >= 0; start -= 1) {
      const characters = charactersAt(start);
      let node = reached[after(start)] as number;
      for (let last = characters.length - 1; last >= 0; last -= 1) {
        const character = numbers.get(characters.charAt(last));
        node = character === undefined ? 0 : step(node, character);
      }
      reached[start] = node;
      const following = after(start);
      const farther = at(far, following);
      left[start] = at(left, following) + characters.length;
      behind[start] = at(behind, following) + 1;
      // As in a skip list: two jumps of equal length become one.
      const isEven =
        at(behind, following) - at(behind, farther) === at(behind, farther) - at(behind, at(far, farther));
      far[start] = isEven ? at(far, farther) : following;
      const longest = ending[node] as number;
      if (longest !== 0) yield { start, ends: endsFrom(start, longest) };
    }
  };
}

const stars = '***';
// The length of the scheme is bounded; otherwise the expression would try a long run of letters from each letter. A
// name of 16 or more characters without a password is a token, as in https://ghp_…@github.com.
const urlCredentials =
  /\b([a-z][a-z0-9+.-]{0,30}:(?:\\{0,3}\/){2})(?:[^\s/?#@:]*:[^\s/?#]*|[^\s/?#@:]{16,})@/gi;

/**
 * The filter for every line of the log (docs/contract.md 6.6): values of 8 or more characters, or of 4 or more if the
 * key looks secret, become `***` in every encoding (see decodeLine). The user name and password of any URL are
 * also masked.
 */
export function createOldMask({
  secrets = [],
  shown = [],
  hosts = [],
  hidden = [],
}: MaskRules): (text: string) => string {
  const given = [...secrets];
  const secretHosts = given.flatMap(({ key, value }) => (isSecretKey(key) ? [value.toLowerCase()] : []));
  const shownHosts = [...hosts].filter((host) => !secretHosts.includes(host));
  const shownWhole = new Set([...shown, ...shownHosts].filter((text) => text !== ''));
  const values = new Set<string>();
  for (const { key, value } of given) {
    const isSecret = isSecretKey(key);
    const shortest = isSecret ? 4 : 8;
    for (const text of [value, ...value.split('\n'), ...passwordsIn(value)].map((line) => line.trim())) {
      if (text.length < shortest || shownWhole.has(text) || isWord(text)) continue;
      if (isSecret || !isAddress(text)) values.add(text);
    }
  }
  for (const value of hidden) if (value !== '') values.add(value);
  const secretTexts = createMatcher(
    [...values].flatMap((value) => [value, value.toWellFormed(), ...base64Forms(value)]),
  );
  const shownTexts = createMatcher([...shownWhole, ...ownTexts]);

  return (text) => hide(text, secretTexts, shownTexts).replace(urlCredentials, `$1${stars}@`);
}

const passwordInUrl = /\b[a-z][a-z0-9+.-]{0,30}:\/\/([^\s/?#@:]*):([^\s/?#]{8,})@/gi;

/** A database client prints the password without its URL. A user name is not a password. */
const passwordsIn = (value: string): string[] =>
  [...value.matchAll(passwordInUrl)].flatMap(([, user = '', password = '']) =>
    password === user ? [] : [unescaped(password)],
  );

/** States of containers and of their health, as the engine reports them. */
const states = 'created,running,paused,restarting,removing,exited,dead,healthy,unhealthy,starting'.split(',');
const words = new Set<string>([...outcomes, ...phases, ...errorCodes, ...states, ...dataKeywords]);

/** Words of the log that the server parses are not secret. */
const isWord = (text: string): boolean => parseSemverTag(text).kind !== 'other' || words.has(text);

/** An IP address, also with a port or a prefix length, is no secret. */
const isAddress = (text: string): boolean => isIP(text) !== 0 || isIP(text.replace(/[:/]\d+$/, '')) !== 0;

/**
 * Texts that are shown even if they contain a secret value (docs/contract.md 6.7). If the password were the word
 * update, masking it would hide the outcome `updated` and reveal the password.
 */
const ownTexts = [
  ...words,
  ...'compose,run,logs,ps,image,start,restart,network,volume,pull,commit,login,inspect'
    .split(',')
    .map((command) => `docker ${command}`),
  'svc-updater',
];

/** Hides every secret, unless it is completely within a shown text. */
function hide(text: string, secrets: Matcher, shown: Matcher): string {
  const readings = readingsOf(text);
  const secretEnds = farthestEnds(text, readings, secrets, () => true);
  if (secretEnds.every((end) => end === 0)) return text;
  const shownEnds = farthestEnds(text, readings, shown, isWhole);
  let shownUntil = 0;
  // If the longest secret is shown, so are its parts.
  const hiddenUntil = secretEnds.map((end, at) => {
    shownUntil = Math.max(shownUntil, shownEnds[at] as number);
    return end > shownUntil ? end : 0;
  });
  let result = '';
  let done = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (hiddenUntil[at] === 0) continue;
    result += text.slice(done, at) + stars;
    done = at;
    // Overlapping and adjacent secrets are hidden together.
    for (; at <= done; at += 1) done = Math.max(done, hiddenUntil[at] ?? 0);
    at = done;
  }
  return result + text.slice(done);
}

/** For each position, the end of the longest matching text that begins there; 0 if there is none. */
function farthestEnds(
  text: string,
  readings: readonly Escapes[],
  texts: Matcher,
  counts: (text: string, start: number, end: number) => boolean,
): Int32Array {
  const farthest = new Int32Array(text.length);
  for (const { start, ends } of readings.flatMap((escapes) => [...texts(text, escapes)])) {
    for (const end of ends) {
      if (!counts(text, start, end)) continue;
      farthest[start] = Math.max(end, farthest[start] as number);
      break;
    }
  }
  return farthest;
}

/** Not part of a longer word: if a project is named acme, the text acme4711 may still be a secret. */
function isWhole(text: string, start: number, end: number): boolean {
  const isLetter = (char: string | undefined) => char !== undefined && /[A-Za-z0-9]/.test(char);
  const isCut = (at: number) => isLetter(text[at - 1]) && isLetter(text[at]);
  return !isCut(start) && !isCut(end);
}
