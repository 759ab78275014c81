import { looksSecret, type Secret } from '../../compose/secret-lines.ts';
import { phases } from '../../progress/event.ts';
import { outcomes } from '../../progress/outcome.ts';
import { dataWords } from '../../progress/product.ts';
import { errorCodes } from '../../progress/update-error.ts';
import { parseTag } from '../../release/tag.ts';
import { type Decoding, decodingsOf } from './decode.ts';
import { createMatcher, type Matcher } from './matcher.ts';

/** What a source says of what must not be printed, and of what must be, whatever else it is. */
export interface MaskRules {
  /** Whatever may hold a secret: env files, environments of services. Words, and what is too short, are shown. */
  secrets?: Iterable<Secret>;
  /** Image references, names of the project and of services, paths: a value that lies wholly inside one is shown there. */
  shown?: Iterable<string>;
  /** Hidden whatever they are, such as the passwords of registries. */
  hidden?: Iterable<string>;
}

const stars = '***';
// The scheme's length is bounded: else the expression tries a long run of letters from each of its letters.
// A name of 16 or more characters without a password is a token, as in https://ghp_…@github.com.
const urlCredentials =
  /\b([a-z][a-z0-9+.-]{0,30}:(?:\\{0,3}\/){2})(?:[^\s/?#@:]*:[^\s/?#]*|[^\s/?#@:]{16,})@/gi;

/**
 * The filter that every line of the log goes through (docs/contract.md 6.6): values of 8 or more characters, or of 4 or more where
 * the key looks secret, become `***` however they are written down (see `decodingsOf`); so does `user:password` in any URL.
 */
export function createMask({ secrets = [], shown = [], hidden = [] }: MaskRules): (text: string) => string {
  const shownWhole = new Set([...shown].filter((text) => text !== ''));
  const values = new Set<string>();
  for (const { key, value } of secrets) {
    const shortest = looksSecret(key) ? 4 : 8;
    for (const text of [value, ...value.split('\n'), ...passwordsIn(value)].map((line) => line.trim())) {
      if (text.length >= shortest && !shownWhole.has(text) && !isWord(text)) values.add(text);
    }
  }
  for (const value of hidden) if (value !== '') values.add(value);
  const secretTexts = createMatcher([...values].flatMap(spellings));
  const shownTexts = createMatcher([...shownWhole, ...ownTexts]);

  return (text) => hide(text, secretTexts, shownTexts).replace(urlCredentials, `$1${stars}@`);
}

/** The mask of a run. No rule is forgotten: an old password may still open something. */
export class Mask {
  readonly #secrets = new Map<string, Secret>();
  readonly #shown = new Set<string>();
  readonly #hidden = new Set<string>();
  #sources: (() => MaskRules)[] = [];
  /** Logins in addresses are hidden from the first line on. */
  #mask = createMask({});

  /** The source is asked at the next text: many runs print little. */
  add(source: () => MaskRules): void {
    this.#sources.push(source);
  }

  apply(text: string): string {
    if (this.#sources.length > 0) {
      const before = this.#size;
      for (const source of this.#sources.splice(0)) {
        const { secrets = [], shown = [], hidden = [] } = source();
        for (const secret of secrets) this.#secrets.set(`${secret.key}\n${secret.value}`, secret);
        for (const one of shown) this.#shown.add(one);
        for (const one of hidden) this.#hidden.add(one);
      }
      if (this.#size > before) {
        this.#mask = createMask({
          secrets: this.#secrets.values(),
          shown: this.#shown,
          hidden: this.#hidden,
        });
      }
    }
    return this.#mask(text);
  }

  get #size(): number {
    return this.#secrets.size + this.#shown.size + this.#hidden.size;
  }
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
const words = new Set<string>([...outcomes, ...phases, ...errorCodes, ...states, ...dataWords]);

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

/** Spellings that no decoding gives: a form writes a space as `+`, and base64 cuts elsewhere than between characters. */
const spellings = (value: string): string[] => [value, value.replaceAll(' ', '+'), ...base64Forms(value)];

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

/** Hides every secret that stands in any decoding, unless it lies wholly in a text that is shown. */
function hide(text: string, secrets: Matcher, shown: Matcher): string {
  const isHidden = new Uint8Array(text.length);
  /** The ends of shown texts in the line as it stands. */
  let shownPlain: Int32Array | null = null;
  for (const decoding of decodingsOf(text)) {
    const found = secrets.search(decoding);
    const shownUntil = shownEnds(text, decoding, shown);
    shownPlain ??= shownUntil;
    if (found.every((one) => one === 0)) continue;
    /** How many characters from a place on belong to a secret. */
    const left = new Int32Array(text.length + 1);
    for (let at = 0; at < text.length; at += 1) {
      const [longest = 0] = secrets.lengthsAt(found[at] as number);
      const until = Math.max(shownUntil[at] as number, shownPlain[at] as number);
      const isShown = until > at && endOf(decoding, at, longest, until) <= until;
      const count = Math.max(left[at] as number, isShown ? 0 : longest);
      if (count === 0) continue;
      const end = decoding.ends[at] as number;
      isHidden.fill(1, at, end);
      left[end] = Math.max(left[end] as number, count - 1);
    }
  }
  let result = '';
  let done = 0;
  for (let at = isHidden.indexOf(1); at >= 0; at = isHidden.indexOf(1, done)) {
    result += text.slice(done, at) + stars;
    const end = isHidden.indexOf(0, at);
    done = end < 0 ? text.length : end;
  }
  return result + text.slice(done);
}

/** For each place, the end of the shown text that reaches farthest of those that begin at it or before. */
function shownEnds(text: string, decoding: Decoding, shown: Matcher): Int32Array {
  let until = 0;
  return shown.search(decoding).map((found, start) => {
    for (const length of shown.lengthsAt(found)) {
      const end = endOf(decoding, start, length);
      if (end <= until) break;
      if (isWhole(text, start, end)) until = end;
    }
    return until;
  });
}

/** Where so many characters end; somewhere behind the limit where they end there. */
function endOf({ ends }: Decoding, start: number, length: number, limit = Number.POSITIVE_INFINITY): number {
  let end = start;
  for (let left = length; left > 0 && end <= limit; left -= 1) end = ends[end] as number;
  return end;
}

/** Not a part of a longer word: a project named `acme` is no excuse for `acme4711`. */
function isWhole(text: string, start: number, end: number): boolean {
  const isLetter = (char: string | undefined) => char !== undefined && /[A-Za-z0-9]/.test(char);
  const isCut = (at: number) => isLetter(text[at - 1]) && isLetter(text[at]);
  return !isCut(start) && !isCut(end);
}
